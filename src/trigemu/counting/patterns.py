"""The pattern table: the number and the weights of the events with each combination of decisions.

It is the central data structure: small, mergeable (`a + b`), and sufficient for all rates of all sub-menus
without reading the events again. The key of an entry is (sample, half, bin, stratum, pattern words); its
value is the number of events, the largest |w|, Σw and Σw². The sums of a chunk are float64; tables are added
in the order of the chunks, so the result does not depend on who counted them. For the errors, the table also
lists the events that may share an interaction with others.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import kernel

Parents = npt.NDArray[np.uint64]


def one_number(keys: Sequence[IntArray]) -> IntArray:
    """Combine keys ≥ 0, int64[n] each, into one number int64[n] with the same order and equality."""
    number = np.asarray(keys[0], np.int64)
    for key in keys[1:] if len(number) else ():
        number = number * (key.max() + 1) + key
    return number


def distinct_entries(words: Words, *keys: IntArray) -> tuple[IntArray, IntArray]:
    """Find equal rows. words: uint64[n, w]; *keys: int64[n]; returns entry int64[n], first int64[m]."""
    number = one_number(keys or [np.zeros(len(words), np.int64)])
    entry, room = np.empty(len(words), np.int64), 2**8
    while True:
        first = np.empty(room, np.int64)
        m = _distinct(words, number, entry, first, np.full(4 * room, -1, np.int64))
        if m >= 0:
            return entry, first[:m].copy()
        room *= 16


def starts_of(*keys: npt.NDArray[Any]) -> IntArray:
    """Return the first row of each run of rows with equal keys, int64[runs]."""
    starts = np.ones(len(keys[0]), np.bool_)
    starts[1:] = False
    for key in keys:
        starts[1:] |= (key[1:] != key[:-1]) if key.ndim == 1 else (key[1:] != key[:-1]).any(axis=1)
    return np.flatnonzero(starts)


@kernel
def _distinct(words: Words, number: IntArray, entry: IntArray, first: IntArray, table: IntArray) -> int:
    """Fill in the entry of each row and the first row of each entry; return the number of entries, or −1 if
    there is no room. table: int64[s], −1. (Indices are unsigned so that numba does not check for negative
    ones.)"""
    m, row, mask = 0, np.uint64(0), np.uint64(len(table) - 1)
    while row < np.uint64(len(words)):
        slot = np.uint64(number[row]) * np.uint64(0x9E3779B97F4A7C15)
        for w in range(words.shape[1]):
            slot = (slot ^ words[row, w]) * np.uint64(0xBF58476D1CE4E5B9)
            slot ^= slot >> np.uint64(29)
        same = False
        while not same:
            slot &= mask
            entry_at = table[slot]
            if entry_at < 0:
                if m == len(first):
                    return -1
                entry_at = m
                table[slot] = m
                first[m] = row
                m += 1
                break
            other = np.uint64(first[np.uint64(entry_at)])
            same = number[row] == number[other]
            for w in range(words.shape[1]):
                same &= words[row, w] == words[other, w]
            slot += np.uint64(1)
        entry[row] = entry_at
        row += np.uint64(1)
    return m


#: Events of a pattern table that may share their interactions: their rows in the table, the numbers of their
#: interactions and of the events, and their weights in Hz.
SHARED = np.dtype([("entry", np.int64), ("parent", np.uint64), ("id", np.uint64), ("weight", np.float64)])
Shared = npt.NDArray[np.void]


class Interactions:
    """The events of a table that share an interaction with others; m entries, k interactions."""

    def __init__(self, shared: Shared, square: FloatArray) -> None:
        m, (_, number) = len(square), np.unique(shared["parent"], return_inverse=True)
        shape = int(number.max(initial=-1)) + 1, m
        #: float64[k, m], Σw of the events of each interaction in each entry
        self.weights = sparse.csr_array((shared["weight"], (number.ravel(), shared["entry"])), shape)
        #: float64[m], Σw² of these events, and of all others
        self.squares = np.bincount(shared["entry"], shared["weight"] ** 2, m)
        self.alone = square - self.squares

    def __bool__(self) -> bool:
        return bool(self.weights.shape[0])

    def squares_of(self, fractions: sparse.csr_array) -> FloatArray:
        """Return Σ over interactions of (Σ w f)², float64[c]. fractions: float64[m, c]."""
        squares, weights = np.zeros(fractions.shape[1]), self.weights
        of_events = weights.indptr, weights.indices, weights.data
        _add_squares(*of_events, fractions.indptr, fractions.indices, fractions.data, squares)
        return squares

    def covariance(self, fractions: sparse.csr_array) -> FloatArray:
        """Return the same minus Σ w² f², float64[c]."""
        alone: FloatArray = self.squares @ fractions.power(2)
        return self.squares_of(fractions) - alone


@kernel
def _add_squares(
    start: IntArray,
    entry: IntArray,
    weight: FloatArray,
    first: IntArray,
    column: IntArray,
    fraction: FloatArray,
    variance: FloatArray,
) -> None:
    """Add the squares of the products of two sparse matrices: of the events of each interaction, and of the
    fractions of each entry."""
    sums, last = np.zeros(len(variance)), np.full(len(variance), -1)
    columns = np.empty(len(variance), np.int32)
    for interaction in range(len(start) - 1):
        n = 0
        for event in range(start[interaction], start[interaction + 1]):
            for i in range(first[entry[event]], first[entry[event] + 1]):
                c = column[i]
                if last[c] != interaction:
                    last[c], sums[c], columns[n] = interaction, 0.0, c
                    n += 1
                sums[c] += weight[event] * fraction[i]
        for c in columns[:n]:
            variance[c] += sums[c] ** 2


#: The numbers in the key of an entry, by which entries are ordered.
KEYS = ("sample", "half", "bin", "stratum")
#: The arrays of a table with a row for each entry.
COLUMNS = (*KEYS, "words", "n", "largest", "weight", "square")
#: Larger weights are refused: their squares and sums would lose their meaning.
WEIGHT_LIMIT = 2.0**42


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
    """

    sample: IntArray  #: int64[m], the number of the sample
    half: IntArray  #: half, bin, stratum: int64[m], the further keys (`Keys`)
    bin: IntArray
    stratum: IntArray
    words: Words  #: uint64[m, w], the pattern: decision b is bit b % 64 of word b // 64
    n: IntArray  #: int64[m], the number of events
    largest: FloatArray  #: float64[m], the largest |w| in Hz
    weight: FloatArray  #: float64[m], Σw in Hz
    square: FloatArray  #: float64[m], Σw² in Hz²
    #: SHARED[k], the events that may have their `parent` in common with others
    shared: Shared = field(default_factory=lambda: np.zeros(0, SHARED))

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def interactions(self) -> Interactions:
        """The events that share an interaction, by interaction."""
        return Interactions(self.shared, self.square)

    def take(self, rows: IntArray) -> PatternTable:
        """Return the entries in these `rows`, int64[k], in this order."""
        to = np.full(len(self), -1, np.int64)
        to[rows] = np.arange(len(rows))
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return PatternTable(**columns, shared=_moved(self.shared, to))

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
        everything = np.bincount(self.sample, self.weight, samples)
        of_half = np.bincount(self.sample, np.where(self.half == half, self.weight, 0.0), samples)
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = everything / of_half
        return np.where(np.bincount(self.sample, minlength=samples) > 0, scales, 1.0)

    def __add__(self, other: PatternTable) -> PatternTable:
        """Return the table of the events of both."""
        return merge_tables([self, other])


def empty_table(words: int) -> PatternTable:
    """Return a table without entries, for patterns of `words` words."""
    none, numbers = np.zeros(0, np.int64), np.zeros(0)
    patterns = np.zeros((0, words), np.uint64)
    return PatternTable(none, none, none, none, patterns, none, numbers, numbers, numbers)


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
    own = np.array([np.zeros(m) if key is None else key[first] for key in keys], np.int64)
    order = np.lexsort((*words[first].T, *own[::-1]))
    place = np.empty(m, np.int64)
    place[order] = np.arange(m)
    entry, first, (half, bin, stratum) = place[entry], first[order], own[:, order]
    n = np.zeros(m, np.int64)
    largest, sums, squares = np.zeros((3, m))
    _accumulate(entry, weight, n, largest, sums, squares, np.zeros((2, m)))
    if not largest.max(initial=0.0) < WEIGHT_LIMIT or np.isnan(sums).any():
        bad = weight[~(np.abs(weight) < WEIGHT_LIMIT)][0]
        raise TrigemuError(f"a weight of {bad:g} Hz cannot be summed: expected less than {WEIGHT_LIMIT:g} Hz")
    events = np.zeros(0, SHARED)
    if made_from:
        listed = (
            np.arange(len(entry)) if count_rejected else np.flatnonzero(np.any(words[first], axis=1)[entry])
        )
        events = np.empty(len(listed), SHARED)
        for name, column in zip(SHARED.fields or (), (entry, *made_from, weight), strict=True):
            events[name] = column[listed]
    of_sample = np.full(m, sample)
    return PatternTable(of_sample, half, bin, stratum, words[first], n, largest, sums, squares, events)


def merge_tables(tables: Iterable[PatternTable]) -> PatternTable:
    """Return the sum of tables; entries with equal keys are merged, in the order of the tables."""
    parts = list(tables)
    offsets = np.cumsum([0, *map(len, parts)])
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    shared = np.concatenate([part.shared for part in parts])
    shared["entry"] += np.repeat(offsets[:-1], [len(part.shared) for part in parts])
    table = PatternTable(**columns, shared=shared)
    if not len(table):
        return table
    number = one_number([getattr(table, name) for name in KEYS])
    order = np.lexsort((*table.words.T, number))
    words = table.words[order]
    first = starts_of(number[order], words)
    rows = order[first]
    entry = np.empty(len(table), np.int64)
    entry[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(table)))
    return PatternTable(
        **{name: getattr(table, name)[rows] for name in KEYS},
        words=words[first],
        n=np.add.reduceat(table.n[order], first),
        largest=np.maximum.reduceat(table.largest[order], first),
        weight=np.add.reduceat(table.weight[order], first),
        square=np.add.reduceat(table.square[order], first),
        shared=_moved(table.shared, entry),
    )


def complete_table(tables: Iterable[PatternTable]) -> PatternTable:
    """Return the sum of the tables of all events, which lists only events that share an interaction, ordered
    by parent and id."""
    table = merge_tables(tables)
    shared = table.shared
    order = np.lexsort([shared[name] for name in ("entry", "weight", "id", "parent")])
    first = starts_of(shared["parent"][order])
    several = np.repeat(np.diff(first, append=len(order)) > 1, np.diff(first, append=len(order)))
    return replace(table, shared=shared[order[several]])


def _moved(shared: Shared, to: IntArray) -> Shared:
    """Return events after the rows of their table were renumbered by `to`, int64[rows]; without those of rows
    that became −1."""
    moved = shared.copy()
    moved["entry"] = to[shared["entry"]]
    return moved if (to >= 0).all() else moved[moved["entry"] >= 0]


@kernel
def _accumulate(
    entry: IntArray,
    weight: FloatArray,
    n: IntArray,
    largest: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    lost: FloatArray,
) -> None:
    """Add weights to their entries. `lost`, float64[2, m], keeps what each addition rounds off (Kahan): many
    equal weights would be rounded the same way each time."""
    for row in range(len(entry)):
        e, w = entry[row], weight[row]
        n[e] += 1
        largest[e] = max(largest[e], abs(w))
        term = w - lost[0, e]
        total = sums[e] + term
        lost[0, e] = (total - sums[e]) - term
        sums[e] = total
        term = w * w - lost[1, e]
        total = squares[e] + term
        lost[1, e] = (total - squares[e]) - term
        squares[e] = total
