"""The comparison of emulated with stored decisions, chunk by chunk; the numbers that stored bits have for
names."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.counting.decisions import raw_decisions
from trigemu.emulation.engine import Chunk
from trigemu.emulation.plan import Plan, decide
from trigemu.menus.menu import Menu, Trigger
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need

#: Accepted and rejected events of a trigger that establishes a distance, and the number of such triggers.
CLEAR, SHIFTED = 3, 3
#: Bits that are never set are missing if they are as many, and this share of the triggers that accept events
#: (but not all of them, which would be a file without decisions).
EMPTY, EMPTY_SHARE = 10, 0.1
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


def bits_in(stored: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the names of the stored decisions that all samples have and that are numbers, ascending."""
    common = set.intersection(*map(set, stored))
    return tuple(sorted((name for name in common if _NUMBER.fullmatch(name)), key=int))


def equal_columns(emulated: BoolArray, stored: BoolArray, left_out: BoolArray) -> BoolArray:
    """Return which columns of bool[n, t] and bool[n, b] are the same, bool[t, b]; left_out: bool[n, t]."""
    equal = np.zeros((emulated.shape[1], stored.shape[1]), np.bool_)
    patterns, pattern_of = np.unique(left_out, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        columns = np.flatnonzero(pattern_of.reshape(-1) == number)
        packed = np.packbits(np.hstack([emulated[:, columns], stored])[~pattern], axis=0).T
        known: dict[bytes, int] = {}
        content = np.array([known.setdefault(column.tobytes(), len(known)) for column in packed], np.int64)
        equal[columns] = content[: len(columns), None] == content[len(columns) :]
    return equal


def renumbered(
    own_names: Sequence[str], bits: Sequence[str], equal: BoolArray, accepted: IntArray, compared: IntArray
) -> dict[int, str]:
    """Return the bits that triggers, t, seem to have in a file that numbers its bits, b, otherwise."""
    column = {bit: number for number, bit in enumerate(bits)}
    numbers = [*map(int, bits)]
    shifts: dict[int, dict[int, str]] = {}
    for trigger, name in enumerate(own_names):
        if name in column and not equal[trigger, column[name]]:
            others = np.flatnonzero(equal[trigger]).tolist()
            shifts[trigger] = {numbers[other] - int(name): bits[other] for other in others}
    both = np.minimum(accepted, compared - accepted)
    votes = Counter(
        next(iter(shifts_of)) for t, shifts_of in shifts.items() if len(shifts_of) == 1 and both[t] >= CLEAR
    )
    established = [shift for shift, count in votes.most_common() if count >= SHIFTED]
    found: dict[int, int] = {}
    for trigger, shifts_of in shifts.items():
        if both[trigger] and (shift := next(filter(shifts_of.__contains__, established), None)) is not None:
            found[trigger] = shift
    around = sorted((int(own_names[trigger]), shift) for trigger, shift in found.items())
    for trigger, shifts_of in shifts.items():
        place = bisect(around, (int(own_names[trigger]), 0))
        beside = [shift for _, shift in around[max(place - 1, 0) : place + 1]]
        if not both[trigger] and len(beside) == 2 and beside[0] == beside[1] and beside[0] in shifts_of:
            found[trigger] = beside[0]
    return {trigger: shifts[trigger][shift] for trigger, shift in sorted(found.items())}


def lacking(
    only_emulated: IntArray,
    only_stored: IntArray,
    accepted: IntArray,
    words: Sequence[Iterable[Need]],
    filled: Mapping[Need, bool],
    elsewhere: Collection[int],
) -> dict[int, str]:
    """Return why differing triggers cannot be compared: their bits, or a word they read, are never set."""
    reasons = {}
    for trigger in np.flatnonzero((accepted == 0) & (only_stored > 0)).tolist():
        if word := next((word for word in words[trigger] if not filled[word]), None):
            reasons[trigger] = (
                f"its {'.'.join(filter(None, word))} is 0 in every event, but its stored decision is not: "
                f"the samples seem to lack it"
            )
    never_set = (only_emulated == accepted) & (accepted > 0) & (only_stored == 0)
    empty = [trigger for trigger in np.flatnonzero(never_set).tolist() if trigger not in elsewhere]
    accepting = int((accepted > 0).sum())
    if max(EMPTY, EMPTY_SHARE * accepting) <= len(empty) < accepting:
        reason = (
            f"its stored decision is never positive, like those of {len(empty)} of the {accepting} triggers "
            f"that accept events: the samples seem to lack them, as a vector made for one module does"
        )
        reasons |= dict.fromkeys(empty, reason)
    return reasons


@dataclass(frozen=True)
class Disagreement:
    """An event on which the emulated and the stored decision of a trigger differ."""

    sample: str  #: The name of the sample
    path: str  #: The file
    entry: int  #: The position of the event in the file
    emulated: bool  #: The emulated decision
    #: The event with the columns that the trigger needs, and the neighbouring crossings that it uses.
    events: Events = field(repr=False)


def read_difference(
    catalogue: Catalogue, needs: set[Need], margin: int, sample: int, source: int, entry: int, emulated: int
) -> Disagreement:
    """Read a differing event, with the columns that the trigger needs and η and φ of its objects."""
    measured = catalogue.samples[sample]
    columns_of = measured.schema.collections
    needs = needs | {(name, c) for name, _ in needs if name for c in columns_of[name] & {"eta", "phi"}}
    events = measured.read(source, entry, entry + 1, needs, margin)
    collections = {}
    for name, collection in events.collections.items():
        columns = {c: column for c, column in collection.columns.items() if (name, c) in needs}
        collections[name] = replace(collection, columns=columns)
    path = measured.sources[source].path
    return Disagreement(measured.name, path, entry, bool(emulated), replace(events, collections=collections))


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
        first = min(margin, self.entries) if self.neighbours == "line" else 0
        return first, max(first, self.entries - first)


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
    """Return the decisions for which a trigger uses crossings beyond the ends of a file: ascending positions,
    counted event by event and trigger by trigger."""
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
    """Numbers of differing decisions of t triggers."""

    only_emulated: IntArray  # int64[t]
    only_stored: IntArray  # int64[t]
    accepted: IntArray  # int64[t]: by the emulation, of the compared events
    equal: BoolArray  # bool[t, b]: which of the other bits agree on all of them
    filled: BoolArray  # bool[w]: which columns are not 0 in all events
    first: IntArray  # int64[k, 5]: the first that differ: trigger, sample, file, entry, emulated decision
    found: int  # The number of flipped decisions that were detected
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
    columns: tuple[Need, ...]

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
        words = [
            (events.collections[of].columns if of else events.scalars).get(name, True)
            for of, name in self.columns
        ]
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
            np.array([np.any(values) for values in words], np.bool_),
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
