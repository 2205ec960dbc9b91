"""The rates of a menu in columns of prescales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.prescale_columns as written
from trigemu import __version__
from trigemu.rates import ColumnRates
from trigemu.results.numbers import count
from trigemu.results.text.rates import row
from trigemu.results.views.view import View, name, of_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _ColumnRates(View[ColumnRates]):
    index = ("column", "name")

    def line(self, result: ColumnRates) -> str:
        menus = {rates.menu.name for rates in result.values()}
        return f"of {', '.join(map(name, menus))}: {count(len(result), 'column')} of prescales"

    def tables(self, result: ColumnRates) -> RenderableType:
        return written.column_table(result)

    def document(self, result: ColumnRates) -> Any:
        return of_json(written.as_json(result, __version__))

    def rows(self, result: ColumnRates) -> list[dict[str, Any]]:
        return [{"column": c} | row(trigger) for c, rates in result.items() for trigger in rates.triggers]

    def figures(self, result: ColumnRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import by_name

        listed = {column: rates.triggers for column, rates in result.items()}
        yield by_name("triggers", "", listed).figure


VIEW = _ColumnRates()
