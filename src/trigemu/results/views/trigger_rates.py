"""The rates of a trigger or group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.rates as written
from trigemu.counting import LISTED
from trigemu.rates import TriggerRates
from trigemu.results.documents import in_json
from trigemu.results.notes import legend, texts
from trigemu.results.numbers import EVENTS, events_text, format_rate, marked
from trigemu.results.text.terminal import Page, Table
from trigemu.results.views.view import View, name, of_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _TriggerRates(View[TriggerRates]):
    index = ("name",)

    def line(self, result: TriggerRates) -> str:
        total, unique = format_rate(result.total), format_rate(result.unique)
        return f"of {name(result.name)}: total {total}, unique {unique}"

    def tables(self, result: TriggerRates) -> RenderableType:
        return _table(result)

    def document(self, result: TriggerRates) -> Any:
        return of_json(in_json(written.row(result)))

    def rows(self, result: TriggerRates) -> list[dict[str, Any]]:
        return [written.row(result)]

    def figures(self, result: TriggerRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import by_name

        yield by_name("trigger", "", {result.kind: [result]}).figure


def _table(result: TriggerRates) -> RenderableType:
    table = Table()
    table.add_column(result.name, "name")
    for head in ("rate", EVENTS):
        table.add_column(head)
    every = {quantity: result.rates[quantity] for quantity in LISTED}
    every |= {"lost": result.lost} if result.lost else {}
    for quantity, rate in every.items():
        table.add_row(quantity, marked(rate), events_text(rate))
    return Page([table], texts(legend([result], [])))


VIEW = _TriggerRates()
