"""The events of a page: their scores as numbers of thresholds, in an order that compresses well.

Events that share no interaction with an event of another row are merged into cells. The other events are
ordered by their parents.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from trigemu.api import (
    BitKind,
    BoolArray,
    FloatArray,
    IntArray,
    Menu,
    ScoreTable,
    ThresholdRange,
    Trigger,
    distinct_entries,
)

from .columns import Columns
from .expressions import ALWAYS, Reach, as_json, decision_of, reach_of

#: Fewer events than this need less space individually than merged.
CELL_EVENTS = 8
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Rows:
    """Events of a page. scores: uint8[n, s], the number of steps of each score below the event. bits:
    bool[n, b], the fixed decisions. group: int64[n], equal for events that share an interaction. weight:
    float64[n], in Hz. factor: uint8[n], the number of the factor on the contribution of fitted triggers."""

    scores: Bytes
    bits: BoolArray
    group: IntArray
    weight: FloatArray
    factor: Bytes

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, rows: IntArray | BoolArray) -> Rows:
        return Rows(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Cells:
    """Sums over events with equal rows, none of which shares an interaction with events of other rows.
    scores: uint8[m, s]. bits: bool[m, b]. factor: uint8[m]. events: int64[m]. weight, square, largest:
    float64[m], Σw, the sum of (Σw)² over interactions, and the largest |w|, in Hz."""

    scores: Bytes
    bits: BoolArray
    factor: Bytes
    events: IntArray
    weight: FloatArray
    square: FloatArray
    largest: FloatArray


def rows_of(table: ScoreTable, columns: Columns, with_parents: Container[int]) -> Rows:
    """Return the events of a score table. with_parents: the samples whose events may share interactions."""
    n = len(table)
    scores = np.empty((n, len(columns.scores)), np.uint8, order="F")
    for number, column in enumerate(columns.scores):
        scores[:, number] = np.searchsorted(column.steps, table.scores[:, column.stored])
    bits = np.zeros((n, len(columns.bits)), np.bool_, order="F")
    for number, (_, bit) in enumerate(columns.bits):
        if bit >= 0:
            bits[:, number] = (table.words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) != 0
    samples = np.unique(table.sample)
    shared = np.isin(table.sample, [number for number in samples.tolist() if number in with_parents])
    parents, group = np.unique(table.parent[shared], return_inverse=True)
    groups = np.empty(n, np.int64)
    groups[shared] = group
    groups[~shared] = len(parents) + np.arange(n - len(group))
    return Rows(scores, bits, groups, table.weight, np.zeros(n, np.uint8))


def without_idle(rows: Rows, menus: Sequence[Menu], columns: Columns) -> tuple[Rows, BoolArray]:
    """Return the rows, with scores and decisions set to 0 where no trigger can depend on them, because its
    seed rejects the event at all thresholds of the page; and whether each event may pass any trigger."""
    reads = np.zeros_like(rows.scores, np.bool_), np.zeros_like(rows.bits)
    fires = np.zeros(len(rows), np.bool_)
    for menu, of in zip(menus, columns.of, strict=True):
        reach: dict[str, Reach] = {}
        for name in menu.order:
            trigger, entry = menu.trigger(name), of.get(name)
            accepted, rejected = _own_reach(rows, columns, trigger, entry, reach)
            requested = _passes_seed(trigger, reach)
            reach[name] = accepted & requested, rejected | bool(trigger.seed)
            fires |= reach[name][0]
            if entry:
                number, limits = entry
                reads[0 if limits else 1][:, number] |= requested
    rows = replace(rows, scores=np.where(reads[0], rows.scores, np.uint8(0)), bits=rows.bits & reads[1])
    return rows, fires


def _own_reach(
    rows: Rows,
    columns: Columns,
    trigger: Trigger,
    entry: tuple[int, ThresholdRange | None] | None,
    reach: Mapping[str, Reach],
) -> Reach:
    """Return the reach of a trigger without its seed. place: its entry in `columns`."""
    if entry is None:
        assert isinstance(trigger.description, BitKind)
        decision = decision_of(trigger, trigger.description)
        return reach_of(decision["logic"], reach) if "logic" in decision else (ALWAYS, ~ALWAYS)
    number, limits = entry
    if limits is None:
        return rows.bits[:, number], ~rows.bits[:, number]
    first, last = columns.scores[number].within(limits)
    return rows.scores[:, number] > first, rows.scores[:, number] <= last


def _passes_seed(trigger: Trigger, reach: Mapping[str, Reach]) -> BoolArray:
    """Return whether the seed of a trigger may accept each event. Any trigger in it may reject an event,
    since users can change prescales."""
    if not trigger.seed:
        return ALWAYS
    seeds = {name: (reach[name][0], ALWAYS) for name in trigger.seed.names()}
    return reach_of(as_json(trigger.seed), seeds)[0]


def ordered(rows: Rows, with_cells: bool) -> tuple[Rows, BoolArray, Cells, IntArray]:
    """Return the events ordered by parent, whether each begins a new parent, the cells, and the previous
    position of each event. Parents are ordered by their number of events and the row of their first event."""
    rank = _rank(rows)
    order = np.lexsort((rows.weight, rank, rows.group))
    rank, group = rank[order], rows.group[order]
    begins = np.diff(group, prepend=-1) != 0
    first = np.flatnonzero(begins)
    parent = np.cumsum(begins) - 1
    size = np.diff(np.append(first, len(order)))
    last = first + size - 1
    equal = (rank[first] == rank[last])[parent]  # rows are in order within a parent
    often = np.bincount(rank[equal], minlength=len(order) + 1) >= CELL_EVENTS
    summed = equal & often[rank] & with_cells
    cells = _cells(rows, order[summed], rank[summed], begins[summed])
    weight = rows.weight[order]
    by = np.lexsort((weight[first], rank[first], size))
    position = np.empty(len(first), np.int64)
    position[by] = np.arange(len(first))
    remaining = np.flatnonzero(~summed)
    remaining = remaining[np.argsort(position[parent[remaining]], kind="stable")]
    return rows.take(order[remaining]), begins[remaining], cells, order[remaining]


def _rank(rows: Rows) -> IntArray:
    """Return the rank of each event's row among the distinct rows, ordered by scores; the scores that are
    most often above a threshold are compared first."""
    parts = np.column_stack([rows.scores, np.packbits(rows.bits, axis=1), rows.factor])
    padded = np.zeros((len(rows), max(8, -(-parts.shape[1] // 8) * 8)), np.uint8)
    padded[:, : parts.shape[1]] = parts
    entry, first = distinct_entries(padded.view(np.uint64))
    distinct = parts[first]
    by = np.argsort(np.count_nonzero(parts, axis=0), kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort(distinct[:, by].T) if len(by) else np.arange(len(first))] = np.arange(len(first))
    return rank[entry]


def _cells(rows: Rows, order: IntArray, rank: IntArray, begins: BoolArray) -> Cells:
    """Return the sums over events of equal rank; the events are in the order of their parents."""
    _, first, cell = np.unique(rank, return_index=True, return_inverse=True)
    starts = np.flatnonzero(begins)
    weight, m = rows.weight[order], len(first)
    together = np.add.reduceat(weight, starts) if len(starts) else weight
    largest = np.zeros(m)
    np.maximum.at(largest, cell, np.abs(weight))
    return Cells(
        rows.scores[order[first]],
        rows.bits[order[first]],
        rows.factor[order[first]],
        np.bincount(cell, minlength=m),
        np.bincount(cell, weight, m).astype(np.float64),
        np.bincount(cell[starts], together**2, m).astype(np.float64),
        largest,
    )
