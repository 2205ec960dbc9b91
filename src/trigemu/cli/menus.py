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
@options.plugin_path
def schema(plugin_path: tuple[Path, ...]) -> None:
    """Print the JSON schema of a menu, with the kinds of all plugins that are found.

    The plugins are loaded for this: their code runs, as it does for a menu that names them.
    """
    folders = search_path(plugin_path)
    say(json.dumps(menu_schema(available(folders), folders), indent=2))
