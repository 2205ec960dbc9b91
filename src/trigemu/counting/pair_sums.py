"""Σ w f and its variance for each pair of triggers, f being the probability that both accept an event.

The pairs of thousands of triggers do not fit into memory at once: without seeds, what each trigger accepts is
kept, and the pairs are summed for a few of the first triggers at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trigemu.counting import exact
from trigemu.counting.acceptance import Pairs
from trigemu.counting.patterns import PatternTable
from trigemu.counting.rate_sums import BLOCK
from trigemu.counting.scales import Scales
from trigemu.counting.seeded_pair_sums import SeededPairSums, add_both, add_usual, alike_entries, doubled
from trigemu.counting.shared import Covariance, enter, leave
from trigemu.counting.strata import Strata
from trigemu.support import BoolArray, FloatArray, IntArray, inlined, kernel

#: The largest number of pairs that are summed at a time, 400 bytes each.
_CELLS = 2**18
#: The same where strata correct the variance, 16 bytes for each of their bins.
_CELLS_OF_STRATA = 2**16
#: The largest number of joint acceptances listed at a time there, 24 bytes each.
_LISTED = 2**24


class PairSums:
    """The sums for events that each of s triggers accepts together with each of t: or({s}) + or({t}) − or({s,
    t}).

    fitted: bool[s] and bool[t], which of them are judged on the unseen half. With `upper`, both lists are the
    same triggers, and only pairs with s ≤ t are summed. Blocks are added in the order of the table, and cover
    it.
    """

    def __init__(
        self, table: PatternTable, scales: Scales, fitted: tuple[BoolArray, BoolArray], upper: bool = False
    ) -> None:
        self._of = table, scales, fitted, upper
        self._with_seeds: SeededPairSums | None = None
        self._first: list[_Accepted] = []
        self._second: list[_Accepted] = []
        self._alike = np.zeros([len(of) for of in fitted], np.bool_)

    def add(self, rows: slice, pairs: Pairs) -> None:
        """Add the pairs of the entries in `rows`."""
        if (pairs.of_first >= 0).any() or (pairs.of_second >= 0).any():
            self._with_seeds = self._with_seeds or SeededPairSums(*self._of)
            self._with_seeds.add(rows, pairs)
            return
        self._alike = pairs.alike
        self._first.append(_accepted(pairs.first))
        self._second.append(self._first[-1] if pairs.second is pairs.first else _accepted(pairs.second))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        if self._with_seeds:
            return self._with_seeds.result()
        table, scales, fitted, upper = self._of
        first = _joined(self._first)
        second = first if upper else _joined(self._second)
        free = _Free(table, scales, fitted, first, second, self._alike, upper)
        hz, variance = np.zeros((2, *self._alike.shape))
        for low, high in free.blocks(*self._alike.shape):
            hz[low:high], variance[low:high] = free.result(low, high)
        return hz * scales.hz, np.maximum(variance, 0.0) * scales.hz**2


class _Accepted(NamedTuple):
    """Acceptances above 0 of some triggers: those of row r are `column` and `value` from starts[r] to
    starts[r + 1], the columns ascending."""

    starts: IntArray
    column: npt.NDArray[np.int32]
    value: FloatArray


def _accepted(accepted: FloatArray) -> _Accepted:
    row, column = np.nonzero(accepted)
    starts = np.searchsorted(row, np.arange(len(accepted) + 1))
    return _Accepted(starts, column.astype(np.int32), accepted[row, column])


def _joined(parts: list[_Accepted]) -> _Accepted:
    """Put the rows of parts one after the other."""
    if not parts:
        return _Accepted(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    begin = np.cumsum([0, *(len(part.column) for part in parts)])
    starts = [part.starts[:-1] + at for part, at in zip(parts, begin, strict=False)]
    column, value = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return _Accepted(np.concatenate([*starts, begin[-1:]]), column, value)


class _Free:
    """The sums of `PairSums` where no seeds connect triggers, for a range of the first triggers at a time."""

    def __init__(
        self,
        table: PatternTable,
        scales: Scales,
        fitted: tuple[BoolArray, BoolArray],
        first: _Accepted,
        second: _Accepted,
        alike: BoolArray,
        upper: bool,
    ) -> None:
        self._table, self._stratum, self._factor = table, scales.stratum, scales.of_pairs(slice(None))
        self._pairs: tuple[Any, ...] = (*first, *second, alike, *fitted, upper)
        self._first, self._second, self._shape = first, second, alike.shape
        self._both = np.hstack([table.weight, table.square])

    def blocks(self, s: int, t: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of the first triggers whose pairs fit into memory."""
        cells, listed = np.full(s, t), np.zeros(s, np.float64)
        strata = self._stratum is not None
        if strata:
            others = np.diff(self._second.starts)
            row = np.repeat(np.arange(len(others)), np.diff(self._first.starts))
            listed += np.bincount(self._first.column, others[row], s)
        low, most = 0, _CELLS_OF_STRATA if strata else _CELLS
        for high in range(1, s + 1):
            inside = slice(low, high + 1)
            if high == s or cells[inside].sum() > most or listed[inside].sum() > _LISTED:
                yield low, high
                low = high

    def result(self, low: int, high: int) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f and its variance of the first triggers from `low` to `high`, float64[high − low, t]
        each, apart from the factor of all samples."""
        table, shape = self._table, (high - low, self._shape[1])
        pairs: tuple[Any, ...] = (*self._pairs, low, high)
        sums = np.zeros((2, *shape, exact.WIDE), np.int64)
        for start, stop in alike_entries(self._factor):
            usual, summed = np.zeros(shape), np.zeros((*shape, 2 * exact.LIMBS), np.int64)
            _add_pairs(sums, summed, usual, self._both, self._factor, start, stop, *pairs)
            add_usual(sums, summed, usual)
        exact.carry(sums.reshape(-1, exact.WIDE))
        hz, variance = exact.to_float(sums.reshape(-1, exact.WIDE)).reshape(2, *shape)
        if self._stratum is not None:
            return hz, self._with_strata(variance, pairs, self._stratum)
        if len(table.shared):
            events: tuple[Any, ...] = Covariance(table.shared, len(table), 0).by_event()
            total, of_parent, squares = np.zeros((3, variance.size))
            memory: tuple[Any, ...] = (total, of_parent, squares, np.empty(variance.size, np.int64))
            _shared_pairs(self._factor, *events, *pairs, *memory)
            variance = variance + total.reshape(shape)
        return hz, variance

    def _with_strata(self, variance: FloatArray, pairs: tuple[Any, ...], stratum: IntArray) -> FloatArray:
        """Add to the variance what it has from events that share an interaction, and from strata."""
        table = self._table
        shared = Covariance(table.shared, len(table), variance.size)
        strata = Strata(table, stratum, variance.size)
        for start in range(0, len(table), BLOCK):
            row, place, fraction = _listed(self._factor, start, min(start + BLOCK, len(table)), *pairs)
            strata.add(row, place, fraction)
            if shared:
                used = shared.used(row)
                shared.add_sparse(row[used], place[used], fraction[used])
        variance = variance + shared.result().reshape(variance.shape)
        return variance + strata.correction(shared).reshape(variance.shape)


# ------------------------------------------------------------------------------------------ kernels


@inlined
def _joint(one: float, other: float, alike: bool) -> float:
    """Return the joint acceptance of two triggers: the product, or the smaller one if they share a
    counter."""
    return min(one, other) if alike else one * other


@kernel
def _add_pairs(
    sums: IntArray,
    summed: IntArray,
    usual: FloatArray,
    both: IntArray,
    factor: FloatArray,
    start: int,
    stop: int,
    starts1: IntArray,
    column1: npt.NDArray[np.int32],
    value1: FloatArray,
    starts2: IntArray,
    column2: npt.NDArray[np.int32],
    value2: FloatArray,
    alike: BoolArray,
    fitted1: BoolArray,
    fitted2: BoolArray,
    upper: bool,
    low: int,
    high: int,
) -> None:
    """Add the joint acceptances of the pairs of some rows with equal factors (`Scales.of_pairs`). both: Σw
    and Σw² side by side. A pair has the same fraction in nearly all entries: `add_usual` multiplies those
    with its first fraction once, with the same exact result."""
    for row in range(start, stop):
        plain, fitted = factor[row, 0], factor[row, 1]
        for a in range(starts1[row], starts1[row + 1]):
            i = np.int64(column1[a])
            if i < low or i >= high:
                continue
            for b in range(a if upper else starts2[row], starts2[row + 1]):
                j = np.int64(column2[b])
                f = _joint(value1[a], value2[b], alike[i, j]) * (
                    fitted if fitted1[i] or fitted2[j] else plain
                )
                if f == 0.0:
                    continue
                if usual[i - low, j] == 0.0:
                    usual[i - low, j] = f
                if f == usual[i - low, j]:
                    for limb in range(2 * exact.LIMBS):
                        summed[i - low, j, limb] += both[row, limb]
                else:
                    add_both(sums, i - low, j, both[row], f)


@kernel
def _shared_pairs(
    factor: FloatArray,
    parents: IntArray,
    entry: IntArray,
    weight: FloatArray,
    starts1: IntArray,
    column1: npt.NDArray[np.int32],
    value1: FloatArray,
    starts2: IntArray,
    column2: npt.NDArray[np.int32],
    value2: FloatArray,
    alike: BoolArray,
    fitted1: BoolArray,
    fitted2: BoolArray,
    upper: bool,
    low: int,
    high: int,
    total: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    touched: IntArray,
) -> None:
    """Add Σ over parents of (Σ x)² − Σ x² of each pair to `total`, x = w f of an event (`shared.py`)."""
    m = alike.shape[1]
    for parent in range(len(parents) - 1):
        n = 0
        for event in range(parents[parent], parents[parent + 1]):
            row = entry[event]
            plain, fitted = factor[row, 0], factor[row, 1]
            for a in range(starts1[row], starts1[row + 1]):
                i = np.int64(column1[a])
                if i < low or i >= high:
                    continue
                for b in range(a if upper else starts2[row], starts2[row + 1]):
                    j = np.int64(column2[b])
                    f = _joint(value1[a], value2[b], alike[i, j])
                    x = weight[event] * (f * (fitted if fitted1[i] or fitted2[j] else plain))
                    n = enter((i - low) * m + j, x, sums, squares, touched, n)
        leave(total, sums, squares, touched, n)


@kernel
def _listed(
    factor: FloatArray,
    start: int,
    stop: int,
    starts1: IntArray,
    column1: npt.NDArray[np.int32],
    value1: FloatArray,
    starts2: IntArray,
    column2: npt.NDArray[np.int32],
    value2: FloatArray,
    alike: BoolArray,
    fitted1: BoolArray,
    fitted2: BoolArray,
    upper: bool,
    low: int,
    high: int,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column (i − low) · t + j and fraction of the pairs of some rows with a joint acceptance
    above 0."""
    rows, places, fractions = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    n, m = 0, alike.shape[1]
    for row in range(start, stop):
        plain, fitted = factor[row, 0], factor[row, 1]
        for a in range(starts1[row], starts1[row + 1]):
            i = np.int64(column1[a])
            if i < low or i >= high:
                continue
            for b in range(a if upper else starts2[row], starts2[row + 1]):
                j = np.int64(column2[b])
                f = _joint(value1[a], value2[b], alike[i, j]) * (
                    fitted if fitted1[i] or fitted2[j] else plain
                )
                if f == 0.0:
                    continue
                if n == len(rows):
                    rows, places, fractions = doubled(rows), doubled(places), doubled(fractions)
                rows[n], places[n], fractions[n] = row, (i - low) * m + j, f
                n += 1
    return rows[:n], places[:n], fractions[:n]
