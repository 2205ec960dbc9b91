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
from trigemu.observables.windows import Column, Window, Windows
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


@dataclass(frozen=True)
class LegTable:
    """The objects that may fill legs with the same requirements. read: the lines of a table of objects after
    their keys, with their columns."""

    leg: CompiledLeg
    numbers: tuple[int, ...]  # Of the legs
    key: int  # Added to the row of an object: the sum is another for another object, whatever its collection
    read: tuple[tuple[int, Column], ...]


def tables_of(legs: Sequence[CompiledLeg], columns: Sequence[str]) -> tuple[LegTable, ...]:
    """Return the tables of objects for some legs. columns: those that cuts read, in the order of lines."""
    alike: dict[CompiledLeg, list[int]] = {}
    for number, leg in enumerate(legs):
        alike.setdefault(replace(leg, columns=frozenset()), []).append(number)
    tables = []
    for leg, numbers in alike.items():
        needed = {name for number in numbers for name in legs[number].columns}
        read = ((line, leg.column(name)) for line, name in enumerate(columns, 1) if name in needed)
        tables.append(LegTable(leg, tuple(numbers), key_of(leg, legs), tuple(read)))
    return tuple(tables)


def key_of(leg: CompiledLeg, legs: Sequence[CompiledLeg]) -> int:
    """Return what is added to the row of an object of a leg."""
    return [other.objects.base for other in legs].index(leg.objects.base) << 40


def candidates(
    work: Workspace, tables: Sequence[LegTable], events: IntArray, lines: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object of
    each event in a table; int64[m], the positions of the objects in the collection of the leg; and the table
    float64[lines, m], which holds their keys and the columns that are read."""
    starts = np.empty((sum(len(table.numbers) for table in tables), len(events) + 1), np.int64)
    chosen: list[IntArray] = []
    total = 0
    for table in tables:
        leg = table.leg
        within = work.within(leg.objects, leg.rest)
        begin, rows = objects_of(within.offsets, events + leg.crossing)
        rows = rows if within.rows is None else within.rows[rows]
        if leg.floor > -math.inf:
            hard = work.column(leg.objects, "pt")[rows] >= np.float64(leg.floor)
            begin, rows = np.append(0, np.cumsum(hard))[begin], rows[hard]
        starts[list(table.numbers)] = begin + total
        chosen.append(rows)
        total += len(rows)
    objects, end = np.empty((lines, total)), 0
    for table, rows in zip(tables, chosen, strict=True):
        part = objects[:, end : end + len(rows)]
        end += len(rows)
        np.add(work.rows(table.leg.objects)[rows], table.key, out=part[0], casting="unsafe")
        for line, column in table.read:
            part[line] = work.column(table.leg.objects, column)[rows]
    return starts, np.concatenate(chosen), objects


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
