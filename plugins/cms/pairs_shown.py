"""Validations of several menus on their vectors: what `trigemu check-decisions --all` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trigemu.api import Column, Page, RowStyle, Table, csv_of, in_json
from trigemu_validation import Checked, doubts, other_bits

from .pairs import CheckedPair

_COLUMNS = (
    Column("menu", "key", "menu"),
    Column("vector", "key", "vector", leads=False),
    *(
        Column(name, "count", name)
        for name in ("imported", "left out", "compared", "agree", "differ", "skipped")
    ),
    Column("differing", "note"),
    Column("other_bits", "note"),
)


def pairs_table(pairs: Sequence[CheckedPair]) -> Table:
    """Return a line for each pair; in files its last columns name the triggers that differ, and how often,
    and those whose decisions are of another stored bit."""
    table = Table(_COLUMNS)
    for checked in pairs:
        result, pair = checked.result, checked.pair
        compared, differ = len(result.compared), len(result.differing)
        files, counts = (pair.menu.name, pair.vector.name), (len(result.triggers), len(checked.left_out))
        style: RowStyle = "wrong" if result.differ else "plain"
        agreement = compared, compared - differ, differ, len(result.skipped)
        bits = "; ".join(f"{trigger.name} {trigger.stored}: {trigger.equals}" for trigger in result.elsewhere)
        table.add(
            *files, *counts, *agreement, "; ".join(map(_differing, result.differing)), bits, style=style
        )
    return table


def as_csv(pairs: Sequence[CheckedPair]) -> str:
    """Return the table as CSV."""
    return csv_of(pairs_table(pairs))


def as_json(pairs: Sequence[CheckedPair]) -> str:
    """Return the JSON document of `trigemu check-decisions --all`: of each pair the document of a single
    check, its files and what the import left out."""
    documents = [
        {
            "menu": checked.pair.menu.name,
            "vector": checked.pair.vector.name,
            "left_out_of_import": [{"name": out.name, "reason": out.reason} for out in checked.left_out],
            **checked.result.to_dict(),
        }
        for checked in pairs
    ]
    return in_json({"pairs": documents})


def pairs_page(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> Page:
    """Return what `trigemu check-decisions --all` prints. alone: files without a counterpart."""
    return Page([pairs_table(pairs), "", *_notes(pairs, alone)])


def _notes(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> Iterator[str]:
    for checked in pairs:
        files = f"{checked.pair.menu.name} on {checked.pair.vector.name}"
        for trigger in checked.result.differing:
            if trigger.equals is None:
                yield f"{files}: differs: {_differing(trigger)}."
        for lines in (doubts, other_bits):
            yield from (f"{files}: {line}" for line in lines(checked.result))
        for reason, names in not_compared(checked):
            yield f"{files}: {reason}: {', '.join(names)}."
    yield from unused(alone)


def _differing(trigger: Checked) -> str:
    return f"{trigger.name} on {trigger.differ} of {trigger.compared} crossings"


def not_compared(checked: CheckedPair) -> Iterator[tuple[str, list[str]]]:
    """Yield each reason why triggers were not compared, or not on all crossings, with their names."""
    found: dict[str, list[str]] = {}
    for out in checked.left_out:
        found.setdefault(f"left out of the import: {out.reason}", []).append(out.name)
    for trigger in checked.result.skipped:
        found.setdefault(f"skipped: {trigger.skipped}", []).append(trigger.name)
    for trigger in checked.result.compared:
        if trigger.not_compared:
            reason = f"not compared on {trigger.not_compared} crossings at the ends of files"
            found.setdefault(reason, []).append(trigger.name)
    yield from found.items()


def unused(alone: Sequence[Path]) -> Iterator[str]:
    """Yield a line on the files without a counterpart, if there are any."""
    if alone:
        yield f"Without a counterpart of the same name: {', '.join(file.name for file in alone)}."
