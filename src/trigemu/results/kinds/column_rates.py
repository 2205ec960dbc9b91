"""The rates of a menu in columns of prescales: what `trigemu run --column` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trigemu.menus import Menu
from trigemu.rates import ColumnRates, MenuRates, Rate, TriggerRates
from trigemu.results.kinds.menu_rates import VIEW as OF_MENU, columns, printed_row, row, summary_row
from trigemu.results.notes import notes, texts
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, RowStyle, Table
from trigemu.results.view import View, name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMN = Column("column", "key", "column", "The name of the column of prescales.")


class _ColumnRates(View[ColumnRates]):
    def line(self, result: ColumnRates) -> str:
        menus = {rates.menu.name for rates in result.values()}
        return f"of {', '.join(map(name, menus))}: {count(len(result), 'column')} of prescales"

    def page(self, result: ColumnRates) -> Page:
        """Each trigger and group has a line per column."""
        menu = _menu(result)
        key, *others = columns(with_levels=False)
        table = Table((key, _COLUMN, *others))
        for trigger, rates in _of_triggers(result):
            _add(table, trigger, rates)
        for group in dict.fromkeys(g.name for rates in result.values() for g in rates.groups):
            of = {c: next((g for g in r.groups if g.name == group), None) for c, r in result.items()}
            _add(table, f"group {group}", of, "group")
        for number, level in enumerate(menu.levels):
            _add_summary(table, f"level {level}", {c: r.levels[number].rate for c, r in result.items()})
        _add_summary(table, f"menu {menu.name}", {c: r.rate for c, r in result.items()})
        of_columns = {c: [n for n in notes(rates) if n.about != "column"] for c, rates in result.items()}
        shared = set.intersection(*(set(texts(of)) for of in of_columns.values()))
        below: dict[str, None] = {}
        for c, listed in of_columns.items():
            for note, text in zip(listed, texts(listed), strict=True):
                below[f"{c}: {text}" if note.about == "menu" and text not in shared else text] = None
        return Page([table], [*below])

    def table(self, result: ColumnRates) -> Table:
        of_columns = ((c, trigger) for c, rates in result.items() for trigger in rates.triggers)
        records = ({"column": c} | row(trigger) for c, trigger in of_columns)
        return Table.of((_COLUMN, *columns(bool(_menu(result).levels))), records)

    def csv_table(self, result: ColumnRates) -> Table:
        """The lines of `run` for each column, which begin with its name."""
        tables = {c: OF_MENU.csv_table(rates) for c, rates in result.items()}
        records = ({"column": c, **line.values} for c, table in tables.items() for line in table.rows)
        return Table.of((_COLUMN, *columns(bool(_menu(result).levels))), records)

    def document(self, result: ColumnRates) -> dict[str, Any]:
        """Each column is as in `run`, without what all share, and with the triggers that are off in it."""
        documents = {c: OF_MENU.document(rates) for c, rates in result.items()}
        own = ("menu", "triggers", "groups", "overlap", "warnings")
        each = [
            {"column": c, "off": _off(result[c].menu, c)} | {key: document[key] for key in own}
            for c, document in documents.items()
        ]
        first = next(iter(documents.values()))
        shared = {key: value for key, value in first.items() if key not in own}
        models = {path: sha256 for rates in result.values() for path, sha256 in rates.models.items()}
        shared["provenance"] |= {"prescales": _menu(result).columns.file, "models": models}
        del shared["provenance"]["menu"]["column"]
        return {"columns": each} | shared

    def figures(self, result: ColumnRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import by_name

        listed = {column: rates.triggers for column, rates in result.items()}
        yield by_name("triggers", "", listed).figure


VIEW = _ColumnRates()


def _menu(result: Mapping[str, MenuRates]) -> Menu:
    return next(iter(result.values())).menu


def _off(menu: Menu, column: str) -> list[str]:
    """List the triggers whose prescale in a column switches them off."""
    number = menu.columns.names.index(column)
    return [trigger.name for trigger in menu.triggers if trigger.prescales and trigger.prescales[number] <= 0]


def _of_triggers(result: ColumnRates) -> Iterator[tuple[str, dict[str, TriggerRates | None]]]:
    by_name = {c: {t.name: t for t in rates.triggers} for c, rates in result.items()}
    for trigger in _menu(result).triggers:
        if trigger.prescales or any(trigger.name in triggers for triggers in by_name.values()):
            yield trigger.name, {c: triggers.get(trigger.name) for c, triggers in by_name.items()}


def _add(table: Table, label: str, of: Mapping[str, TriggerRates | None], style: RowStyle = "plain") -> None:
    for column, rates in of.items():
        values = {"prescale": "off"} if rates is None else printed_row(rates)
        table.add_record(values | {"column": column, "name": label}, style)
        label = ""


def _add_summary(table: Table, label: str, rates: Mapping[str, Rate]) -> None:
    table.add_gap()
    for column, rate in rates.items():
        table.add_record(summary_row(label, rate) | {"column": column}, "summary")
        label = ""
