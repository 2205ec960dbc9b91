"""The rates of a trigger or group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trigemu.counting import LISTED
from trigemu.rates import TriggerRates
from trigemu.results.kinds.menu_rates import columns, numbers_of, row
from trigemu.results.notes import legend, texts
from trigemu.results.numbers import EVENTS, events_text, format_rate
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _TriggerRates(View[TriggerRates]):
    def line(self, result: TriggerRates) -> str:
        total, unique = format_rate(result.total), format_rate(result.unique)
        return f"of {name(result.name)}: total {total}, unique {unique}"

    def page(self, result: TriggerRates) -> Page:
        """A line for each of its rates."""
        events = Column("events", "number", EVENTS, text=events_text)
        table = Table((Column("quantity", "key", result.name), Column("rate", "rate", "rate"), events))
        for quantity in LISTED:
            table.add(quantity, result.rates[quantity], result.rates[quantity])
        if result.lost:
            table.add("lost", result.lost, result.lost)
        return Page([table], [*texts(legend([result], []))])

    def table(self, result: TriggerRates) -> Table:
        return Table.of(columns(result.level is not None), [row(result)])

    def document(self, result: TriggerRates) -> dict[str, Any]:
        return numbers_of(result)

    def figures(self, result: TriggerRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import by_name

        yield by_name("trigger", "", {result.kind: [result]}).figure


VIEW = _TriggerRates()
