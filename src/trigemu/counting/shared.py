"""Events that share an interaction, and their contribution to the errors of rates.

Crossings that were made from one generated interaction (their `parent`) fluctuate together. With x = w f of
each event, the variance of a rate is

    Σ_parent (Σ x)² = Σ x² + Σ_parent [(Σ x)² − Σ x²],

where the inner sums run over the events of one parent. The first term is that of independent events and
follows from Σ w². This module computes the second, to which only events contribute whose parent has further
events. A table therefore also lists these events (32 bytes each), for samples with parents, if they can be
accepted.

Events and parents are summed in the order of their numbers, so results do not depend on chunks or workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inlined, kernel

Parents = npt.NDArray[np.uint64]
#: Indices of columns, of which a table may contain billions.
Columns = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SharedEvents:
    """Events of a pattern table that may share their interactions."""

    entry: IntArray  # int64[k]: their rows in the table
    parent: Parents  # parent, id: uint64[k]: the numbers of their interactions, and of the events
    id: Parents
    weight: FloatArray  # float64[k]: in Hz

    def __len__(self) -> int:
        return len(self.entry)

    def take(self, rows: IntArray | BoolArray) -> SharedEvents:
        """Return the events in these `rows`, int64[m] or bool[k]."""
        return SharedEvents(self.entry[rows], self.parent[rows], self.id[rows], self.weight[rows])

    def moved(self, to: IntArray) -> SharedEvents:
        """Return the events after the rows of the table were renumbered by `to`, int64[rows]; events of rows
        that became −1 are dropped."""
        if not len(self):
            return self
        entry = to[self.entry]
        remains = entry >= 0
        moved = SharedEvents(entry, self.parent, self.id, self.weight)
        return moved if remains.all() else moved.take(remains)

    def related(self) -> SharedEvents:
        """Return the events that share their parent with another event, ordered by parent and id."""
        order = np.lexsort((self.entry, self.weight, self.id, self.parent))
        parent = self.parent[order]
        same = parent[1:] == parent[:-1]
        several = np.concatenate([same, [False]]) | np.concatenate([[False], same]) if len(self) else order
        return self.take(order[several])


def joined(parts: Sequence[SharedEvents], offsets: Sequence[int]) -> SharedEvents:
    """Return the events of several concatenated tables, whose rows begin at `offsets`."""
    return SharedEvents(
        np.concatenate([part.entry + offset for part, offset in zip(parts, offsets, strict=True)]),
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("parent", "id", "weight")),
    )


def none() -> SharedEvents:
    numbers = np.zeros(0, np.uint64)
    return SharedEvents(np.zeros(0, np.int64), numbers, numbers, np.zeros(0))


class Sparse(NamedTuple):
    """A sparse matrix: row r has the numbers `value` in the columns `column`, from starts[r] to
    starts[r + 1]."""

    starts: IntArray
    column: Columns
    value: FloatArray


class ByParent(NamedTuple):
    """The events of each parent, from starts[p] to starts[p + 1]: their entries, and weights in Hz."""

    starts: IntArray
    entry: IntArray
    weight: FloatArray


class ParentSums(NamedTuple):
    """The contribution of all parents to the variance, Σ (Σ x)² − Σ x², float64[columns]; the two sums over
    the events of one parent; and memory, int64[columns]."""

    total: FloatArray
    sums: FloatArray
    squares: FloatArray
    touched: IntArray


def no_parents(columns: int) -> ParentSums:
    total, sums, squares = np.zeros((3, columns))
    return ParentSums(total, sums, squares, np.empty(columns, np.int64))


class Covariance:
    """The contribution of shared interactions to the variance of Σ w f, for many columns of f of any sign.

    related: the events of a table with `rows` rows, in the order of `SharedEvents.related`.
    """

    def __init__(self, related: SharedEvents, rows: int, columns: int) -> None:
        self._events = related
        self._columns = columns
        self._used = np.zeros(rows, np.bool_)
        self._used[self._events.entry] = True
        self._parts: list[tuple[Columns, Columns, FloatArray]] = []

    def __bool__(self) -> bool:
        return bool(len(self._events))

    def used(self, rows: slice | IntArray) -> BoolArray:
        """Return whether each of some rows of the table has shared events, bool[m]."""
        used: BoolArray = self._used[rows]
        return used

    def add(self, rows: IntArray, fractions: FloatArray) -> None:
        """Add fractions float64[m, columns], already multiplied by the scales of the rows' samples."""
        row, column = np.nonzero(fractions)
        self.add_sparse(rows[row], column, fractions[row, column])

    def add_sparse(self, rows: IntArray, columns: IntArray, values: FloatArray) -> None:
        """Add fractions float64[k] at some rows and columns, int64[k] each."""
        if not columns.size:
            return
        self._parts.append((rows.astype(np.int32), columns.astype(np.int32), values))

    def result(self) -> FloatArray:
        """Return the contributions in Hz², float64[columns]; 0 without shared events."""
        if not self._events or not (self._parts or "fractions" in vars(self)):
            return np.zeros(self._columns)
        sums = no_parents(self._columns)
        _shared_squares(self.by_parent(), self.fractions, sums)
        return sums.total

    def by_parent(self) -> ByParent:
        parent = self._events.parent
        first = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
        return ByParent(np.append(first, len(parent)), self._events.entry, self._events.weight)

    @cached_property
    def fractions(self) -> Sparse:
        """The added fractions, by the rows of the table. Parts are released one by one: they may fill most of
        the memory."""
        none = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        row, column, value = (list(part) for part in zip(none, *self._parts, strict=True))
        self._parts = []
        rows = np.concatenate(row)
        row.clear()
        columns = np.concatenate(column)
        column.clear()
        values = np.concatenate(value)
        value.clear()
        if (np.diff(rows) < 0).any():
            order = np.argsort(rows, kind="stable")
            rows, columns, values = rows[order], columns[order], values[order]
        return Sparse(np.searchsorted(rows, np.arange(len(self._used) + 1)), columns, values)


@kernel
def _shared_squares(events: ByParent, fractions: Sparse, sums: ParentSums) -> None:
    """Add Σ over parents of (Σ x)² − Σ x² of each column to the total."""
    for parent in range(len(events.starts) - 1):
        n = 0
        for event in range(events.starts[parent], events.starts[parent + 1]):
            row = events.entry[event]
            for k in range(fractions.starts[row], fractions.starts[row + 1]):
                n = enter(fractions.column[k], events.weight[event] * fractions.value[k], sums, n)
        leave(sums, n)


@inlined
def enter(c: int, x: float, sums: ParentSums, n: int) -> int:
    """Add an event of a parent to the sums of a column. The first n of `touched` are the columns whose sums
    are not 0; return n."""
    if x * x == 0.0:
        return n
    if sums.squares[c] == 0.0:
        sums.touched[n] = c
        n += 1
    sums.sums[c] += x
    sums.squares[c] += x * x
    return n


@inlined
def leave(sums: ParentSums, n: int) -> None:
    """Add (Σ x)² − Σ x² of a parent to the total, and reset its sums for the next one."""
    for k in range(n):
        c = sums.touched[k]
        sums.total[c] += sums.sums[c] * sums.sums[c] - sums.squares[c]
        sums.sums[c] = 0.0
        sums.squares[c] = 0.0
