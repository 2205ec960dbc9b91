"""The comparison of emulated with stored decisions, chunk by chunk, and the decisions that are flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    Chunk,
    Events,
    IntArray,
    Menu,
    Plan,
    TrigemuError,
    Trigger,
    check_result,
    checked,
    decide,
    entries_with_neighbours,
    raw_decisions,
)

from .stored_bits import equal_columns

#: The number of differing events that are reported for each trigger.
SHOWN = 3
#: The seed of `inject`: every run flips the same decisions.
_SEED = 20161026


def stored_name(trigger: Trigger) -> str:
    """Return the name of the stored decisions of a trigger in samples."""
    return trigger.name if trigger.stored is None else trigger.stored


@dataclass(frozen=True)
class Range:
    """The entries of a file. before: the number of events in the files before it."""

    sample: int
    source: int
    before: int
    neighbours: Literal["none", "line", "orbit"]
    entries: int

    def comparable(self, margin: int) -> tuple[int, int]:
        """Return the range of its entries that have `margin` known crossings before and after them."""
        return entries_with_neighbours(self.neighbours, self.entries, margin)


def ranges_of(catalogue: Catalogue) -> tuple[Range, ...]:
    """Return the entries of all files."""
    ranges: list[Range] = []
    before = 0
    for sample in catalogue.samples:
        for number, file in enumerate(sample.sources):
            ranges.append(Range(sample.number, number, before, file.neighbours, file.entries))
            before += file.entries
    return tuple(ranges)


def positions_at_ends(ranges: Sequence[Range], margins: Sequence[int]) -> IntArray:
    """Return the decisions that cannot be compared, because a trigger uses crossings beyond the ends of a
    file: ascending positions, counted event by event and trigger by trigger. margins: of the triggers."""
    positions = []
    for range_ in ranges:
        for number, margin in enumerate(margins):
            first, end = range_.comparable(margin)
            rows = [*range(first), *range(end, range_.entries)]
            positions += [(range_.before + row) * len(margins) + number for row in rows]
    return np.sort(np.array(positions, np.int64))


def positions_to_flip(inject: int, decisions: int, left_out: IntArray) -> IntArray:
    """Choose the positions of decisions to flip among the compared decisions."""
    compared = decisions - len(left_out)
    if inject > compared:
        raise TrigemuError(f"{inject} decisions to flip: only {compared} decisions are checked")
    drawn = np.sort(np.random.default_rng(_SEED).choice(compared, inject, replace=False))
    # Add the number of decisions that are left out before each of the compared decisions.
    positions: IntArray = drawn + np.searchsorted(left_out - np.arange(len(left_out)), drawn, side="right")
    return positions


@dataclass(frozen=True)
class Tally:
    """Numbers of differing decisions of t triggers.

    only_emulated, only_stored, accepted: int64[t]; accepted: by the emulation, of the compared events.
    equal: bool[t, b], which of the other bits agree on all of them. filled: bool[w], which columns are not 0
    in all events. first: int64[k, 5], the first events that differ: the numbers of trigger, sample and file,
    the entry, and whether the emulated decision is positive. found: number of flipped decisions that were
    detected.
    """

    only_emulated: IntArray
    only_stored: IntArray
    accepted: IntArray
    equal: BoolArray
    filled: BoolArray
    first: IntArray
    found: int
    events: int


@dataclass(frozen=True)
class Count:
    """The task that compares the decisions of a chunk. flipped, left_out: int64[k], positions of decisions,
    ascending. before: by sample and file, the position of the event at entry 0, processed or not. bits: the
    names of b stored decisions that triggers may equal. columns: w columns of events."""

    menu: Menu
    triggers: tuple[Trigger, ...]
    flipped: IntArray
    left_out: IntArray
    before: Mapping[tuple[int, int], int]
    bits: tuple[str, ...]
    columns: tuple[str, ...]
    classes: ClassVar[tuple[type, ...]] = (Tally,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Tally:
        raw = raw_decisions(decide(events, plan)[events.core], self.menu, plan.bits[0])
        names = [stored_name(trigger) for trigger in self.triggers]
        read = chunk.file.read_stored(chunk.start, chunk.stop, [*dict.fromkeys((*names, *self.bits))])
        emulated = np.column_stack([raw[trigger.name] for trigger in self.triggers])
        stored = np.column_stack([read[name] for name in names])
        left_out = np.zeros(stored.shape, np.bool_)
        left_out[self._within(self.left_out, chunk)] = True
        bits = np.array([read[name] for name in self.bits], np.bool_).reshape(-1, len(stored)).T
        equal = equal_columns(emulated, bits, left_out)
        filled = [bool(events.scalars[name][events.core].any()) for name in self.columns]
        stored[left_out] = emulated[left_out]
        rows, columns = self._within(self.flipped, chunk)
        before = emulated[rows, columns] != stored[rows, columns]
        stored[rows, columns] ^= True
        differ = emulated != stored
        first = [
            [number, chunk.sample, chunk.source, chunk.start + row, emulated[row, number]]
            for number in np.flatnonzero(differ.any(axis=0))
            for row in np.flatnonzero(differ[:, number])[:SHOWN]
        ]
        return Tally(
            (differ & emulated).sum(axis=0),
            (differ & stored).sum(axis=0),
            (emulated & ~left_out).sum(axis=0),
            equal,
            np.array(filled, np.bool_),
            np.array(first, np.int64).reshape(-1, 5),
            int((differ[rows, columns] != before).sum()),
            len(stored),
        )

    def _within(self, positions: IntArray, chunk: Chunk) -> tuple[IntArray, IntArray]:
        """Return the rows and columns of the positions in a chunk."""
        width = len(self.triggers)
        start = (self.before[chunk.sample, chunk.source] + chunk.start) * width
        begin, end = np.searchsorted(positions, [start, start + chunk.size * width])
        return np.divmod(positions[begin:end] - start, width)

    def merge(self, parts: Sequence[Tally]) -> Tally:
        first = np.concatenate([part.first for part in parts])
        rows = [np.flatnonzero(first[:, 0] == number)[:SHOWN] for number in range(len(self.triggers))]
        return Tally(
            np.sum([part.only_emulated for part in parts], axis=0),
            np.sum([part.only_stored for part in parts], axis=0),
            np.sum([part.accepted for part in parts], axis=0),
            np.logical_and.reduce([part.equal for part in parts]),
            np.logical_or.reduce([part.filled for part in parts]),
            first[np.sort(np.concatenate(rows))],
            sum(part.found for part in parts),
            sum(part.events for part in parts),
        )


@check_result.register
def _(task: Count, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    events = sum(chunk.size for chunk in chunks)
    integers = np.dtype("i8")
    if not isinstance(part, Tally) or type(part.found) is not int or part.events != events:
        raise TrigemuError("it is not a tally of these events")
    for name in ("only_emulated", "only_stored", "accepted"):
        checked.check_array(name, getattr(part, name), integers, len(task.triggers))
        checked.check_within(name, getattr(part, name), events + 1)
    checked.check_array("equal", part.equal, np.dtype(bool), len(task.triggers), len(task.bits))
    checked.check_array("filled", part.filled, np.dtype(bool), len(task.columns))
    checked.check_array("first", part.first, integers, None, 5)
    checked.check_within("the trigger", part.first[:, 0], len(task.triggers))
    if not {(chunk.sample, chunk.source) for chunk in chunks} >= {*map(tuple, part.first[:, 1:3].tolist())}:
        raise TrigemuError("it has an event of another file")
    checked.check_within("the entry", part.first[:, 3], max(chunk.stop for chunk in chunks))
