"""`trigemu check-menu` and `trigemu schema`"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.menus import menu_schema
from trigemu.observables import STANDARD
from trigemu.samples import Sample
from trigemu.studies import read_profiles
from trigemu.support import Document, available, excerpt, kind_of, listed, load_toml, search_path, toml_text

#: The number of objects that a line names, and the longest definition that it quotes, in characters.
_NAMED, _LONGEST = 8, 200


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
            found, *more = _checked(file, samples, search_path(plugin_path))
            if samples:
                say(f"{file}: {found}, no mistakes")
                for line in more:
                    say(line)
        except trigemu.TrigemuError as error:
            mistakes.append(str(error))
    if mistakes:
        raise trigemu.TrigemuError("\n".join(mistakes))


def _checked(file: Path, samples: Iterable[Sample], folders: Iterable[Path]) -> list[str]:
    """Return what a file has, and lines on what its author should know; raise TrigemuError with all its
    mistakes."""
    document = load_toml(file)
    if kind_of(document.data) == "profile":
        found = read_profiles(file)
        parts = {"observables": found.observables, "categories": found.categories, "menus": found.menus}
        return [f"efficiency profiles ({', '.join(f'{name}: {len(part)}' for name, part in parts.items())})"]
    menu = trigemu.read_menu(file, folders)
    plan = trigemu.make_plan([menu])
    if lacking := [problem for sample in samples for problem in plan.problems(sample)]:
        raise trigemu.api.SampleError(listed(list(dict.fromkeys(lacking))))
    return [
        f"{len(menu.triggers)} triggers, {len(menu.enabled)} enabled",
        *_made_from_redefined(document),
        *(f"Warning: {warning}." for warning in plan.warnings[0]),
    ]


def _made_from_redefined(document: Document) -> Iterator[str]:
    """Yield a line for each collection of the sample that a menu redefines and makes other objects from:
    their `from` means the redefined one."""
    tables: dict[str, dict[str, Any]] = document.data.get("objects", {})
    for name, table in tables.items():
        others = [other for other, made in tables.items() if made["from"] == name and other != name]
        own = {key: value for key, value in table.items() if key != "from"}
        if others and own and (name in STANDARD or table["from"] == name):
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            line = document.lines.get(("objects", name), 1)
            cuts = ", ".join(toml_text.entry(key, value) for key, value in own.items())
            yield (
                f"{', '.join(others[:_NAMED])}{more}: from = {toml_text.value(name)} means [objects.{name}] "
                f"of this menu (line {line}: {excerpt(cuts, _LONGEST)}), not all of the sample's"
            )


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
    if others := sorted(_others(folders) - set(plugins)):
        say(f"trigemu: without the kinds of these plugins: {', '.join(others)}", err=True)


def _others(folders: Iterable[Path]) -> set[str]:
    """Return the plugins that do not come with trigemu."""
    return {name for name, (first, *_) in available(folders).items() if not first.comes_with_trigemu}
