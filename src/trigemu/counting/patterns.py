"""The pattern table: the number and the weights of the events with each combination of decisions.

It is the central data structure: small, mergeable (`a + b`), and sufficient for all rates of all sub-menus
without reading the events again. The key of an entry is (sample, half, bin, stratum, pattern words); its
value is the number of events, the largest |w|, Σw and Σw². The sums are exact, so a table does not depend on
the chunks, the order of the events or the number of workers. For the errors, the table also lists the events
that may share an interaction with others (`shared.py`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from trigemu.counting import exact, shared
from trigemu.counting.entries import distinct_entries, one_number
from trigemu.counting.shared import Parents, SharedEvents
from trigemu.support import BoolArray, FloatArray, IntArray, Words, kernel

#: The numbers in the key of an entry, by which entries are ordered.
KEYS = ("sample", "half", "bin", "stratum")
#: The arrays of a table with a row for each entry.
COLUMNS = (*KEYS, "words", "n", "largest", "weight", "square")
#: The largest number of cells that fit into the caches of the processor.
_CELLS = 2**13


class Keys(NamedTuple):
    """Further keys by which events are counted, int64[n] ≥ 0 each; None: 0 for all events.

    half: the half of the sample. bin: of an observable, or another classification of a study. stratum: of
    reweighting, with a fixed total weight.
    """

    half: IntArray | None = None
    bin: IntArray | None = None
    stratum: IntArray | None = None

    def take(self, rows: slice | IntArray | BoolArray) -> Keys:
        return Keys(*(None if key is None else key[rows] for key in self))


_NO_KEYS = Keys()


@dataclass(frozen=True)
class PatternTable:
    """The number and weights of the events with each pattern of decisions.

    The m entries are in the order of their keys (sample, half, bin, stratum, words). Tables are added with
    `+`.

    Attributes
    ----------
    sample : ndarray
        int64[m], the number of the sample.
    half, bin, stratum : ndarray
        int64[m], the further keys (`Keys`).
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
    half: IntArray
    bin: IntArray
    stratum: IntArray
    words: Words
    n: IntArray
    largest: FloatArray
    weight: IntArray
    square: IntArray
    shared: SharedEvents = field(default_factory=shared.none)

    def __len__(self) -> int:
        return len(self.n)

    @property
    def weight_hz(self) -> FloatArray:
        """The weight of each entry in Hz, float64[m]: Σw, correctly rounded."""
        return exact.to_float(self.weight)

    def take(self, rows: IntArray) -> PatternTable:
        """Return the entries in these `rows`, int64[k], in this order."""
        to = np.full(len(self), -1, np.int64)
        to[rows] = np.arange(len(rows))
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return PatternTable(**columns, shared=self.shared.moved(to))

    def onto(self, bits: Iterable[int], keys: Container[str]) -> PatternTable:
        """Return the table with only these `bits` of the patterns, and only these `keys` of half, bin and
        stratum; the others are 0."""
        mask = np.zeros(self.words.shape[1], np.uint64)
        for bit in bits:
            mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        dropped = [name for name in Keys._fields if name not in keys and getattr(self, name).any()]
        if not dropped and not (self.words & ~mask).any():
            return self
        none = dict.fromkeys(dropped, np.zeros(len(self), np.int64))
        return merge_tables([replace(self, words=self.words & mask, **none)])  # type: ignore[arg-type]

    def share_scales(self, half: int, samples: int) -> FloatArray:
        """Return the factors that scale the sums of one `half` to the full samples, float64[samples], for
        samples numbered below `samples`.

        They are Σw of both halves divided by Σw of this one; 1 for a sample without entries, infinite or NaN
        if the half has no weight.
        """
        everything, one = exact.ColumnSums(samples), exact.ColumnSums(samples)
        of_sample = (self.sample[:, None] == np.arange(samples)).astype(np.float64)
        everything.add(self.weight, of_sample)
        one.add(self.weight, of_sample * (self.half == half)[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = everything.result() / one.result()
        return np.where(of_sample.any(axis=0), scales, 1.0)

    def __add__(self, other: PatternTable) -> PatternTable:
        """Return the table of the events of both."""
        return merge_tables([self, other])


def empty_table(words: int) -> PatternTable:
    """Return a table without entries, for patterns of `words` words."""
    none = np.zeros(0, np.int64)
    limbs = np.zeros((0, exact.LIMBS), np.int64)
    patterns = np.zeros((0, words), np.uint64)
    return PatternTable(none, none, none, none, patterns, none, np.zeros(0), limbs, limbs)


def count_patterns(
    sample: int,
    words: Words,
    weight: FloatArray,
    keys: Keys = _NO_KEYS,
    *,
    made_from: tuple[Parents, Parents] | None = None,
    count_rejected: bool = True,
) -> PatternTable:
    """Count the patterns of some events of one sample: words uint64[n, w], weight float64[n] in Hz.

    made_from: parents and ids, uint64[n] each, of events that may share interactions; call `complete_table`
    with such tables before errors are computed. count_rejected: whether an event in which no trigger fires
    can contribute to a rate; if not, its parent is not stored.
    """
    entry, first = distinct_entries(words, *(key for key in keys if key is not None))
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
    zeros, some = np.zeros(m, np.int64), keys.take(first)
    half, bin, stratum = (zeros if key is None else np.asarray(key, np.int64) for key in some)
    events = shared.none()
    if made_from:
        events = SharedEvents(entry, *made_from, weight)
        if not count_rejected:
            decided = np.asarray(words[first].any(axis=1))
            events = events.take(decided[entry])
    table = PatternTable(zeros + sample, half, bin, stratum, words[first], n, largest, sums, squares, events)
    return table.take(_in_order(table)[1])


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
    table = _one_after_the_other(list(tables))
    if not len(table):
        return table
    number, order = _in_order(table)
    number, words = number[order], table.words[order]
    changed = np.ones(len(table), np.bool_)
    changed[1:] = (number[1:] != number[:-1]) | (words[1:] != words[:-1]).any(axis=1)
    first = np.flatnonzero(changed)
    rows = order[first]
    entry = np.empty(len(table), np.int64)
    entry[order] = np.cumsum(changed) - 1
    weight = np.add.reduceat(table.weight[order], first)
    square = np.add.reduceat(table.square[order], first)
    exact.carry(weight)
    exact.carry(square)
    return PatternTable(
        **{name: getattr(table, name)[rows] for name in KEYS},
        words=words[first],
        n=np.add.reduceat(table.n[order], first),
        largest=np.maximum.reduceat(table.largest[order], first),
        weight=weight,
        square=square,
        shared=table.shared.moved(entry),
    )


def complete_table(tables: Iterable[PatternTable]) -> PatternTable:
    """Return the sum of the tables of all events, which lists only events that share an interaction."""
    table = merge_tables(tables)
    return replace(table, shared=table.shared.related())


def _one_after_the_other(parts: Sequence[PatternTable]) -> PatternTable:
    offsets = [0, *np.cumsum([len(part) for part in parts]).tolist()]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return PatternTable(**columns, shared=shared.joined([part.shared for part in parts], offsets[:-1]))


def _in_order(table: PatternTable) -> tuple[IntArray, IntArray]:
    """Return the `one_number` of the keys of each entry, and the entries in order, int64[m] each."""
    number = one_number([getattr(table, name) for name in KEYS])
    return number, np.lexsort((*table.words.T, number))


def _accumulate(
    entry: IntArray,
    weight: FloatArray,
    n: IntArray,
    largest: FloatArray,
    sums: IntArray,
    squares: IntArray,
) -> None:
    """Add weights to their entries, through cells if these are few and no weight is truncated."""
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
