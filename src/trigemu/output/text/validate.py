"""A check of decisions as JSON and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import RenderableType

from trigemu.output.documents import in_json, left_out
from trigemu.output.text.terminal import Page, Table, plain
from trigemu.samples import Events
from trigemu.studies import Checked, DecisionCheck
from trigemu.support import Array

#: Columns of an object that are printed first, in this order.
_FIRST = ("pt", "eta", "phi")


def as_json(result: DecisionCheck) -> str:
    """Return the JSON document of `trigemu check`."""
    triggers = [
        {
            "name": trigger.name,
            "agree": trigger.agree,
            "only_emulated": trigger.only_emulated,
            "only_stored": trigger.only_stored,
            "skipped": trigger.skipped,
        }
        for trigger in result.triggers
    ]
    found = {"crossings": result.crossings, "triggers": triggers}
    return in_json(found | {"left_out": left_out(result.catalogue)})


def check_table(result: DecisionCheck) -> RenderableType:
    """Return what `trigemu check` prints."""
    table = Table()
    table.add_column("trigger", "name")
    for name in ("agree", "only emulated", "only stored"):
        table.add_column(name)
    for trigger in result.triggers:
        if trigger.skipped is None:
            counts = (trigger.agree, trigger.only_emulated, trigger.only_stored)
            table.add_row(trigger.name, *map(str, counts), style="bold red" if trigger.differ else "")
    details = [line for trigger in result.triggers for line in _differences(trigger)]
    return Page([table, *(plain(line, names=table.names()) for line in (*details, *_notes(result)))])


def _differences(trigger: Checked) -> Iterator[str]:
    for difference in trigger.first:
        events = difference.events
        rows = range(len(events))
        (at,) = rows[events.core]
        only = "emulated" if difference.emulated else "stored"
        where = f"{Path(difference.path).name}, entry {difference.entry}"
        yield ""
        yield f"{trigger.name}, only {only}: event {events.id[at]} ({where})"
        for row in rows:
            crossing = f"crossing {row - at:+d}, " if row != at else ""
            yield from (f"    {crossing}{line}" for line in _looked_at(events, row))


def _looked_at(events: Events, row: int) -> Iterator[str]:
    """Yield a line for each object of an event, and for each of its numbers."""
    for name, collection in events.collections.items():
        columns = sorted(collection.columns, key=lambda column: (*_FIRST, column).index(column))
        start, stop = collection.offsets[row : row + 2]
        for i in range(start, stop):
            values = ", ".join(f"{column} {_number(collection.columns[column][i])}" for column in columns)
            yield f"{name}[{i - start}]: {values}"
        if start == stop:
            yield f"no {name}"
    for name, column in events.scalars.items():
        yield f"{name}: {_number(column[row])}"


def _number(value: Array | np.generic) -> str:
    """Format a number; words of bits are in hexadecimal."""
    if isinstance(value, np.int64) and not 0 <= value < 2**31:
        return f"{int(value) % 2**64:#x}"
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def _notes(result: DecisionCheck) -> Iterator[str]:
    yield ""
    for trigger in result.triggers:
        if trigger.skipped is not None:
            yield f"Skipped: {trigger.name}: {trigger.skipped}."
    checked = [trigger for trigger in result.triggers if trigger.skipped is None]
    same = sum(not trigger.differ for trigger in checked)
    if result.catalogue.left_out:
        yield f"Warning: {result.catalogue.left_out_text}."
    yield f"{same} of {len(checked)} triggers agree on all of {result.crossings} crossings."
    if result.injected:
        yield f"{result.found} of {result.injected} flipped decisions were found."
