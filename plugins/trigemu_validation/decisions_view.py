"""A check of decisions against recorded ones: what `trigemu check-decisions` shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import few_of
from trigemu.results import numbers
from trigemu.results.samples import left_out
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import View, name
from trigemu.samples.events import Events

from .decisions import Checked, DecisionCheck

#: Columns of an object that are printed first, in this order.
_FIRST = ("pt", "eta", "phi")
#: Most triggers that are named in a line.
_NAMED = 10
_COUNTS = (
    Column("agree", "count", "agree", "Crossings on which both decisions agree."),
    Column("only_emulated", "count", "only emulated", "Crossings that only the emulation accepts."),
    Column("only_stored", "count", "only stored", "Crossings that only the recorded decision accepts."),
)
_COLUMNS = (
    Column("name", "key", "trigger", "The name of the trigger."),
    *_COUNTS,
    Column("skipped", "note", None, "Why it was not compared; null if it was."),
    Column("not_compared", "count", None, "Crossings at the ends of files that were not compared."),
    Column("equals", "key", "other bit", "The other stored bit that it equals; null if there is none."),
)


class DecisionCheckView(View[DecisionCheck]):
    def line(self, result: DecisionCheck) -> str:
        return f"of {name(result.menu.name)}: {summary(result)}"

    def page(self, result: DecisionCheck) -> Page:
        table = Table((*_COLUMNS[:4], *(_COLUMNS[-1:] if result.elsewhere else ())))
        for trigger in result.differing:
            table.add_record(trigger, "wrong")
        shown: list[Table | str] = [table] if result.differing else []
        for trigger in result.differing:
            shown += () if trigger.equals else _differences(trigger)
        return Page([*shown, *([""] if result.differing else []), *_notes(result)])

    def table(self, result: DecisionCheck) -> Table:
        return Table.of(_COLUMNS, result.triggers)

    def document(self, result: DecisionCheck) -> dict[str, Any]:
        triggers = records(self.table(result))
        left = {"left_out": left_out(result.catalogue)}
        return {"crossings": result.crossings, "triggers": triggers} | left


def summary(result: DecisionCheck) -> str:
    """Return how many triggers were compared, agree, differ, and were skipped."""
    compared, differ = len(result.compared), len(result.differing)
    whole = f"{numbers.count(len(result.triggers), 'trigger')}, {numbers.count(result.crossings, 'crossing')}"
    skipped = len(result.skipped)
    return f"{whole}: {compared} compared, {compared - differ} agree, {differ} differ, {skipped} skipped"


def _differences(trigger: Checked) -> Iterator[str]:
    for difference in trigger.first:
        events = difference.events
        rows = range(len(events))
        (index,) = rows[events.core]
        only = "emulated" if difference.emulated else "stored"
        where = f"{Path(difference.path).name}, entry {difference.entry}"
        yield ""
        yield f"{trigger.name}, only {only}: event {events.id[index]} ({where})"
        for row in rows:
            crossing = f"crossing {row - index:+d}, " if row != index else ""
            yield from (f"    {crossing}{line}" for line in _looked_at(events, row))


def _looked_at(events: Events, row: int) -> Iterator[str]:
    """Yield a line for each object of an event, and for each of its numbers."""
    for key, collection in events.collections.items():
        columns = sorted(collection.columns, key=lambda column: (*_FIRST, column).index(column))
        start, stop = collection.offsets[row : row + 2]
        for i in range(start, stop):
            values = ", ".join(f"{column} {_number(collection.columns[column][i])}" for column in columns)
            yield f"{key}[{i - start}]: {values}"
        if start == stop:
            yield f"no {key}"
    for key, column in events.scalars.items():
        yield f"{key}: {_number(column[row])}"


def _number(value: Array | np.generic) -> str:
    """Format a number; words of bits are in hexadecimal."""
    if isinstance(value, np.int64) and not 0 <= value < 2**31:
        return f"{int(value) % 2**64:#x}"
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def doubts(result: DecisionCheck) -> Iterator[str]:
    """Yield a line on differing triggers that look at neighbouring crossings, if there are any."""
    doubted = [t.name for t in result.differing if t.margin and t.equals is None]
    if doubted:
        yield (
            f"{', '.join(doubted)}: differences of triggers that look at neighbouring crossings mean nothing "
            f"if the events are not consecutive crossings; if so, check with --not-consecutive."
        )


def other_bits(result: DecisionCheck) -> Iterator[str]:
    """Yield a line for each distance between the bits of triggers and the stored bits that they equal."""
    shifts: dict[int, list[Checked]] = {}
    for trigger in result.elsewhere:
        shifts.setdefault(int(trigger.equals or 0) - int(trigger.stored), []).append(trigger)
    for shift, triggers in sorted(shifts.items(), key=lambda item: -len(item[1])):
        named = [f"{trigger.name} ({trigger.stored}: {trigger.equals})" for trigger in triggers]
        count, bits_of = numbers.count(len(triggers), "trigger"), f"their own {shift:+d}"
        names = few_of(named, _NAMED)
        if result.match_bits:
            yield f"Compared with another stored bit, {bits_of}: {count}: {names}."
        else:
            yield f"On all crossings, {count} have the decisions of another stored bit, {bits_of}: {names}."
    if shifts and not result.match_bits:
        yield (
            "The samples seem to number their bits otherwise, or to be of another version of the menu; "
            "--match-bits compares with these bits."
        )


def _notes(result: DecisionCheck) -> Iterator[str]:
    yield from doubts(result)
    yield from other_bits(result)
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
