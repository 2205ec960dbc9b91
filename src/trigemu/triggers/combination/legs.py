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
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Window, Windows
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import objects_of


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
    """Legs that differ only in their pT thresholds. floors: the thresholds in GeV, descending."""

    objects: ObjectSelection
    rest: Windows
    crossing: int
    floors: tuple[float, ...]


def groups_of(legs: Sequence[CompiledLeg]) -> tuple[LegGroup, ...]:
    floors: dict[tuple[ObjectSelection, Windows, int], list[float]] = {}
    for leg in legs:
        floors.setdefault((leg.objects, leg.rest, leg.crossing), []).append(leg.floor)
    return tuple(LegGroup(*key, tuple(sorted(levels, reverse=True))) for key, levels in floors.items())


def nested(groups: Sequence[LegGroup]) -> bool:
    """Whether `fillable` implies that a choice exists: all legs with the same collection and crossing differ
    only in their pT thresholds."""
    return len({(group.objects.base, group.crossing) for group in groups}) == len(groups)


def fillable(work: Workspace, groups: Sequence[LegGroup]) -> BoolArray:
    """Return the events with objects for each leg, bool[n]; legs that differ only in their pT thresholds have
    different objects."""
    fired = np.ones(len(work.events), np.bool_)
    for group in groups:
        events, leading = _leading_pt(work, group)
        reached = leading[0] >= group.floors[0]
        for pt, floor in zip(leading[1:], group.floors[1:], strict=True):
            reached &= pt >= floor
        if group.crossing:
            events = events - group.crossing
            inside = (events >= 0) & (events < len(fired))
            events, reached = events[inside], reached[inside]
        filled = np.zeros_like(fired)
        filled[events] = reached
        fired &= filled
    return fired


def keys_of(legs: Sequence[CompiledLeg]) -> list[int]:
    """Return what is added to the row of an object, for each leg: the sum is another for another object,
    whatever its collection."""
    bases = [leg.objects.base for leg in legs]
    return [bases.index(base) << 40 for base in bases]


def candidates(
    work: Workspace, legs: Sequence[CompiledLeg], events: IntArray, columns: Sequence[str]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object of
    each event in a table; int64[m], the positions of the objects in the collection of the leg; and the table
    float64[1 + columns, m], which holds their keys (`keys_of`) and the columns that are read. Legs with the
    same requirements share a part of the table."""
    read: dict[CompiledLeg, set[str]] = {}
    for leg in legs:
        read.setdefault(replace(leg, columns=frozenset()), set()).update(leg.columns)
    keys = dict(zip((leg.objects.base for leg in legs), keys_of(legs), strict=True))
    starts = np.empty((len(legs), len(events) + 1), np.int64)
    chosen: list[IntArray] = []
    total = 0
    for leg in read:
        within = work.within(leg.objects, leg.rest)
        begin, rows = objects_of(within.offsets, events + leg.crossing)
        rows = rows if within.rows is None else within.rows[rows]
        if leg.floor > -math.inf:
            hard = work.column(leg.objects, "pt")[rows] >= np.float64(leg.floor)
            begin, rows = np.append(0, np.cumsum(hard))[begin], rows[hard]
        starts[[replace(other, columns=frozenset()) == leg for other in legs]] = begin + total
        chosen.append(rows)
        total += len(rows)
    table, end = np.empty((1 + len(columns), total)), 0
    for (leg, needed), rows in zip(read.items(), chosen, strict=True):
        part = table[:, end : end + len(rows)]
        end += len(rows)
        np.add(work.rows(leg.objects)[rows], keys[leg.objects.base], out=part[0], casting="unsafe")
        for line, column in enumerate(columns, start=1):
            if column in needed:
                part[line] = work.column(leg.objects, leg.column(column))[rows]
    return starts, np.concatenate(chosen), table


def _leading_pt(work: Workspace, group: LegGroup) -> tuple[IntArray, FloatArray]:
    """Return the events with enough objects within the other windows, int64[s], and the leading pT,
    float64[k, s]."""
    number = len(group.floors)

    def compute() -> tuple[IntArray, FloatArray]:
        within = work.within(group.objects, group.rest)
        events = np.flatnonzero(np.diff(within.offsets) >= number)
        leading = within.offsets[events] + np.arange(number)[:, np.newaxis]
        if within.rows is not None:
            leading = within.rows[leading]
        return events, _pt(work, group.objects, group.floors[0])[leading].astype(np.float64)

    return work.once(("leading pT", group.objects, group.rest, number), compute)


def _pt(work: Workspace, objects: ObjectSelection, floor: float) -> Array:
    """Return the pT of the objects; 0 if they have no pT and there is no threshold."""
    if floor > -math.inf or "pt" in work.events.collections[objects.base].columns:
        return work.column(objects, "pt")
    return np.zeros(work.objects(objects).offsets[-1], np.float32)
