"""The overlap of every pair of triggers: what `trigemu run --overlap` prints."""

from __future__ import annotations

from collections.abc import Sequence

from trigemu.rates import MenuRates
from trigemu.results.table import Column, Page, Table, Widest, stacked


def overlap_page(result: MenuRates) -> Page:
    """Return the overlaps within each level; columns are numbered, to be narrow."""
    tables = []
    for level in result.menu.levels or (None,):
        members = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
        of = f", level {level}" if level else ""
        tables.append(Widest((_in_hz(result, members, of), _in_percent(result, members, of))))
    return Page(stacked(tables))


def _overlaps(title: str, triggers: int) -> Table:
    numbered = (Column(str(number), "number", str(number)) for number in range(1, triggers + 1))
    return Table(
        (Column("number", "count", "", leads=True), Column("name", "key", "trigger"), *numbered), title=title
    )


def _in_hz(result: MenuRates, members: Sequence[int], of: str) -> Table:
    """Return the lower half of the overlaps, with totals on the diagonal."""
    table = _overlaps(f"Overlap in Hz{of}", len(members))
    for number, i in enumerate(members, 1):
        lower = [(result.overlap[i, j], result.overlap_error[i, j]) for j in members[:number]]
        values = [f"{hz:.4g} ± {error:.2g}" if hz else "0" for hz, error in lower]
        table.add(number, result.triggers[i].name, *values)
    return table


def _in_percent(result: MenuRates, members: Sequence[int], of: str) -> Table:
    """Return overlaps as fractions of the rate of the row's trigger."""
    title = (
        f"Overlap{of}: of the row's rate, % that the column's trigger accepts too "
        f"(rates in Hz, with errors: --json)"
    )
    table = _overlaps(title, len(members))
    for number, i in enumerate(members, 1):
        total = result.overlap[i, i]
        values = [_percent(result.overlap[i, j] / total) if total else "–" for j in members]
        table.add(number, result.triggers[i].name, *values)
    return table


def _percent(share: float) -> str:
    """Format a share in three characters: 100, 42, 4.2, <.1, 0."""
    percents = 100.0 * share
    if not 0.0 < percents < 9.95:
        return f"{percents:.0f}"
    return f"{percents:.1f}" if percents >= 0.05 else "<.1"
