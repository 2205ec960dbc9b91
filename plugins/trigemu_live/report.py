"""The section of `trigemu report` on what is recorded of menus that name this plugin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trigemu.base.errors import file_stem
from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.results.section import Contents, Section
from trigemu.results.table import Column, Table

from .figures import figures_of
from .filling import read_filling, spread
from .live import live_rates
from .results import LiveRates, live_text
from .rules import read_rules, rule_names
from .view import table_of_causes, table_of_items

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
    Column("live", "share", "live", "The part that is recorded.", text=lambda v: live_text(*v)),
)


def sections(contents: Contents) -> Iterator[Section]:
    """Yield a section for each menu that names the plugin."""
    if contents.catalogue.table.convention == "luminosity":
        return  # single interactions are no crossings
    for variant in contents.variants:
        if any(plugin.name == "live" for plugin in variant.menu.plugins):
            yield _of_menu(variant)


def _of_menu(variant: MenuRates) -> Section:
    menu: Menu = variant.menu
    trains = read_filling(SCHEME)
    table, shown = Table(_COLUMNS), None
    for rules in rule_names():
        for filling in (trains, spread(len(trains.slots))):
            result = live_rates(
                menu, variant.catalogue, filling=filling, rules=read_rules(rules), seconds=SECONDS
            )
            rate = result.levels[0]
            live = result.live, result.live_error
            label = filling.description if filling is trains else filling.name
            table.add(result.rules.name, label, rate.before, rate.after, live)
            if rules == RULES and filling is trains:
                shown = result
    assert isinstance(shown, LiveRates)
    title = f"{shown.rules.name}, {shown.filling.description}"
    pictures = tuple(
        replace(picture, name=f"{picture.name}_{file_stem(menu.name)}") for picture in figures_of(shown)
    )
    return Section(
        TITLE,
        (TEXT,),
        (table, replace(table_of_items(shown), title=title), table_of_causes(shown)),
        pictures,
        menu=menu.name,
    )
