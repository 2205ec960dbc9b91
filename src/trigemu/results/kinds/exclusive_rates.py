"""Exclusive rates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.results.numbers import count, in_unit
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name
from trigemu.studies import ExclusiveRates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    Column("triggers", "note", None, "The triggers that accept, with no other."),
    Column("hz", "number", None, "The rate of these events in Hz.", errors=("error_hz",)),
    Column("error_hz", "number", None, "Its statistical uncertainty in Hz."),
)


class _ExclusiveRates(View[ExclusiveRates]):
    """A row is a combination of triggers."""

    def line(self, result: ExclusiveRates) -> str:
        combinations = f"of {count(len(result.largest) + result.others, 'combination')}"
        if not result.largest:
            return combinations
        first = result.largest[0]
        rate = in_unit(first.hz, first.error_hz)
        return f"{combinations}; the largest {name(' & '.join(first.triggers))}: {rate}"

    def page(self, result: ExclusiveRates) -> Page:
        table = Table((Column("triggers", "key", "exactly these triggers"), Column("rate", "rate", "rate")))
        for rate in result.largest:
            table.add(" & ".join(rate.triggers), in_unit(rate.hz, rate.error_hz).replace(" ± ", "±"))
        notes = ["Rates of events that these triggers accept and no other trigger accepts."]
        if result.others:
            others = in_unit(result.others_hz, 0.0)
            notes.append(f"{result.others} further combinations have {others} together.")
        return Page([table], notes)

    def table(self, result: ExclusiveRates) -> Table:
        table = Table(COLUMNS)
        for rate in result.largest:
            table.add(list(rate.triggers), rate.hz, rate.error_hz)
        return table

    def document(self, result: ExclusiveRates) -> dict[str, Any]:
        return asdict(result)

    def figures(self, result: ExclusiveRates) -> Iterator[Figure]:
        from trigemu.results.figures.overlap import draw_combinations
        from trigemu.results.figures.style import shown

        names = list(dict.fromkeys(name for rate in result.largest for name in rate.triggers))
        members = np.array([[name in rate.triggers for name in names] for rate in result.largest], np.bool_)
        rates, errors = (np.array([getattr(r, key) for r in result.largest]) for key in ("hz", "error_hz"))
        yield draw_combinations(list(shown(names).values()), members.reshape(-1, len(names)), rates, errors)


VIEW = _ExclusiveRates()
