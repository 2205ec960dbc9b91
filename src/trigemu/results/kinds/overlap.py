"""The overlap of pairs of triggers: what `trigemu run --overlap` prints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from trigemu.rates import MenuRates
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table, stacked

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
    """Return the rates that two triggers accept together, the largest first.

    Parameters
    ----------
    result : MenuRates
        The rates.
    every : bool
        Whether all pairs are listed; by default the `LARGEST` of each level.

    Returns
    -------
    Page
        A table for each level. Pairs without overlap are not listed.
    """
    tables, notes = [], []
    for level in result.menu.levels or (None,):
        pairs = sorted(_pairs(result, level), key=lambda pair: -pair[0])
        of = f", level {level}" if level else ""
        table = Table(_COLUMNS, title=f"Overlap{of}: rates that two triggers accept together")
        for hz, i, j in pairs if every else pairs[:LARGEST]:
            error, totals = (
                result.overlap_error[i, j],
                (result.overlap_alone[i, j], result.overlap_alone[j, i]),
            )
            names = result.triggers[i].name, result.triggers[j].name
            table.add(*names, (hz, error), *(100 * hz / total for total in totals))
        tables.append(table)
        if more := len(pairs) - len(table.rows):
            notes.append(f"{count(more, 'smaller pair')}{of} not shown: --overlap all.")
        if not pairs:
            notes.append(f"No two triggers{of} accept the same event.")
    return Page(stacked(table for table in tables if table.rows), notes)


def _pairs(result: MenuRates, level: str | None) -> Iterator[tuple[float, int, int]]:
    """Yield rate and numbers of each two triggers of a level that accept an event together."""
    members = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
    for i, j in combinations(members, 2):
        if result.overlap[i, j]:
            yield float(result.overlap[i, j]), i, j
