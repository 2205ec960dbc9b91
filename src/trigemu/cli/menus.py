"""`trigemu check-menu` and `trigemu schema`"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.menus import menu_schema
from trigemu.samples import Sample
from trigemu.studies import read_profiles
from trigemu.support import kind_of, listed, load_toml
from trigemu.triggers import available, search_path


@click.command("check-menu")
@options.menus
@options.samples
@options.plugin_path
def check_menu(menus: tuple[Path, ...], catalogue: Path | str | None, plugin_path: tuple[Path, ...]) -> None:
    """Check MENUs, and that the samples have the columns they need.

    Sets of efficiency profiles are checked, too.
    """
    mistakes: list[str] = []
    samples: tuple[Sample, ...] = ()
    try:
        samples = trigemu.open_catalogue(catalogue).samples
    except trigemu.TrigemuError as error:
        mistakes.append(str(error))
    for file in menus:
        try:
            found = _checked(file, samples, search_path(plugin_path))
            if samples:
                say(f"{file}: {found}, no mistakes")
        except trigemu.TrigemuError as error:
            mistakes.append(str(error))
    if mistakes:
        raise trigemu.TrigemuError("\n".join(mistakes))


def _checked(file: Path, samples: Iterable[Sample], folders: Iterable[Path]) -> str:
    """Return what a file has; raise TrigemuError with all its mistakes."""
    if kind_of(load_toml(file).data) == "profile":
        found = read_profiles(file)
        parts = {"observables": found.observables, "categories": found.categories, "menus": found.menus}
        return f"efficiency profiles ({', '.join(f'{name}: {len(part)}' for name, part in parts.items())})"
    menu = trigemu.read_menu(file, folders)
    plan = trigemu.make_plan([menu])
    if lacking := [problem for sample in samples for problem in plan.problems(sample)]:
        raise trigemu.SampleError(listed(list(dict.fromkeys(lacking))))
    return f"{len(menu.triggers)} triggers, {len(menu.enabled)} enabled"


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
