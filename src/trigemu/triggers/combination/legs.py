"""Select the events, and the objects in them, that may fill the legs of a combination.

Legs that differ only in their pT threshold need the leading objects among those that pass all other windows:
the k-th object must pass the k-th highest threshold, otherwise no choice exists. The leading pT are computed
once for all triggers that differ only in such thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, Window, Windows
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import objects_of
from trigemu.triggers.combination.pairs import COLUMNS


@dataclass(frozen=True)
class CompiledLeg:
    """A compiled leg."""

    objects: ObjectSelection
    windows: Windows
    crossing: int  # Relative to that of the event
    key: int  # Added to the row of an object: the sum identifies it, whatever its collection
    read: tuple[tuple[int, Column], ...]  # Columns that cuts read, each after its line in a table of objects

    @cached_property
    def floor(self) -> tuple[float, Windows]:
        """The pT threshold in GeV and all other windows; −inf and all windows if pT has any other limit."""
        lowest = dict(self.windows).get("pt")
        if not isinstance(lowest, Window) or lowest != Window(min=lowest.min, above=lowest.above):
            return -math.inf, self.windows
        return lowest.span()[0], tuple(item for item in self.windows if item[0] != "pt")


@dataclass(frozen=True)
class LegGroup:
    """Legs that differ only in their pT thresholds."""

    objects: ObjectSelection
    rest: Windows  # All other windows
    crossing: int
    floors: tuple[float, ...]  # The thresholds in GeV, descending


def groups_of(legs: Sequence[CompiledLeg]) -> tuple[LegGroup, ...]:
    floors: dict[tuple[ObjectSelection, Windows, int], list[float]] = {}
    for leg in legs:
        floor, rest = leg.floor
        floors.setdefault((leg.objects, rest, leg.crossing), []).append(floor)
    return tuple(LegGroup(*key, tuple(sorted(levels, reverse=True))) for key, levels in floors.items())


def fillable(work: Workspace, groups: Sequence[LegGroup]) -> BoolArray:
    """Return the events with objects for each leg, bool[n]; legs that differ only in their pT thresholds have
    different objects."""
    fired = np.ones(len(work.events), np.bool_)
    for group in groups:
        number = len(group.floors)
        if group.floors[0] == -math.inf:  # the objects need not have a pT
            events = np.flatnonzero(np.diff(work.within(group.objects, group.rest).offsets) >= number)
        else:
            key = "leading pT", group.objects, group.rest, number
            events, leading = work.once(key, _leading_pt, work, group.objects, group.rest, number)
            reached = leading[0] >= group.floors[0]
            for pt, floor in zip(leading[1:], group.floors[1:], strict=True):
                reached &= pt >= floor
            events = events[reached]
        events = events - group.crossing
        filled = np.zeros_like(fired)
        filled[events[(events >= 0) & (events < len(fired))]] = True
        fired &= filled
    return fired


def _leading_pt(
    work: Workspace, objects: ObjectSelection, windows: Windows, number: int
) -> tuple[IntArray, FloatArray]:
    """Return the s events with a number of objects within windows, and the leading pT, float64[number, s]."""
    within = work.within(objects, windows)
    events = np.flatnonzero(np.diff(within.offsets) >= number)
    leading = within.offsets[events] + np.arange(number)[:, np.newaxis]
    if within.rows is not None:
        leading = within.rows[leading]
    return events, work.column(objects, "pt")[leading].astype(np.float64)


def candidates(
    work: Workspace, legs: Sequence[CompiledLeg], events: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object of
    each event in a table; int64[m], the positions of the objects in the collection of the leg; and the table
    float64[1 + columns, m], which holds their keys and the `COLUMNS` that are read. Equal legs share objects.
    """
    starts = np.empty((len(legs), len(events) + 1), np.int64)
    chosen, total = dict[CompiledLeg, IntArray](), 0
    for leg in dict.fromkeys(legs):
        floor, rest = leg.floor
        within = work.within(leg.objects, rest)
        begin, rows = objects_of(within.offsets, events + leg.crossing)
        rows = rows if within.rows is None else within.rows[rows]
        if floor > -math.inf:
            hard = work.column(leg.objects, "pt")[rows] >= np.float64(floor)
            begin, rows = np.append(0, np.cumsum(hard))[begin], rows[hard]
        starts[[other == leg for other in legs]] = begin + total
        chosen[leg] = rows
        total += len(rows)
    objects, end = np.empty((1 + len(COLUMNS), total)), 0
    for leg, rows in chosen.items():
        part = objects[:, end : end + len(rows)]
        end += len(rows)
        np.add(work.rows(leg.objects)[rows], leg.key, out=part[0], casting="unsafe")
        for line, column in leg.read:
            part[line] = work.column(leg.objects, column)[rows]
    return starts, np.concatenate([*chosen.values()]), objects
