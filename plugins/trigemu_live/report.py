"""The section of `trigemu report` on what is recorded of menus that name this plugin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trigemu.base.errors import file_stem
from trigemu.menus.menu import Menu
from trigemu.results.section import Contents, Section
from trigemu.results.table import Column, Table
from trigemu.samples.catalogue import Catalogue

from .figures import figures_of
from .filling import read_filling, spread
from .live import live_rates
from .results import live_text, table_of_causes, table_of_items
from .rules import read_rules, rule_names

TITLE = "What is recorded"
#: The filling scheme and the seconds of beam of a report, and the rules that its figures are for.
SCHEME, SECONDS, RULES = "lhc-2018-2544", 3.0, "cms"
TEXT = (
    "Crossings in order, through prescale counters and trigger rules, for the bunch trains of the LHC in "
    "2018 and for as many bunches spread evenly. Rates are those of their crossing rate. Live is the part of "
    "the accepts of the first level that are recorded."
)
_COLUMNS = (
    Column("rules", "key", "rules", "The rules."),
    Column("bunches", "key", "bunches", "The filling scheme."),
    Column("before", "rate", "before", "The rate before the rules.", parts=("hz", "error_hz")),
    Column("after", "rate", "recorded", "The rate with the rules.", parts=("hz", "error_hz")),
    Column("live", "share", "live", "The part that is recorded."),
)


def sections(contents: Contents) -> Iterator[Section]:
    """Yield a section for each menu that names the plugin."""
    if contents.catalogue.table.convention == "luminosity":
        return  # single interactions are no crossings
    for variant in contents.variants:
        if any(plugin.name == "live" for plugin in variant.menu.plugins):
            yield _of_menu(variant.menu, variant.catalogue)


def _of_menu(menu: Menu, catalogue: Catalogue) -> Section:
    trains = read_filling(SCHEME)
    evenly = spread(len(trains.slots))
    schemes = {trains.description: trains, evenly.name: evenly}
    results = [
        (name, live_rates(menu, catalogue, filling=filling, rules=read_rules(rules), seconds=SECONDS))
        for rules in rule_names()
        for name, filling in schemes.items()
    ]
    table = Table(_COLUMNS)
    for name, result in results:
        rate = result.levels[0]
        table.add(result.rules.name, name, rate.before, rate.after, live_text(result.live, result.live_error))
    shown = results[2 * rule_names().index(RULES)][1]
    title, suffix = f"{shown.rules.name}, {shown.filling.description}", file_stem(menu.name)
    pictures = (replace(picture, name=f"{picture.name}_{suffix}") for picture in figures_of(shown))
    tables = table, replace(table_of_items(shown), title=title), table_of_causes(shown)
    return Section(TITLE, (TEXT,), tables, tuple(pictures), menu=menu.name)
