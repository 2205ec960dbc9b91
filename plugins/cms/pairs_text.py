"""Validations of several menus on their vectors, as a table for a terminal, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType

from trigemu.api import Page, Table, in_csv, in_json, plain
from trigemu_validation import as_json as result_in_json, doubts

from .pairs import CheckedPair

HEAD = ("menu", "vector", "imported", "left out", "compared", "agree", "differ", "skipped")


def row(checked: CheckedPair) -> tuple[str | int, ...]:
    """Return what the columns of `HEAD` are for a menu and its vector."""
    result = checked.result
    compared, differ = len(result.compared), len(result.differing)
    return (
        checked.pair.menu.name,
        checked.pair.vector.name,
        len(result.triggers),
        len(checked.left_out),
        compared,
        compared - differ,
        differ,
        len(result.skipped),
    )


def as_csv(pairs: Sequence[CheckedPair]) -> str:
    """Return the table as CSV; its last column names the triggers that differ, and how often."""
    rows = ((*row(checked), "; ".join(differing(checked))) for checked in pairs)
    return in_csv([(*HEAD, "differing"), *rows])


def as_json(pairs: Sequence[CheckedPair]) -> str:
    """Return the JSON document of `trigemu check --all`: of each pair that of a single check, its files and
    what the import left out."""
    documents = [
        {
            "menu": checked.pair.menu.name,
            "vector": checked.pair.vector.name,
            "left_out_of_import": [{"name": out.name, "reason": out.reason} for out in checked.left_out],
            **json.loads(result_in_json(checked.result)),
        }
        for checked in pairs
    ]
    return in_json({"pairs": documents})


def pairs_table(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> RenderableType:
    """Return what `trigemu check --all` prints. alone: files without a counterpart."""
    table = Table()
    for name in HEAD:
        table.add_column(name, "name" if name in HEAD[:2] else "number", key=name == "menu")
    for checked in pairs:
        style = "bold red" if checked.result.differ else ""
        table.add_row(*map(str, row(checked)), style=style)
    return Page([table, *(plain(line, names=table.names()) for line in ("", *_notes(pairs, alone)))])


def _notes(pairs: Sequence[CheckedPair], alone: Sequence[Path]) -> Iterator[str]:
    for checked in pairs:
        files = f"{checked.pair.menu.name} on {checked.pair.vector.name}"
        for trigger in differing(checked):
            yield f"{files}: differs: {trigger}."
        yield from (f"{files}: {line}" for line in doubts(checked.result))
        for reason, names in not_compared(checked):
            yield f"{files}: {reason}: {', '.join(names)}."
    yield from unused(alone)


def differing(checked: CheckedPair) -> Iterator[str]:
    """Yield the triggers that differ, each with how often."""
    for trigger in checked.result.differing:
        yield f"{trigger.name} on {trigger.differ} of {trigger.compared} crossings"


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
