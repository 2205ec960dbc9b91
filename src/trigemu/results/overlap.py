"""Overlaps of pairs of triggers, and exclusive rates of combinations: what `trigemu run --overlap` shows."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from trigemu.rates.results import MenuRates
from trigemu.results.numbers import count, in_unit, unsigned
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import Figures, View
from trigemu.studies.exclusive import ExclusiveRates

COLUMNS = (
    Column("all", "key", "exactly these triggers", in_files=False, of=lambda c: " & ".join(c.triggers)),
    Column("rate", "rate", "rate", in_files=False, of=lambda c: unsigned(c.hz, c.error_hz)),
    Column("triggers", "note", None, "The triggers that accept, with no other.", of=lambda c: [*c.triggers]),
    Column("hz", "number", None, "The rate of these events in Hz.", errors=("error_hz",)),
    Column("error_hz", "number", None, "Its statistical uncertainty in Hz."),
)


class ExclusiveRatesView(View[ExclusiveRates]):
    """A row is a combination of triggers."""

    def page(self, result: ExclusiveRates) -> Page:
        notes = ["Rates of events that these triggers accept and no other trigger accepts."]
        if result.others:
            others = in_unit(result.others_hz, 0.0)
            notes.append(f"{result.others} further combinations have {others} together.")
        return Page([Table.of(COLUMNS, result.largest)], notes)

    def document(self, result: ExclusiveRates) -> dict[str, Any]:
        return asdict(result)

    def figures(self, result: ExclusiveRates) -> Figures:
        from trigemu.results.figures.draw import draw_combinations
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
    tables, notes, (overlap, error, alone) = [], [], result.overlaps.arrays
    names = [trigger.name for trigger in result.triggers]
    for level in result.menu.levels or (None,):
        members = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
        pairs = [pair for pair in combinations(members, 2) if overlap[pair]]
        pairs.sort(key=lambda pair: -overlap[pair])
        of_level = f", level {level}" if level else ""
        table = Table(_COLUMNS, title=f"Overlap{of_level}: rates that two triggers accept together")
        for i, j in pairs if every else pairs[:LARGEST]:
            both = overlap[i, j]
            shares = 100 * both / alone[i, j], 100 * both / alone[j, i]
            table.add(names[i], names[j], (both, error[i, j]), *shares)
        tables += [table] if pairs else []
        if more := len(pairs) - len(table.rows):
            notes.append(f"{count(more, 'smaller pair')}{of_level} not shown: --overlap all.")
        if not pairs:
            notes.append(f"No two triggers{of_level} accept the same event.")
    return Page(tables, notes)
