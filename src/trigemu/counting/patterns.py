"""The pattern table: the number and the weights of the events with each combination of decisions.

It is the central data structure: small, mergeable (`a + b`), and sufficient for every rate of every sub-menu
without reading the events again. The key of an entry is (sample, axis bin, pattern words); its value is the
number of events, the largest |w|, Σw and Σw². The sums are exact, so a table does not depend on the chunks,
the order of the events or the number of workers. In addition, the table lists the events that may share an
interaction with others (`shared.py`), for the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trigemu.counting import exact, shared
from trigemu.counting.shared import Parents, SharedEvents
from trigemu.support import FloatArray, IntArray, Words, inlined, kernel

#: The arrays of a table that have a row for each entry.
COLUMNS = ("sample", "axis", "words", "n", "largest", "weight", "square")
#: Patterns below this number, which twelve triggers can form, may serve directly as the index in a table.
_NUMBERS = 2**12
#: More cells than this do not fit into the caches.
_CELLS = 2**13


@dataclass(frozen=True)
class PatternTable:
    """The number and weights of the events with each pattern of decisions.

    The m entries are in the order of their keys (sample, axis, words). Tables are added with `+`.

    Attributes
    ----------
    sample : ndarray
        int64[m], the number of the sample.
    axis : ndarray
        int64[m], the bin of the axis.
    words : ndarray
        uint64[m, w], the pattern: decision b is bit b % 64 of word b // 64.
    n : ndarray
        int64[m], the number of events.
    largest : ndarray
        float64[m], the largest |w| in Hz.
    weight : ndarray
        int64[m, LIMBS], Σw in Hz as an exact sum.
    square : ndarray
        int64[m, LIMBS], Σw² in Hz² as an exact sum.
    shared : SharedEvents
        The events that may have their `parent` in common with others.
    """

    sample: IntArray
    axis: IntArray
    words: Words
    n: IntArray
    largest: FloatArray
    weight: IntArray
    square: IntArray
    shared: SharedEvents = field(default_factory=shared.none)

    def __len__(self) -> int:
        return len(self.n)

    def take(self, rows: IntArray) -> PatternTable:
        """Return the entries in these `rows`, int64[k], in that order."""
        to = np.full(len(self), -1, np.int64)
        to[rows] = np.arange(len(rows))
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return PatternTable(**columns, shared=self.shared.moved(to))

    def onto(self, bits: Iterable[int], axis: IntArray) -> PatternTable:
        """Return the table with only these `bits` of the patterns, the others being 0, and with other bins of
        the `axis`, int64[m]."""
        mask = np.zeros(self.words.shape[1], np.uint64)
        for bit in bits:
            mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        if np.array_equal(axis, self.axis) and not (self.words & ~mask).any():
            return self
        return merge_tables([replace(self, axis=axis, words=self.words & mask)])

    def share_scales(self, axis: int, samples: int) -> FloatArray:
        """Return the factors that scale the sums of one bin of the `axis` to the whole samples,
        float64[samples], for samples numbered below `samples`.

        These are Σw of all bins divided by Σw of this one; 1 for a sample without entries, infinite or NaN if
        the bin has no weight.
        """
        everything, one = exact.ColumnSums(samples), exact.ColumnSums(samples)
        of_sample = (self.sample[:, None] == np.arange(samples)).astype(np.float64)
        everything.add(self.weight, of_sample)
        one.add(self.weight, of_sample * (self.axis == axis)[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = everything.result() / one.result()
        return np.where(of_sample.any(axis=0), scales, 1.0)

    def __add__(self, other: PatternTable) -> PatternTable:
        """Return the table of the events of both."""
        return merge_tables([self, other])


def empty_table(words: int) -> PatternTable:
    """Return a table without entries, for patterns of the given number of words."""
    none = np.zeros(0, np.int64)
    limbs = np.zeros((0, exact.LIMBS), np.int64)
    return PatternTable(none, none, np.zeros((0, words), np.uint64), none, np.zeros(0), limbs, limbs)


def count_patterns(
    sample: int,
    words: Words,
    weight: FloatArray,
    axis: IntArray | None = None,
    *,
    made_from: tuple[Parents, Parents] | None = None,
    undecided: bool = True,
) -> PatternTable:
    """Count the patterns of some events of one sample: words uint64[n, w], weight float64[n] in Hz.

    made_from: parents and ids, uint64[n] each, of events that may share interactions; tables with these must
    go through `complete_table` before errors are computed. undecided: whether an event in which no trigger
    fires can contribute to a rate; if not, its parent is not kept.
    """
    bins = np.zeros(len(words), np.int64) if axis is None else axis
    entry, first = distinct_entries(words, bins)
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
    events = shared.none()
    if made_from:
        events = SharedEvents(entry, *made_from, weight)
        if not undecided:
            decided = np.asarray(words[first].any(axis=1))
            events = events.take(decided[entry])
    return _in_order(PatternTable(number, bins[first], words[first], n, largest, sums, squares, events))


def merge_tables(tables: Iterable[PatternTable]) -> PatternTable:
    """Return the sum of tables; entries with equal keys are merged.

    Parameters
    ----------
    tables : iterable of PatternTable
        One or more.

    Returns
    -------
    PatternTable
        The table of all their events.
    """
    table = _in_order(_one_after_the_other(list(tables)))
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
        table.shared.moved(np.concatenate([[0], np.cumsum(changed)])),
    )


def complete_table(tables: Iterable[PatternTable]) -> PatternTable:
    """Return the sum of the tables of all events; only events that share an interaction remain listed."""
    table = merge_tables(tables)
    return replace(table, shared=table.shared.related())


def _one_after_the_other(parts: Sequence[PatternTable]) -> PatternTable:
    offsets = [0, *np.cumsum([len(part) for part in parts]).tolist()]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return PatternTable(**columns, shared=shared.joined([part.shared for part in parts], offsets[:-1]))


def _in_order(table: PatternTable) -> PatternTable:
    return table.take(np.lexsort((*table.words.T, table.axis, table.sample)))


def distinct_entries(words: Words, axis: IntArray) -> tuple[IntArray, IntArray]:
    """Find equal rows (open addressing).

    Parameters
    ----------
    words : uint64[n, w]
        The patterns.
    axis : int64[n]
        Their bins.

    Returns
    -------
    entry : int64[n]
        The entry of each row, 0 … m − 1 in order of appearance.
    first : int64[m]
        The first row of each entry.
    """
    entry = np.empty(len(words), np.int64)
    if _few_bits(words, axis):
        first = np.empty(_NUMBERS, np.int64)
        m = _enter_by_number(words.ravel(), entry, first, np.full(_NUMBERS, -1, np.int64))
        return entry, first[:m].copy()
    first = np.empty(32, np.int64)
    row: int | np.int64 = 0
    m = 0
    while row < len(words):
        row, m = _enter(words, axis, row, entry, first, m, np.full(2 * len(first), -1, np.int64))
        if m == len(first):
            first = np.concatenate((first, np.empty(3 * len(first), np.int64)))
    return entry, first[:m].copy()


def _few_bits(words: Words, axis: IntArray) -> bool:
    """Whether all patterns are in bin 0 and small enough to serve directly as the index in a table."""
    return bool(words.shape[1] == 1 and words.max(initial=0) < _NUMBERS and not axis.any())


@kernel
def _enter_by_number(words: Words, entry: IntArray, first: IntArray, table: IntArray) -> int:
    """Find or make the entries of all rows, uint64[n]; return the number of entries."""
    m = 0
    for row in range(len(words)):
        found = table[words[row]]
        if found < 0:
            found = m
            table[words[row]] = m
            first[m] = row
            m += 1
        entry[row] = found
    return m


@inlined
def _hash(words: Words, row: np.uint64, axis: np.int64) -> np.uint64:
    h = np.uint64(axis) * np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[1]):
        h = (h ^ words[row, w]) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return h


@inlined
def _same(words: Words, axis: IntArray, a: np.uint64, b: np.uint64) -> bool:
    same = axis[a] == axis[b]
    for w in range(words.shape[1]):
        same &= words[a, w] == words[b, w]
    return bool(same)


@kernel
def _enter(
    words: Words,
    axis: IntArray,
    start: int | np.int64,
    entry: IntArray,
    first: IntArray,
    m: int,
    table: IntArray,
) -> tuple[int | np.int64, int]:
    """Find or make the entries from a row on, until there is no room for another; return the row and the
    number of entries reached. The table is empty: the m known entries come first. (Indices are unsigned so
    that numba does not check for negative ones.)"""
    row, rows, mask = np.uint64(start), np.uint64(len(words)), np.uint64(len(table) - 1)
    known, again, m = np.uint64(m), np.uint64(0), 0
    while row < rows:
        at = np.uint64(first[again]) if again < known else row
        slot = _hash(words, at, axis[at]) & mask
        found = table[slot]
        while found >= 0 and not _same(words, axis, at, np.uint64(first[np.uint64(found)])):
            slot = (slot + np.uint64(1)) & mask
            found = table[slot]
        if found < 0:
            if m == len(first):
                break
            found = m
            table[slot] = m
            first[m] = at
            m += 1
        if again < known:
            again += np.uint64(1)
        else:
            entry[row] = found
            row += np.uint64(1)
    return np.int64(row), m


def _accumulate(
    entry: IntArray,
    weight: FloatArray,
    n: IntArray,
    largest: FloatArray,
    sums: IntArray,
    squares: IntArray,
) -> None:
    """Add weights to their entries, by way of cells if these are few and no weight is truncated."""
    lowest, highest = exact.exponents(weight)
    shape = (len(n), highest - lowest + 1, 8)
    if lowest >= exact.WHOLE_EXPONENT and shape[0] * shape[1] <= min(_CELLS, len(entry)):
        cells = np.zeros(shape, np.int64)
        exact.add_to_cells(cells, lowest, entry, weight)
        exact.from_cells(cells, lowest, n, largest, sums, squares)
    else:
        _add_each(entry, weight, n, largest, sums, squares)


@kernel
def _add_each(
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
