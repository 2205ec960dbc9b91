"""A comparison as JSON, CSV and tables for a terminal. Numbers only: nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from trigemu.counting import COMPARED
from trigemu.rates import MenuRates, Rate
from trigemu.results.documents import in_csv, in_json
from trigemu.results.notes import notes
from trigemu.results.numbers import in_unit, marked
from trigemu.results.text.rates import as_dict, in_cell
from trigemu.results.text.terminal import Kind, Page, Table
from trigemu.studies import Common, Comparison

#: How many overlaps of different triggers a table lists, the largest first.
_PAIRS_SHOWN = 12
#: The heading of differences.
_LESS = "less the first"


def as_json(comparison: Comparison, version: str) -> str:
    """Return the JSON document of `trigemu compare`; rates in Hz. `common` has a matrix for each pair of
    variants, with a row for each trigger of a and a column for each trigger of b."""
    document = {
        "variants": [as_dict(variant, version) for variant in comparison.variants],
        "differences": [asdict(difference) for difference in comparison.differences],
        "gained": [asdict(gain) for gain in comparison.gained],
        "common": list(_matrices(comparison)),
        "changes": [asdict(change) for change in comparison.changes],
    }
    return in_json(document)


def _matrices(comparison: Comparison) -> Iterator[dict[str, Any]]:
    pairs: dict[tuple[str, str], list[Common]] = {}
    for common in comparison.common:
        pairs.setdefault((common.a, common.b), []).append(common)
    for (a, b), entries in pairs.items():
        rows, columns = (list(dict.fromkeys(getattr(c, key) for c in entries)) for key in ("of_a", "of_b"))
        matrix = {
            key: [
                [getattr(c, key) for c in entries[start : start + len(columns)]]
                for start in range(0, len(entries), len(columns))
            ]
            for key in ("hz", "error_hz")
        }
        yield {"a": a, "b": b, "triggers_a": rows, "triggers_b": columns} | matrix


def as_csv(comparison: Comparison) -> str:
    """Return CSV with a line for each number: `kind` is rate (of variant a), b_minus_a, gained or common.
    Rates also have the samples without an event, for which the error may be too small."""
    rows: list[list[object]] = [["kind", "a", "b", "what", "with", "quantity", "hz", "error_hz", "unseen"]]
    for variant in comparison.variants:
        name = variant.menu.name
        wholes = [("menu", variant.rate), *((f"level {level.name}", level.rate) for level in variant.levels)]
        for what, rate in wholes:
            rows.append(["rate", name, "", what, "", "rate_hz", *_with_mark(rate)])
        for trigger in variant.triggers:
            for quantity in COMPARED:
                rate = trigger.rates[quantity]
                rows.append(["rate", name, "", trigger.name, "", f"{quantity}_hz", *_with_mark(rate)])
    for d in comparison.differences:
        rows.append(["b_minus_a", d.a, d.b, d.what, "", d.quantity, d.b_minus_a_hz, d.error_hz])
    for gain in comparison.gained:
        rows.append(["gained", gain.a, gain.b, "menu", "", "rate_hz", gain.hz, gain.error_hz])
    for c in comparison.common:
        rows.append(["common", c.a, c.b, c.of_a, c.of_b, "total_hz", c.hz, c.error_hz])
    return in_csv(row if len(row) == len(rows[0]) else [*row, ""] for row in rows)


def _with_mark(rate: Rate) -> tuple[object, ...]:
    return rate.hz, rate.error_hz, in_cell(rate.unseen)


def comparison_tables(comparison: Comparison) -> RenderableType:
    """Return the tables that `trigemu compare` prints."""
    parts: list[RenderableType] = [_rates(comparison), "", _gains(comparison)]
    if comparison.changes:
        parts += ["", _changes(comparison)]
    together = list(_together(comparison))
    if together:
        parts += ["", _common(together)]
    return Page(parts, _notes(comparison))


def _table(*columns: str, numbers: tuple[str, ...] = (), last: Kind = "name") -> Table:
    """Return a table with columns of names and of numbers. A difference stays beside the rate."""
    table = Table()
    for column in columns:
        table.add_column(column, last if column == columns[-1] else "name")
    for column in numbers:
        table.add_column(column, joined=column == _LESS)
    return table


def signed(hz: float, error_hz: float) -> str:
    """Format a difference of rates.

    Parameters
    ----------
    hz, error_hz : float
        In Hz.

    Returns
    -------
    str
        `+1.350±0.045 kHz`, or `0` where there is none.
    """
    text = unsigned(hz, error_hz)
    return text if hz <= 0 or text.startswith("0") else f"+{text}"


def unsigned(hz: float, error_hz: float) -> str:
    """Format a rate as `1.350±0.045 kHz`, or `0`."""
    return in_unit(hz, error_hz).replace(" ± ", "±") if hz or error_hz else "0"


def _rates(comparison: Comparison) -> Table:
    """Return the rates of each trigger, a line per variant, with the difference from the first."""
    numbers = tuple(name for quantity in COMPARED for name in (quantity, _LESS))
    table = _table("trigger", "variant", numbers=numbers)
    first = comparison.variants[0]
    differences = {
        (d.b, d.what, d.quantity): signed(d.b_minus_a_hz, d.error_hz)
        for d in comparison.differences
        if d.a == first.menu.name
    }
    for name in dict.fromkeys(t.name for variant in comparison.variants for t in variant.triggers):
        label = name
        for variant in comparison.variants:
            rates = next((t.rates for t in variant.triggers if t.name == name), None)
            cells = []
            for quantity in COMPARED:
                cells.append(marked(rates[quantity]) if rates else "– ")
                cells.append(differences.get((variant.menu.name, name, f"{quantity}_hz"), ""))
            table.add_row(label, variant.menu.name, *cells)
            label = ""
    of_levels = [{f"level {level.name}": level.rate for level in v.levels} for v in comparison.variants]
    for what in (*dict.fromkeys(name for levels in of_levels for name in levels), "menu"):
        table.add_row("")
        label = what
        for levels, variant in zip(of_levels, comparison.variants, strict=True):
            rate = ({"menu": variant.rate} | levels).get(what)
            change = differences.get((variant.menu.name, what, "rate_hz"), "")
            shown = marked(rate) if rate else "– "
            others = [""] * (2 * len(COMPARED) - 2)
            table.add_row(label, variant.menu.name, shown, change, *others, style="bold")
            label = ""
    return table


def _gains(comparison: Comparison) -> Table:
    table = _table("from", "to", numbers=("gained", "lost", "menu rate"))
    gains = {(gain.a, gain.b): gain for gain in comparison.gained}
    for d in comparison.differences:
        if d.what == "menu":
            sides = [gains[d.a, d.b], gains[d.b, d.a]]
            gained, lost = (unsigned(g.hz, g.error_hz) for g in sides)
            table.add_row(d.a, d.b, gained, lost, signed(d.b_minus_a_hz, d.error_hz))
    return table


def _changes(comparison: Comparison) -> Table:
    table = _table("changed", "from", "to", "what", last="text")
    for change in comparison.changes:
        table.add_row(change.what, change.a, change.b, change.how)
    return table


def _together(comparison: Comparison) -> Iterator[Common]:
    """Yield overlaps of triggers that changed: those of one name, then the largest of different ones."""
    changed = {(change.a, change.b, change.what) for change in comparison.changes}
    both = [
        c
        for c in comparison.common
        if (c.a, c.b, c.of_a) in changed and (c.a, c.b, c.of_b) in changed and (c.hz or c.of_a == c.of_b)
    ]
    yield from (c for c in both if c.of_a == c.of_b)
    different = sorted((c for c in both if c.of_a != c.of_b), key=lambda c: -c.hz)
    yield from different[:_PAIRS_SHOWN]


def _common(entries: list[Common]) -> Table:
    table = _table("in both", "of", "and", "of", numbers=("rate",))
    for c in entries:
        table.add_row(c.of_a, c.a, c.of_b, c.b, unsigned(c.hz, c.error_hz))
    return table


def _notes(comparison: Comparison) -> Iterator[str]:
    yield (
        "Differences use the same events; their errors include the correlation. Gained: what the second "
        "accepts beyond the first; a prescaled event counts with the increase of its accepted fraction."
    )
    yield from dict.fromkeys(note for v in comparison.variants for note in _of_variant(v) if note)


def _of_variant(variant: MenuRates) -> Iterator[str]:
    """Yield the notes of `run`; those about a menu begin with its name."""
    name = variant.menu.name
    for note in notes(variant):
        text = note.text + note.cases
        yield f"{name}: {text}" if note.about == "menu" else text
