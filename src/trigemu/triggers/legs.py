"""Which events, and which of their objects, may fill the legs of a combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.events import Array, BoolArray, FloatArray, IntArray
from trigemu.kernels import kernel
from trigemu.objects import Derivation, Window
from trigemu.workspace import Workspace

#: Alternatives, each the windows of a leg.
Windows = tuple[tuple[tuple[str, Window], ...], ...]


@dataclass(frozen=True)
class CompiledLeg:
    """columns: what pairs read of its objects."""

    objects: Derivation
    windows: tuple[tuple[str, Window], ...]
    columns: frozenset[str]


def fillable(work: Workspace, legs: Sequence[CompiledLeg]) -> IntArray:
    """int64[s]: the events with as many objects in the windows of each leg as there are such legs, and as
    many for all legs of a collection together."""
    by_objects: dict[Derivation, list[Windows]] = {}
    for leg in legs:
        by_objects.setdefault(leg.objects, []).append((leg.windows,))
    events = _enough(work, tuple((objects, len(of)) for objects, of in by_objects.items()))
    for objects, of in by_objects.items():
        offsets = work.objects(objects).offsets
        for windows, needed in (*Counter(of).items(), *_together(of)):
            events = _reaching(events, offsets, _passing(work, objects, windows), needed)
    return events


def candidates(
    work: Workspace, legs: Sequence[CompiledLeg], events: IntArray, columns: Sequence[str]
) -> tuple[IntArray, FloatArray]:
    """The objects that may fill the legs in some events: starts int64[legs, s + 1], where those of each
    event begin in a table float64[1 + columns, m] of their rows and of the columns that they are asked
    for. Legs that ask for the same objects share a part of it."""
    read: dict[tuple[Derivation, tuple[tuple[str, Window], ...]], set[str]] = {}
    for leg in legs:
        read.setdefault((leg.objects, leg.windows), set()).update(leg.columns)
    starts = np.empty((len(legs), len(events) + 1), np.int64)
    parts: list[FloatArray] = []
    total = 0
    for (objects, windows), asked in read.items():
        begin, rows = _candidates(events, work.objects(objects).offsets, work.passing(objects, windows))
        starts[[(leg.objects, leg.windows) == (objects, windows) for leg in legs]] = begin + total
        total += len(rows)
        parts.append(np.empty((1 + len(columns), len(rows))))
        _fill(parts[-1][0], work.rows(objects), rows)
        for line, column in enumerate(columns, start=1):
            if column in asked:
                _fill(parts[-1][line], work.column(objects, column), rows)
    return starts, parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _together(legs: list[Windows]) -> Iterator[tuple[Windows, int]]:
    """Legs of one collection need, together, as many objects as they are."""
    if len(set(legs)) > 1:
        yield tuple(windows for (windows,) in dict.fromkeys(legs)), len(legs)


def _enough(work: Workspace, numbers: tuple[tuple[Derivation, int], ...]) -> IntArray:
    """The events with so many objects, whatever cuts; what is rare is asked for first."""

    def enough() -> IntArray:
        of = sorted(((work.objects(objects).offsets, number) for objects, number in numbers), key=_size)
        events = _with(*of[0])
        for offsets, number in of[1:]:
            events = _with_too(events, offsets, number)
        return events

    return work.once(("enough", numbers), enough)


def _size(of: tuple[IntArray, int]) -> int:
    return int(of[0][-1])


def _passing(work: Workspace, objects: Derivation, alternatives: Windows) -> BoolArray:
    """bool[m]: which objects lie in all windows of one of the alternatives."""
    passing = work.passing(objects, alternatives[0])
    for windows in alternatives[1:]:
        passing = passing | work.passing(objects, windows)
    return passing


@kernel
def _with(offsets: IntArray, number: int) -> IntArray:
    events = np.empty(len(offsets), np.int64)
    count = 0
    for event in range(len(offsets) - 1):
        events[count] = event
        count += offsets[event + 1] - offsets[event] >= number
    return events[:count].copy()


@kernel
def _with_too(events: IntArray, offsets: IntArray, number: int) -> IntArray:
    chosen = np.empty(len(events) + 1, np.int64)
    count = 0
    for event in events:
        chosen[count] = event
        count += offsets[event + 1] - offsets[event] >= number
    return chosen[:count].copy()


@kernel
def _reaching(events: IntArray, offsets: IntArray, passing: BoolArray, needed: int) -> IntArray:
    """Of some events those of whose objects so many pass."""
    chosen = np.empty(len(events) + 1, np.int64)
    count = 0
    for event in events:
        number = 0
        for i in range(offsets[event], offsets[event + 1]):
            number += passing[i]
        chosen[count] = event
        count += number >= needed
    return chosen[:count].copy()


@kernel
def _candidates(events: IntArray, offsets: IntArray, passing: BoolArray) -> tuple[IntArray, IntArray]:
    """Where the passing objects of each of some events start, int64[s + 1], and which they are."""
    most = 0
    for event in events:
        most += offsets[event + 1] - offsets[event]
    starts = np.empty(len(events) + 1, np.int64)
    chosen = np.empty(most + 1, np.int64)
    count = 0
    starts[0] = 0
    for s in range(len(events)):
        for i in range(offsets[events[s]], offsets[events[s] + 1]):
            chosen[count] = i
            count += passing[i]
        starts[s + 1] = count
    return starts, chosen[:count].copy()


@kernel
def _fill(line: FloatArray, column: Array, rows: IntArray) -> None:
    for i in range(len(rows)):
        line[i] = column[rows[i]]
