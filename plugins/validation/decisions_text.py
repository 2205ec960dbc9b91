"""A check of decisions as JSON and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import RenderableType

from trigemu.api import Array, Events, Page, Table, in_json, left_out, numbers, plain

from .decisions import Checked, DecisionCheck

#: Columns of an object that are printed first, in this order.
_FIRST = ("pt", "eta", "phi")


def as_json(result: DecisionCheck) -> str:
    """Return the JSON document of `trigemu check`.

    Parameters
    ----------
    result : DecisionCheck
        The comparison.

    Returns
    -------
    str
        The document.
    """
    triggers = [
        {
            "name": trigger.name,
            "agree": trigger.agree,
            "only_emulated": trigger.only_emulated,
            "only_stored": trigger.only_stored,
            "skipped": trigger.skipped,
            "not_compared": trigger.not_compared,
        }
        for trigger in result.triggers
    ]
    found = {"crossings": result.crossings, "triggers": triggers}
    return in_json(found | {"left_out": left_out(result.catalogue)})


def check_table(result: DecisionCheck) -> RenderableType:
    """Return what `trigemu check` prints.

    Parameters
    ----------
    result : DecisionCheck
        The comparison.

    Returns
    -------
    renderable of rich
        Tables and notes.
    """
    tables = [_table(result)] if result.differing else []
    details = [line for trigger in result.differing for line in _differences(trigger)]
    names = [name for table in tables for name in table.names()]
    lines = [*details, *([""] if tables else []), *_notes(result)]
    return Page([*tables, *(plain(line, names=names) for line in lines)])


def summary(result: DecisionCheck) -> str:
    """Return how many triggers were compared, agree, differ, and were skipped.

    Parameters
    ----------
    result : DecisionCheck
        The comparison.

    Returns
    -------
    str
        A line.
    """
    compared, differ = len(result.compared), len(result.differing)
    whole = f"{numbers.count(len(result.triggers), 'trigger')}, {numbers.count(result.crossings, 'crossing')}"
    skipped = len(result.skipped)
    return f"{whole}: {compared} compared, {compared - differ} agree, {differ} differ, {skipped} skipped"


def _table(result: DecisionCheck) -> Table:
    """Return the numbers of the triggers that differ."""
    table = Table()
    table.add_column("trigger", "name")
    for name in ("agree", "only emulated", "only stored"):
        table.add_column(name)
    for trigger in result.differing:
        counts = (trigger.agree, trigger.only_emulated, trigger.only_stored)
        table.add_row(trigger.name, *map(str, counts), style="bold red")
    return table


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


def doubts(result: DecisionCheck) -> Iterator[str]:
    """Yield a line on differing triggers that look at neighbouring crossings, if there are any.

    Parameters
    ----------
    result : DecisionCheck
        The comparison.

    Yields
    ------
    str
        The line.
    """
    if doubted := [trigger.name for trigger in result.differing if trigger.margin]:
        yield (
            f"{', '.join(doubted)}: differences of triggers that look at neighbouring crossings mean nothing "
            f"if the events are not consecutive crossings; if so, check with --not-consecutive."
        )


def _notes(result: DecisionCheck) -> Iterator[str]:
    yield from doubts(result)
    for reason in dict.fromkeys(trigger.skipped for trigger in result.skipped):
        names = ", ".join(trigger.name for trigger in result.skipped if trigger.skipped == reason)
        yield f"Skipped: {names}: {reason}."
    for number in sorted({trigger.not_compared for trigger in result.compared} - {0}):
        names = ", ".join(trigger.name for trigger in result.compared if trigger.not_compared == number)
        yield (
            f"Not compared: {numbers.count(number, 'crossing')} of each of {names}, at the ends of files, "
            f"where they look at crossings that are not in the file."
        )
    if result.catalogue.left_out:
        yield f"Warning: {result.catalogue.left_out_text}."
    yield f"{summary(result)}."
    if result.injected:
        yield f"{result.found} of {result.injected} flipped decisions were found."
