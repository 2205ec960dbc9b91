"""Select the events, and the objects in them, that may fill the legs of a combination.

Legs that differ only in their pT threshold need the leading objects among those that pass all other windows:
the k-th object must pass the k-th highest threshold, otherwise no choice exists. The leading pT are computed
once for all triggers that differ only in such thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Window, Windows
from trigemu.observables.workspace import Workspace


@dataclass(frozen=True)
class CompiledLeg:
    """A compiled leg. crossing: relative to that of the event. columns: read by cuts on several legs, as
    hardware integers if `integer`. named: the names of those that the sample calls otherwise."""

    objects: ObjectSelection
    windows: Windows
    columns: frozenset[str] = frozenset()
    crossing: int = 0
    integer: bool = False
    named: tuple[tuple[str, str], ...] = ()

    @cached_property
    def floor(self) -> float:
        """The pT threshold in GeV, if there is no other window on pT; else −inf."""
        lowest = dict(self.windows).get("pt")
        if not isinstance(lowest, Window) or lowest != Window(min=lowest.min, above=lowest.above):
            return -math.inf
        return lowest.span()[0]

    @cached_property
    def rest(self) -> Windows:
        """All windows except the pT threshold of `floor`."""
        return (
            tuple(item for item in self.windows if item[0] != "pt")
            if self.floor > -math.inf
            else self.windows
        )

    def column(self, name: str) -> str:
        """Return the column in which cuts on several legs read a quantity, one of `pairs.COLUMNS`."""
        if self.integer and name in ("pt", "eta", "phi", "upt"):
            return f"hw_{name}"
        return dict(self.named).get(name, name)


@dataclass(frozen=True)
class LegGroup:
    """Legs that differ only in their pT thresholds. floors: the thresholds in GeV, descending. least: the
    number of legs that need objects of this selection and crossing."""

    objects: ObjectSelection
    rest: Windows
    crossing: int
    floors: tuple[float, ...]
    least: int


def groups_of(legs: Sequence[CompiledLeg]) -> tuple[LegGroup, ...]:
    floors: dict[tuple[ObjectSelection, Windows, int], list[float]] = {}
    for leg in legs:
        floors.setdefault((leg.objects, leg.rest, leg.crossing), []).append(leg.floor)

    def group(objects: ObjectSelection, rest: Windows, crossing: int, floors: list[float]) -> LegGroup:
        least = sum((leg.objects, leg.crossing) == (objects, crossing) for leg in legs)
        return LegGroup(objects, rest, crossing, tuple(sorted(floors, reverse=True)), least)

    return tuple(group(*key, levels) for key, levels in floors.items())


def nested(groups: Sequence[LegGroup]) -> bool:
    """Whether `fillable` implies that a choice exists: all legs with the same collection and crossing differ
    only in their pT thresholds."""
    return len({(group.objects.base, group.crossing) for group in groups}) == len(groups)


def fillable(work: Workspace, groups: Sequence[LegGroup]) -> BoolArray:
    """Return the events with objects for each leg, bool[n]; legs that differ only in their pT thresholds have
    different objects."""
    groups = sorted(groups, key=lambda group: int(work.objects(group.objects).offsets[-1]))
    rarest, *others = groups
    events, leading = _leading_pt(work, rarest)
    fired = np.zeros(len(work.events), np.bool_)
    _reach(events, leading, np.array(rarest.floors), rarest.crossing, fired)
    for group in others:
        _narrow(
            fired,
            np.flatnonzero(fired),
            work.objects(group.objects).offsets,
            work.passing(group.objects, group.rest),
            _pt(work, group.objects, group.floors[0]),
            np.array(group.floors),
            group.crossing,
            group.least,
        )
    return fired


def candidates(
    work: Workspace, legs: Sequence[CompiledLeg], events: IntArray, columns: Sequence[str]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object of
    each event in a table; int64[m], the positions of the objects in the collection of the leg; and the table
    float64[1 + columns, m], which holds their rows in the sample and the columns that are read. Legs with the
    same requirements share a part of the table."""
    read: dict[CompiledLeg, set[str]] = {}
    for leg in legs:
        read.setdefault(replace(leg, columns=frozenset()), set()).update(leg.columns)
    starts = np.empty((len(legs), len(events) + 1), np.int64)
    chosen: list[IntArray] = []
    total = 0
    for leg in read:
        selection = leg.objects
        passing, pt = work.passing(selection, leg.rest), _pt(work, selection, leg.floor)
        begin, rows = _candidates(
            events, leg.crossing, work.objects(selection).offsets, passing, pt, leg.floor
        )
        starts[[replace(other, columns=frozenset()) == leg for other in legs]] = begin + total
        chosen.append(rows)
        total += len(rows)
    table = np.empty((1 + len(columns), total))
    end = 0
    for (leg, needed), rows in zip(read.items(), chosen, strict=True):
        part = table[:, end : end + len(rows)]
        end += len(rows)
        _fill(part[0], work.rows(leg.objects), rows)
        for line, column in enumerate(columns, start=1):
            if column in needed:
                _fill(part[line], work.column(leg.objects, leg.column(column)), rows)
    return starts, np.concatenate(chosen), table


def _leading_pt(work: Workspace, group: LegGroup) -> tuple[IntArray, Array]:
    """Return the events with enough objects within the other windows, int64[s], and the leading pT, [k,
    s]."""
    number = len(group.floors)

    def compute() -> tuple[IntArray, Array]:
        offsets, pt = work.objects(group.objects).offsets, _pt(work, group.objects, group.floors[0])
        events = work.once(("enough", group.objects, group.least), lambda: _with(offsets, group.least))
        if not group.rest:
            return events, _first(events, offsets, pt, number)
        return _leading(events, offsets, work.passing(group.objects, group.rest), pt, number)

    return work.once(("leading pT", group.objects, group.rest, number, group.least), compute)


def _pt(work: Workspace, objects: ObjectSelection, floor: float) -> Array:
    """Return the pT of the objects; 0 if they have no pT and there is no threshold."""
    if floor > -math.inf or "pt" in work.events.collections[objects.base].columns:
        return work.column(objects, "pt")
    return np.zeros(work.objects(objects).offsets[-1], np.float32)


@kernel
def _with(offsets: IntArray, number: int) -> IntArray:
    """Return the events with at least `number` objects."""
    events = np.empty(len(offsets), np.int64)
    count = 0
    for event in range(len(offsets) - 1):
        events[count] = event
        count += offsets[event + 1] - offsets[event] >= number
    return events[:count].copy()


@kernel
def _first(events: IntArray, offsets: IntArray, pt: Array, number: int) -> Array:
    first = np.empty((number, len(events)), pt.dtype)
    for k in range(number):
        for s in range(len(events)):
            first[k, s] = pt[offsets[events[s]] + k]
    return first


@kernel
def _leading(
    events: IntArray, offsets: IntArray, passing: BoolArray, pt: Array, number: int
) -> tuple[IntArray, Array]:
    """Return the events with at least `number` passing objects, and the leading pT in these events."""
    chosen = np.empty(len(events) + 1, np.int64)
    leading = np.empty((number, len(events) + 1), pt.dtype)
    count = 0
    for event in events:
        n_found = 0
        for i in range(offsets[event], offsets[event + 1]):
            if passing[i]:
                leading[n_found, count] = pt[i]
                n_found += 1
                if n_found == number:
                    break
        chosen[count] = event
        count += n_found == number
    return chosen[:count].copy(), leading[:, :count].copy()


@kernel
def _reach(events: IntArray, leading: Array, floors: FloatArray, crossing: int, fired: BoolArray) -> None:
    """Set `fired` for events whose leading objects, in this relative crossing, reach the thresholds."""
    for s in range(len(events)):
        event = events[s] - crossing
        if 0 <= event < len(fired):
            reached = True
            for k in range(len(floors)):
                reached &= np.float64(leading[k, s]) >= floors[k]
            fired[event] = reached


@kernel
def _narrow(
    fired: BoolArray,
    events: IntArray,
    offsets: IntArray,
    passing: BoolArray,
    pt: Array,
    floors: FloatArray,
    crossing: int,
    least: int,
) -> None:
    """Unset `fired` for events whose leading objects do not reach the thresholds."""
    for event in events:
        row = event + crossing
        n_found = 0
        if 0 <= row < len(fired) and offsets[row + 1] - offsets[row] >= least:
            for i in range(offsets[row], offsets[row + 1]):
                if passing[i]:
                    if np.float64(pt[i]) < floors[n_found]:
                        break
                    n_found += 1
                    if n_found == len(floors):
                        break
        fired[event] = n_found == len(floors)


@kernel
def _candidates(
    events: IntArray, crossing: int, offsets: IntArray, passing: BoolArray, pt: Array, floor: float
) -> tuple[IntArray, IntArray]:
    """Return the offsets int64[s + 1] of the passing objects of some events, and these objects."""
    most = 0
    for event in events:
        most += offsets[event + crossing + 1] - offsets[event + crossing]
    starts = np.empty(len(events) + 1, np.int64)
    chosen = np.empty(most + 1, np.int64)
    count = 0
    starts[0] = 0
    for s in range(len(events)):
        row = events[s] + crossing
        for i in range(offsets[row], offsets[row + 1]):
            chosen[count] = i
            count += passing[i] & (np.float64(pt[i]) >= floor)
        starts[s + 1] = count
    return starts, chosen[:count].copy()


@kernel
def _fill(line: FloatArray, column: Array, rows: IntArray) -> None:
    for i in range(len(rows)):
        line[i] = column[rows[i]]
