"""Events that share an interaction, and what that adds to the errors of rates.

Crossings that were made from one generated interaction (their `parent`) fluctuate together. With x = w f of
each event, the variance of a rate is

    Σ_parent (Σ x)² = Σ x² + Σ_parent [(Σ x)² − Σ x²],

the inner sums over the events of one parent. The first term is that of independent events and follows from Σ
w²; this module has the second, which only events with the same parent as another one enter. So a table keeps
these events (32 bytes each) beside its patterns, those of samples that name parents, as far as they can be
accepted.

Sums over the events of a parent are in the order of their numbers and parents in that of theirs, so that no
result depends on chunks or workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.support import BoolArray, FloatArray, IntArray, kernel

Parents = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SharedEvents:
    """k events. entry: int64[k], their rows in the pattern table. parent, id: uint64[k]. weight: float64[k],
    Hz."""

    entry: IntArray
    parent: Parents
    id: Parents
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.entry)

    def take(self, rows: IntArray | BoolArray) -> SharedEvents:
        return SharedEvents(self.entry[rows], self.parent[rows], self.id[rows], self.weight[rows])

    def moved(self, to: IntArray) -> SharedEvents:
        """The events with entries int64[rows] in place of the table's rows; without those that go to −1."""
        if not len(self):
            return self
        entry = to[self.entry]
        kept = entry >= 0
        moved = SharedEvents(entry, self.parent, self.id, self.weight)
        return moved if kept.all() else moved.take(kept)

    def related(self) -> SharedEvents:
        """The events that have their parent in common with another, ordered by parent and number."""
        order = np.lexsort((self.entry, self.weight, self.id, self.parent))
        parent = self.parent[order]
        same = parent[1:] == parent[:-1]
        several = np.concatenate([same, [False]]) | np.concatenate([[False], same]) if len(self) else order
        return self.take(order[several])


def joined(parts: Sequence[SharedEvents], offsets: Sequence[int]) -> SharedEvents:
    """The events of some tables, whose rows now begin at these offsets."""
    return SharedEvents(
        np.concatenate([part.entry + offset for part, offset in zip(parts, offsets, strict=True)]),
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("parent", "id", "weight")),
    )


def none() -> SharedEvents:
    numbers = np.zeros(0, np.uint64)
    return SharedEvents(np.zeros(0, np.int64), numbers, numbers, np.zeros(0))


class Covariance:
    """What shared interactions add to the variance of Σ w f, for many columns of f, of any sign.

    related: the events of a table of so many rows, in the order that `SharedEvents.related` gives.
    """

    def __init__(self, related: SharedEvents, rows: int, columns: int) -> None:
        self._events = related
        self._columns = columns
        self._used = np.zeros(rows, np.bool_)
        self._used[self._events.entry] = True
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []

    def __bool__(self) -> bool:
        return bool(len(self._events))

    def used(self, rows: slice | IntArray) -> BoolArray:
        """bool[m]: which of some rows of the table matter."""
        used: BoolArray = self._used[rows]
        return used

    def add(self, rows: IntArray, fractions: FloatArray) -> None:
        """fractions: float64[m, columns], already times the scale of the samples of these rows."""
        row, column = np.nonzero(fractions)
        self.add_sparse(rows[row], column, fractions[row, column])

    def add_sparse(self, rows: IntArray, columns: IntArray, values: FloatArray) -> None:
        """Fractions float64[k] of some rows and columns, int64[k] each."""
        self._parts.append((rows, columns, values))

    def result(self) -> FloatArray:
        """float64[columns], in Hz²; 0 where nothing is shared."""
        if not self._events or not self._parts:
            return np.zeros(self._columns)
        return _shared_squares(*self.by_parent())

    def by_parent(self) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, FloatArray, int]:
        """For kernels: where each parent begins among the events, their entries and weights; where each row
        of the table begins among the fractions, their columns and values; how many columns there are."""
        return self._starts(), self._events.entry, self._events.weight, *self._by_row(), self._columns

    def _starts(self) -> IntArray:
        parent = self._events.parent
        first = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
        return np.append(first, len(parent))

    def _by_row(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Where each row of the table begins, int64[rows + 1], and columns and values in their order."""
        row, column, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(len(self._used) + 1))
        return starts, column[order], value[order]


@kernel
def _shared_squares(
    starts: IntArray,
    entry: IntArray,
    weight: FloatArray,
    row_starts: IntArray,
    column: IntArray,
    value: FloatArray,
    columns: int,
) -> FloatArray:
    """Σ over parents of (Σ x)² − Σ x², for each column."""
    total, sums, squares = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    touched = np.empty(columns, np.int64)
    for parent in range(len(starts) - 1):
        n = 0
        for event in range(starts[parent], starts[parent + 1]):
            row = entry[event]
            for k in range(row_starts[row], row_starts[row + 1]):
                c = column[k]
                x = weight[event] * value[k]
                if x * x == 0.0:
                    continue
                if squares[c] == 0.0:
                    touched[n] = c
                    n += 1
                sums[c] += x
                squares[c] += x * x
        for k in range(n):
            c = touched[k]
            total[c] += sums[c] * sums[c] - squares[c]
            sums[c] = 0.0
            squares[c] = 0.0
    return total
