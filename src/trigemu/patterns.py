"""The pattern table: how often, and with which weights, each combination of decisions occurred.

It is the pivot of the program: small, mergeable (`a + b`), and every rate of every sub-menu follows from it
without seeing the events again. The key of an entry is (sample, axis bin, pattern words); its value is the
number of events, the largest |w|, Σw and Σw², the sums exact, so that a table does not depend on how events
were cut into chunks, nor on their order, nor on the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trigemu import exact
from trigemu.events import FloatArray, IntArray
from trigemu.kernels import kernel

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PatternTable:
    """m entries in the order of their keys; all arrays share the first axis.

    sample, axis: int64[m], the number of the sample and the bin of the axis. words: uint64[m, w], bit b of
    a pattern is bit b % 64 of word b // 64. n: int64[m] events. largest: float64[m], the largest |w| in
    Hz. weight, square: int64[m, LIMBS], Σw in Hz and Σw² in Hz² as exact sums.
    """

    sample: IntArray
    axis: IntArray
    words: Words
    n: IntArray
    largest: FloatArray
    weight: IntArray
    square: IntArray

    def __len__(self) -> int:
        return len(self.n)

    def take(self, rows: IntArray) -> PatternTable:
        """Some entries, in the order given."""
        return PatternTable(*(getattr(self, name)[rows] for name in PatternTable.__annotations__))

    def onto(self, bits: Iterable[int]) -> PatternTable:
        """The patterns of some bits alone, those of all bins of the axis together in bin 0."""
        mask = np.zeros(self.words.shape[1], np.uint64)
        for bit in bits:
            mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        if not self.axis.any() and not (self.words & ~mask).any():
            return self
        return merge([replace(self, axis=np.zeros_like(self.axis), words=self.words & mask)])

    def share_scales(self, axis: int, samples: int) -> FloatArray:
        """float64[samples]: Σw of all bins over Σw of one, by which its sums stand for the whole sample;
        1 for a sample without entries, infinite or NaN where the bin holds no weight."""
        everything, one = exact.ColumnSums(samples), exact.ColumnSums(samples)
        of_sample = (self.sample[:, None] == np.arange(samples)).astype(np.float64)
        everything.add(self.weight, of_sample)
        one.add(self.weight, of_sample * (self.axis == axis)[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = everything.result() / one.result()
        return np.where(of_sample.any(axis=0), scales, 1.0)

    def __add__(self, other: PatternTable) -> PatternTable:
        return merge([self, other])


def empty(words: int) -> PatternTable:
    """The identity of addition, for patterns of so many words."""
    none = np.zeros(0, np.int64)
    limbs = np.zeros((0, exact.LIMBS), np.int64)
    return PatternTable(none, none, np.zeros((0, words), np.uint64), none, np.zeros(0), limbs, limbs)


def count(sample: int, words: Words, weight: FloatArray, axis: IntArray | None = None) -> PatternTable:
    """Count the patterns of some events of one sample: words uint64[n, w], weight float64[n] in Hz."""
    bins = np.zeros(len(words), np.int64) if axis is None else axis
    entry, first = entries(words, bins)
    m = len(first)
    n = np.zeros(m, np.int64)
    largest = np.zeros(m)
    sums = np.zeros((m, exact.LIMBS), np.int64)
    squares = np.zeros((m, exact.LIMBS), np.int64)
    for start in range(0, len(words), exact.ADDITIONS):
        rows = slice(start, start + exact.ADDITIONS)
        _accumulate(entry[rows], weight[rows], n, largest, sums, squares)
        exact.carry(sums)
        exact.carry(squares)
    number = np.full(m, sample, np.int64)
    return _in_order(PatternTable(number, bins[first], words[first], n, largest, sums, squares))


def merge(tables: Iterable[PatternTable]) -> PatternTable:
    """The sum of at least one table; entries of one key become one."""
    parts = list(tables)
    table = _in_order(
        PatternTable(
            *(np.concatenate([getattr(t, name) for t in parts]) for name in PatternTable.__annotations__)
        )
    )
    if not len(table):
        return table
    changed = (table.sample[1:] != table.sample[:-1]) | (table.axis[1:] != table.axis[:-1])
    changed |= (table.words[1:] != table.words[:-1]).any(axis=1)
    first = np.flatnonzero(np.concatenate([[True], changed]))
    weight = np.add.reduceat(table.weight, first)
    square = np.add.reduceat(table.square, first)
    exact.carry(weight)
    exact.carry(square)
    return PatternTable(
        table.sample[first],
        table.axis[first],
        table.words[first],
        np.add.reduceat(table.n, first),
        np.maximum.reduceat(table.largest, first),
        weight,
        square,
    )


def _in_order(table: PatternTable) -> PatternTable:
    order = np.lexsort((*table.words.T, table.axis, table.sample))
    return PatternTable(*(getattr(table, name)[order] for name in PatternTable.__annotations__))


@kernel
def _hash(words: Words, row: int, axis: int) -> np.uint64:
    h = np.uint64(axis) * np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[1]):
        h = (h ^ words[row, w]) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return h


@kernel
def _same(words: Words, axis: IntArray, a: int, b: int) -> bool:
    if axis[a] != axis[b]:
        return False
    for w in range(words.shape[1]):  # noqa: SIM110 (a generator is slow in numba)
        if words[a, w] != words[b, w]:
            return False
    return True


@kernel
def entries(words: Words, axis: IntArray) -> tuple[IntArray, IntArray]:
    """The entry of each row, int64[n], and the first row of each entry, int64[m] (open addressing)."""
    n = words.shape[0]
    entry = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    m = 0
    mask = 63
    table = np.full(mask + 1, -1, np.int64)
    for row in range(n):
        if row > 0 and _same(words, axis, row, row - 1):
            entry[row] = entry[row - 1]
            continue
        slot = np.int64(_hash(words, row, axis[row]) & np.uint64(mask))
        while table[slot] >= 0 and not _same(words, axis, row, first[table[slot]]):
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = m
            first[m] = row
            m += 1
        entry[row] = table[slot]
        if 2 * m > mask:
            mask = 4 * mask + 3
            table = np.full(mask + 1, -1, np.int64)
            for e in range(m):
                slot = np.int64(_hash(words, first[e], axis[first[e]]) & np.uint64(mask))
                while table[slot] >= 0:
                    slot = (slot + 1) & mask
                table[slot] = e
    return entry, first[:m].copy()


@kernel
def _accumulate(
    entry: IntArray,
    weight: FloatArray,
    n: IntArray,
    largest: FloatArray,
    sums: IntArray,
    squares: IntArray,
) -> None:
    for row in range(len(entry)):
        e = entry[row]
        w = weight[row]
        n[e] += 1
        largest[e] = max(largest[e], abs(w))
        exact.add(sums[e], w)
        exact.add(squares[e], w * w)
