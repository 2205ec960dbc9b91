"""The live fraction of rules at several rates, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trigemu.api import Column, Page, Table, View, numbers

from .curve import LiveCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    Column("input_rate_hz", "number", "before", "The rate of accepts before the rules.", text=numbers.in_hz),
    Column("live", "share", "live", "The part of them that the rules allow.", errors=("error",)),
    Column("error", "number", None, "Its statistical uncertainty."),
    Column("recorded_hz", "number", "recorded", "The rate that they allow.", text=numbers.in_hz),
)


class _LiveCurve(View[LiveCurve]):
    def line(self, result: LiveCurve) -> str:
        return f"of {result.rules.name}: {numbers.count(len(result.points), 'rate')}"

    def page(self, result: LiveCurve) -> Page:
        table = Table(_COLUMNS)
        for point in result.points:
            table.add(point.input_rate_hz, point.value, point.error, point.input_rate_hz * point.value)
        return Page([table], [f"{result.filling.name}; {result.rules.text}; independent crossings."])

    def figures(self, result: LiveCurve) -> Iterator[Figure]:
        from .figures import draw_curve

        yield draw_curve(result)


VIEW = _LiveCurve()
