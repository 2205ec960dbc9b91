"""`trigemu check-menu` and `trigemu schema`"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from trigemu.base import toml_text
from trigemu.base.errors import SampleError, TrigemuError, excerpt, few_of, listed
from trigemu.base.plugins import available, search_path
from trigemu.base.toml import Document, kind_of, load_toml
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.emulation.engine import Job
from trigemu.emulation.plan import Plan, make_plan, numbers_of
from trigemu.emulation.sample_warnings import (
    LEAST_GEV,
    NAMED,
    Compared,
    Limit,
    Limits,
    Ranges,
    idle_warnings,
    limits_of,
    measured,
)
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import read_menu
from trigemu.menus.schema import menu_schema
from trigemu.observables.selections import STANDARD, ObjectSelection, selections_in
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.opening import open_catalogue
from trigemu.studies.efficiency_profiles import read_profiles

#: The number of objects that a line names, and the longest definition that it quotes, in characters.
_NAMED, _LONGEST = 8, 200
#: The number of events of each sample on which triggers are tried, and the largest number of triggers, for a
#: few seconds at most.
_TRIED, _MOST_TRIGGERS = 10_000, 2000


@click.command("check-menu")
@options.menus
@options.samples
@options.tree
@options.plugin_path
def check_menu(
    menus: tuple[Path, ...], catalogue: Path | str | None, tree: str | None, plugin_path: tuple[Path, ...]
) -> None:
    """Check MENUs, and that the samples have the required columns.

    This also checks sets of efficiency profiles. It tries the triggers on the first events of each sample,
    and warns if a threshold or a cut is beyond all of them, or below all of them.
    """
    mistakes: list[str] = []
    samples: Catalogue | None = None
    try:
        samples = open_catalogue(catalogue, tree=tree)
    except TrigemuError as error:
        mistakes.append(str(error))
    for file in menus:
        try:
            content, *more = _checked(file, samples, search_path(plugin_path))
            if samples:
                say(f"{file}: {content}, no mistakes")
                for line in more:
                    say(line)
        except TrigemuError as error:
            mistakes.append(str(error))
    if mistakes:
        raise TrigemuError("\n".join(mistakes))


def _checked(file: Path, samples: Catalogue | None, folders: Iterable[Path]) -> list[str]:
    """Return a summary of a file, and notes for its author; raise TrigemuError with all its mistakes."""
    document = load_toml(file)
    if kind_of(document.data) == "profile":
        profiles = read_profiles(file, samples.samples if samples else ())
        parts = {
            "observables": profiles.observables,
            "categories": profiles.categories,
            "menus": profiles.menus,
        }
        return [f"efficiency profiles ({', '.join(f'{name}: {len(part)}' for name, part in parts.items())})"]
    menu = read_menu(file, folders)
    plan = make_plan([menu])
    if samples and (lacking := list(plan.problems(samples.samples))):
        raise SampleError(listed(lacking))
    numbers_of([menu], samples.background if samples else ())
    on_samples: tuple[str, ...] = ()
    if samples and len(menu.used) <= _MOST_TRIGGERS:
        on_samples = tuple(warnings_of_first(menu, samples, _TRIED))
    return [
        f"{len(menu.triggers)} triggers, {len(menu.enabled)} enabled",
        *_from_redefined(document),
        *_read_whole(menu, plan, document),
        *(f"Warning: {warning}." for warning in (*plan.warnings[0], *on_samples)),
    ]


def _from_redefined(document: Document) -> Iterator[str]:
    """Yield a line for each collection of the sample that a menu redefines and derives other objects from:
    their `from` refers to the redefined collection."""
    tables: dict[str, dict[str, Any]] = document.data.get("objects", {})
    for name, table in tables.items():
        derived = [
            other for other, definition in tables.items() if definition["from"] == name and other != name
        ]
        keys = {key: value for key, value in table.items() if key != "from"}
        if derived and keys and (name in STANDARD or table["from"] == name):
            line = document.lines.get(("objects", name), 1)
            cuts = ", ".join(toml_text.entry(key, value) for key, value in keys.items())
            yield (
                f"{few_of(derived, _NAMED)}: from = {toml_text.value(name)} means [objects.{name}] "
                f"of this menu (line {line}: {excerpt(cuts, _LONGEST)}), not all of the sample's"
            )


def _read_whole(menu: Menu, plan: Plan, document: Document) -> Iterator[str]:
    """Yield a line for each trigger whose card does not define an object that the menu redefines: the card
    then means all of the sample's."""
    for trigger in menu.used:
        if getattr(trigger.description, "card", None) is None:
            continue
        used = {*selections_in(plan.slots[plan.bits[0][trigger.name]].compiled)}
        whole = [
            name
            for name, selection in menu.scope.objects
            if selection != ObjectSelection(name) and ObjectSelection(name) in used
        ]
        if whole:
            tables = ", ".join(f"[objects.{name}]" for name in whole[:_NAMED])
            line = document.lines.get(("objects", whole[0]), 1)
            yield (
                f"{trigger.name!r} ({trigger.place}): its card has no {tables}, and reads all that the "
                f"samples have; those of this menu (line {line}) do not apply to it. If its model was "
                f"trained on selected objects, add these tables to the card"
            )


@click.command()
@click.argument("plugins", nargs=-1)
@options.plugin_path
def schema(plugins: tuple[str, ...], plugin_path: tuple[Path, ...]) -> None:
    """Print the JSON schema of a menu, with the kinds of these PLUGINS.

    This loads the plugins and runs their code, as for a menu that names them. Other plugins are only listed.
    """
    folders = search_path(plugin_path)
    say(json.dumps(menu_schema(plugins, folders), indent=2))
    if omitted := sorted(_third_party(folders) - set(plugins)):
        say(f"trigemu: without the kinds of these plugins: {', '.join(omitted)}", err=True)


def _third_party(folders: Iterable[Path]) -> set[str]:
    """Return the plugins that do not come with trigemu."""
    return {name for name, (first, *_) in available(folders).items() if not first.comes_with_trigemu}


#: How much the smallest value exceeds a limit that excludes nothing, and one in a sample that may be in MeV.
_ABOVE, _IN_MEV = 1.1, 100.0


def warnings_of_first(menu: Menu, catalogue: Catalogue, most: int) -> Iterator[str]:
    """Explain which triggers fire in none of the first events of each sample, also of signals, and which
    limits exclude nothing there."""
    plan = make_plan([menu])
    limits = limits_of(menu, plan, plan.bits[0])
    fired, ranges = measured(Job((menu,), plan, catalogue), [limits], catalogue.samples, most)
    where = f"the first {most} events of each sample"
    is_part = most < max((sample.entries for sample in catalogue.samples), default=0)
    idle = limits_of(menu, plan, plan.bits[0], fired)
    yield from idle_warnings(idle, ranges, f"none of {where}" if is_part else "no event of the samples")
    yield from islice(_of_loose(limits, ranges, where), NAMED)


def _of_loose(limits: Limits, ranges: Ranges, where: str) -> Iterator[str]:
    """Yield a warning for each limit in GeV that no value is below, once for equal ones. Masses of pairs are
    bounded by the limits on their objects."""
    first: dict[Compared, tuple[Trigger, Limit]] = {}
    for trigger, of_trigger in limits:
        for limit in of_trigger:
            first.setdefault(limit.compared, (trigger, limit))
    for trigger, limit in first.values():
        least, low = limit.least or 0.0, ranges[limit.compared].low
        if limit.unit != "GeV" or least < LEAST_GEV or not limit.name or limit.name.startswith("m("):
            continue
        if _ABOVE * least < low < np.inf:
            lacking = "the rate lacks what the samples do not have below it"
            yield (
                f"{trigger.name!r} ({trigger.place}): {limit.text!r} excludes nothing, the smallest "
                f"{limit.name} in {where} is {low:.4g} {limit.unit}: "
                f"{lacking if low < _IN_MEV * least else 'MeV? trigemu reads GeV: convert the sample'}"
            )
