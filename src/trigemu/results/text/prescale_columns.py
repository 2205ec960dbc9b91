"""Rates in columns of prescales as JSON, CSV and a table for a terminal. Numbers only: nothing is
computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from trigemu.counting import LISTED
from trigemu.menus import Menu
from trigemu.rates import MenuRates, Rate, TriggerRates
from trigemu.results.documents import in_json
from trigemu.results.notes import notes, texts
from trigemu.results.numbers import events_text, marked, prescale_text
from trigemu.results.text.rates import add_rates, all_rows, as_dict, csv_of
from trigemu.results.text.terminal import Page, Table


def as_json(columns: Mapping[str, MenuRates], version: str) -> str:
    """Return the JSON document of `trigemu run --column`: each column is as in `run`, without what all share,
    and with the triggers that are off in it."""
    documents = {name: as_dict(result, version) for name, result in columns.items()}
    first = next(iter(documents.values()))
    own = ("menu", "triggers", "groups", "overlap", "warnings")
    document = {
        "columns": [
            {"column": name, "off": _off(columns[name].menu, name)} | {key: made[key] for key in own}
            for name, made in documents.items()
        ]
    }
    shared = {key: value for key, value in first.items() if key not in own}
    source = next(iter(columns.values())).menu.columns
    file = {"path": str(source.path), "sha256": source.sha256} if source.path else None
    shared["provenance"] |= {"prescales": file}
    return in_json(document | shared)


def _off(menu: Menu, column: str) -> list[str]:
    """List the triggers whose prescale in a column switches them off."""
    number = menu.columns.names.index(column)
    return [trigger.name for trigger in menu.triggers if trigger.prescales and trigger.prescales[number] <= 0]


def as_csv(columns: Mapping[str, MenuRates]) -> str:
    """Return the CSV lines of `run` for each column, which begin with its name."""
    return csv_of([{"column": name} | row for name, result in columns.items() for row in all_rows(result)])


def column_table(columns: Mapping[str, MenuRates]) -> RenderableType:
    """Return what `trigemu run --column` prints: each trigger and group with a line per column."""
    table = Table()
    for name in ("trigger", "column"):
        table.add_column(name, "name")
    add_rates(table)
    for label, rates in _of_triggers(columns):
        _add(table, label, rates)
    for name in dict.fromkeys(g.name for result in columns.values() for g in result.groups):
        of = {c: next((g for g in r.groups if g.name == name), None) for c, r in columns.items()}
        _add(table, f"group {name}", of, style="cyan")
    menu = next(iter(columns.values())).menu
    for number, level in enumerate(menu.levels):
        _add_whole(table, f"level {level}", {name: r.levels[number].rate for name, r in columns.items()})
    _add_whole(table, f"menu {menu.name}", {name: result.rate for name, result in columns.items()})
    said = dict.fromkeys(text for result in columns.values() for text in texts(notes(result)))
    return Page([table], (*said, *_thresholds(columns)))


def _add_whole(table: Table, label: str, rates: Mapping[str, Rate]) -> None:
    table.add_row("")
    for name, rate in rates.items():
        others = [""] * (len(LISTED) - 1)
        table.add_row(label, name, "", marked(rate), *others, events_text(rate), style="bold")
        label = ""


def _of_triggers(
    columns: Mapping[str, MenuRates],
) -> Iterator[tuple[str, dict[str, TriggerRates | None]]]:
    by_name = {c: {t.name: t for t in result.triggers} for c, result in columns.items()}
    for trigger in next(iter(columns.values())).menu.triggers:
        if trigger.prescales or any(trigger.name in there for there in by_name.values()):
            yield trigger.name, {c: there.get(trigger.name) for c, there in by_name.items()}


def _add(table: Table, label: str, of: Mapping[str, TriggerRates | None], style: str = "") -> None:
    for column, rates in of.items():
        if rates is None:
            table.add_row(label, column, "off", style=style)
        else:
            numbers = [marked(rates.rates[quantity]) for quantity in LISTED]
            prescale = prescale_text(rates.prescale)
            table.add_row(label, column, prescale, *numbers, events_text(rates.total), style=style)
        label = ""


def _thresholds(columns: Mapping[str, MenuRates]) -> Iterator[str]:
    if any(trigger.solution for trigger in next(iter(columns.values())).menu.triggers):
        yield "Thresholds were found with the menu's own prescales, and are the same in all columns."
