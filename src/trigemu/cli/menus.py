"""`trigemu check-menu` and `trigemu schema`"""

from __future__ import annotations

import json
from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.menus import menu_schema
from trigemu.triggers import available, search_path


@click.command("check-menu")
@options.menu
@options.samples
@options.plugin_path
def check_menu(menu: Path, catalogue: Path | str | None, plugin_path: tuple[Path, ...]) -> None:
    """Check a MENU, and that the samples have the columns it needs."""
    read = trigemu.read_menu(menu, search_path(plugin_path))
    plan = trigemu.make_plan([read])
    for sample in trigemu.open_catalogue(catalogue).samples:
        plan.check(sample)
    say(f"{menu}: {len(read.triggers)} triggers, {len(read.enabled)} enabled, no mistakes")


@click.command()
@click.argument("plugins", nargs=-1)
@options.plugin_path
def schema(plugins: tuple[str, ...], plugin_path: tuple[Path, ...]) -> None:
    """Print the JSON schema of a menu, with the kinds of these PLUGINS.

    They are loaded for this: their code runs, as it does for a menu that names them. Others that are found
    are only listed.
    """
    folders = search_path(plugin_path)
    say(json.dumps(menu_schema(plugins, folders), indent=2))
    if others := sorted(available(folders).keys() - set(plugins)):
        say(f"trigemu: without the kinds of these plugins: {', '.join(others)}", err=True)
