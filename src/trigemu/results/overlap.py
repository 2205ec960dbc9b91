"""Overlaps of pairs of triggers, and exclusive rates of combinations: what `trigemu run --overlap` shows."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from trigemu.rates.results import MenuRates
from trigemu.results.numbers import count, in_unit
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import Figures, View, name
from trigemu.studies.exclusive import ExclusiveRates

COLUMNS = (
    Column("triggers", "note", None, "The triggers that accept, with no other."),
    Column("hz", "number", None, "The rate of these events in Hz.", errors=("error_hz",)),
    Column("error_hz", "number", None, "Its statistical uncertainty in Hz."),
)


class ExclusiveRatesView(View[ExclusiveRates]):
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

    def figures(self, result: ExclusiveRates) -> Figures:
        from trigemu.results.figures.rates import draw_combinations
        from trigemu.results.figures.style import shown

        names = list(dict.fromkeys(name for rate in result.largest for name in rate.triggers))
        members = np.array([[name in rate.triggers for name in names] for rate in result.largest], np.bool_)
        rates, errors = (np.array([getattr(r, key) for r in result.largest]) for key in ("hz", "error_hz"))
        labels = list(shown(names).values())
        yield draw_combinations(labels, members.reshape(-1, len(names)), rates, errors)


#: Pairs that are printed unless all are.
LARGEST = 30
_COLUMNS = (
    Column("a", "key", "trigger"),
    Column("b", "key", "and"),
    Column("both", "rate", "both accept"),
    Column("of a", "number", "% of the first", text="{:.3g}".format),
    Column("of b", "number", "% of the second", text="{:.3g}".format),
)


def overlap_page(result: MenuRates, every: bool = False) -> Page:
    """Return the rates that two triggers accept together, the largest first."""
    tables, notes, overlap = [], [], result.overlap
    for level in result.menu.levels or (None,):
        members = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
        pairs = [pair for pair in combinations(members, 2) if overlap[pair]]
        pairs.sort(key=lambda pair: -overlap[pair])
        level_text = f", level {level}" if level else ""
        table = Table(_COLUMNS, title=f"Overlap{level_text}: rates that two triggers accept together")
        for i, j in pairs if every else pairs[:LARGEST]:
            hz, error = overlap[i, j], result.overlap_error[i, j]
            shares = (100 * hz / alone for alone in (result.overlap_alone[i, j], result.overlap_alone[j, i]))
            table.add(result.triggers[i].name, result.triggers[j].name, (hz, error), *shares)
        tables.append(table)
        if more := len(pairs) - len(table.rows):
            notes.append(f"{count(more, 'smaller pair')}{level_text} not shown: --overlap all.")
        if not pairs:
            notes.append(f"No two triggers{level_text} accept the same event.")
    return Page(stacked(table for table in tables if table.rows), notes)
