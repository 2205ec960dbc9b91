"""Σ w f and its variance for each pair of triggers, where f is the probability that both accept an event.

The pairs of thousands of triggers do not fit into memory at once: without seeds, the acceptances of each
trigger are stored, and pairs are summed for a few of the first triggers at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inlined, kernel
from trigemu.counting import exact
from trigemu.counting.acceptance import Pairs
from trigemu.counting.patterns import PatternTable
from trigemu.counting.rate_sums import BLOCK, Scales, Strata
from trigemu.counting.shared import ByParent, Covariance, ParentSums, Sparse, enter, leave, no_parents

#: The largest number of pairs that are summed at a time, 400 bytes each.
_CELLS = 2**18
#: The same if strata correct the variance, 16 bytes for each stratum.
_CELLS_OF_STRATA = 2**16
#: The largest number of joint acceptances that are then listed at a time, 24 bytes each.
_LISTED = 2**24


class PairSums:
    """The sums over events that two triggers both accept, one of s and one of t: or({s}) + or({t}) −
    or({s, t}).

    fitted: bool[s] and bool[t], whether a trigger is judged on the unseen half. With `upper`, both lists are
    the same triggers, and only pairs with s ≤ t are summed. constant: whether a trigger accepts all events
    alike; the rate of two such triggers has no error. Blocks are added in the order of the table, and cover
    it.
    """

    def __init__(
        self,
        table: PatternTable,
        scales: Scales,
        fitted: tuple[BoolArray, BoolArray],
        upper: bool = False,
        constant: tuple[BoolArray, BoolArray] | None = None,
    ) -> None:
        self._of = table, scales, fitted, upper
        self._constant = constant
        self._with_seeds: SeededPairSums | None = None
        self._first: list[Sparse] = []
        self._second: list[Sparse] = []
        self._same_counter = np.zeros([len(flags) for flags in fitted], np.bool_)
        self._halves = 1 + any(flags.any() for flags in fitted)  # all events; and the unseen half
        self._alone = exact.ColumnSums(self._halves * sum(len(flags) for flags in fitted[upper:]))

    def add(self, rows: slice, pairs: Pairs) -> None:
        """Add the pairs of the entries in `rows`."""
        table, scales, _, upper = self._of
        alone = np.hstack([pairs.first] if upper else [pairs.first, pairs.second]) / scales.unit
        judged = (alone, alone * scales.unseen[rows][:, None])
        self._alone.add(table.weight[rows], np.hstack(judged[: self._halves]))
        if (pairs.of_first >= 0).any() or (pairs.of_second >= 0).any():
            self._with_seeds = self._with_seeds or SeededPairSums(*self._of)
            self._with_seeds.add(rows, pairs)
            return
        self._same_counter = pairs.same_counter
        self._first.append(_accepted(pairs.first))
        self._second.append(self._first[-1] if pairs.second is pairs.first else _accepted(pairs.second))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        hz, variance = self._with_seeds.result() if self._with_seeds else self._free()
        if self._constant:
            variance[np.ix_(*self._constant)] = 0.0
        return hz, variance

    def _free(self) -> tuple[FloatArray, FloatArray]:
        """Return the same if no seed connects triggers."""
        table, scales, fitted, upper = self._of
        first = _joined(self._first)
        second = first if upper else _joined(self._second)
        pairs = FreePairs(first, second, self._same_counter, *fitted, scales.of_pairs(slice(None)), upper)
        free = _Free(table, scales.stratum, pairs)
        hz, variance = np.zeros((2, *self._same_counter.shape))
        for low, high in free.blocks(*self._same_counter.shape):
            hz[low:high], variance[low:high] = free.result(low, high)
        return hz * scales.hz, np.maximum(variance, 0.0) * scales.hz**2

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the first and of the second triggers by themselves in Hz, float64[s, t] each,
        from the events that each pair is from: the unseen half, scaled, if one of the two is fitted."""
        _, scales, (fitted1, fitted2), _ = self._of
        hz = (self._alone.result() * scales.hz).reshape(self._halves, -1)
        half = fitted1[:, None] | fitted2
        first, second = hz[:, : len(fitted1)], hz[:, -len(fitted2) :]
        return np.where(half, first[-1][:, None], first[0][:, None]), np.where(half, second[-1], second[0])


class FreePairs(NamedTuple):
    """Pairs of s triggers with t others without connections by seeds, in m entries.

    first, second: the acceptances above 0, the columns of each row ascending. same_counter: bool[s, t],
    whether they share a counter. fitted1, fitted2: bool[s], bool[t]. factor: float64[m, 2]
    (`Scales.of_pairs`). upper: whether the lists are the same, and only pairs with s ≤ t count.
    """

    first: Sparse
    second: Sparse
    same_counter: BoolArray
    fitted1: BoolArray
    fitted2: BoolArray
    factor: FloatArray
    upper: bool


def _accepted(accepted: FloatArray) -> Sparse:
    row, column = np.nonzero(accepted)
    starts = np.searchsorted(row, np.arange(len(accepted) + 1))
    return Sparse(starts, column.astype(np.int32), accepted[row, column])


def _joined(parts: list[Sparse]) -> Sparse:
    """Concatenate the rows of parts."""
    if not parts:
        return Sparse(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    begin = np.cumsum([0, *(len(part.column) for part in parts)])
    starts = [part.starts[:-1] + shift for part, shift in zip(parts, begin, strict=False)]
    column, value = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return Sparse(np.concatenate([*starts, begin[-1:]]), column, value)


class _Free:
    """The sums of `PairSums` without connections by seeds, for a range of the first triggers at a time."""

    def __init__(self, table: PatternTable, stratum: IntArray | None, pairs: FreePairs) -> None:
        self._table, self._stratum, self._pairs = table, stratum, pairs
        self._both = np.hstack([table.weight, table.square])

    def blocks(self, s: int, t: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of the first triggers whose pairs fit into memory."""
        cells, listed = np.full(s, t), np.zeros(s, np.float64)
        strata = self._stratum is not None
        if strata:
            first, others = self._pairs.first, np.diff(self._pairs.second.starts)
            row = np.repeat(np.arange(len(others)), np.diff(first.starts))
            listed += np.bincount(first.column, others[row], s)
        low, most = 0, _CELLS_OF_STRATA if strata else _CELLS
        for high in range(1, s + 1):
            inside = slice(low, high + 1)
            if high == s or cells[inside].sum() > most or listed[inside].sum() > _LISTED:
                yield low, high
                low = high

    def result(self, low: int, high: int) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f and its variance of the first triggers from `low` to `high`, float64[high − low, t]
        each, apart from the factor of all samples."""
        pairs, shape = self._pairs, (high - low, self._pairs.same_counter.shape[1])
        sums = np.zeros((2, *shape, exact.WIDE), np.int64)
        for start, stop in equal_factor_runs(pairs.factor):
            into = no_sums(sums)
            _add_pairs(into, self._both, pairs, start, stop, low, high)
            add_usual(into)
        exact.carry(sums.reshape(-1, exact.WIDE))
        hz, variance = exact.to_float(sums.reshape(-1, exact.WIDE)).reshape(2, *shape)
        if self._stratum is not None:
            return hz, self._with_strata(variance, low, high, self._stratum)
        if len(self._table.shared):
            events = Covariance(self._table.shared, len(self._table), 0).by_parent()
            of_parents = no_parents(variance.size)
            _shared_pairs(events, pairs, low, high, of_parents)
            variance = variance + of_parents.total.reshape(shape)
        return hz, variance

    def _with_strata(self, variance: FloatArray, low: int, high: int, stratum: IntArray) -> FloatArray:
        """Add the contributions of shared interactions and of strata to the variance."""
        table = self._table
        shared = Covariance(table.shared, len(table), variance.size)
        strata = Strata(table, stratum, variance.size)
        for start in range(0, len(table), BLOCK):
            stop = min(start + BLOCK, len(table))
            row, column, fraction = _listed(self._pairs, start, stop, low, high)
            strata.add(row, column, fraction)
            if shared:
                used = shared.used(row)
                shared.add_sparse(row[used], column[used], fraction[used])
        variance = variance + shared.result().reshape(variance.shape)
        return variance + strata.correction(shared).reshape(variance.shape)


# ------------------------------------------------------------------------------------------ kernels
# For pairs whose first trigger is from `low` to `high`: pair (i, j) has the column (i − low) · t + j.


@inlined
def _fraction(pairs: FreePairs, a: int, b: int, plain: float, fitted: float) -> float:
    """Return the joint acceptance of two triggers times its factor: the product, or the smaller one if they
    share a counter. a, b: their positions among the acceptances. plain, fitted: `factor` of the entry."""
    i, j = pairs.first.column[a], pairs.second.column[b]
    one, other = pairs.first.value[a], pairs.second.value[b]
    joint = min(one, other) if pairs.same_counter[i, j] else one * other
    return joint * (fitted if pairs.fitted1[i] or pairs.fitted2[j] else plain)  # type: ignore[no-any-return]


@kernel
def _add_pairs(
    into: UsualSums, both: IntArray, pairs: FreePairs, start: int, stop: int, low: int, high: int
) -> None:
    """Add the joint acceptances of the pairs in some entries with equal factors. both: Σw and Σw² side by
    side."""
    first, second = pairs.first, pairs.second
    for row in range(start, stop):
        plain, fitted = pairs.factor[row, 0], pairs.factor[row, 1]
        for a in range(first.starts[row], first.starts[row + 1]):
            i = np.int64(first.column[a])
            if i < low or i >= high:
                continue
            for b in range(a if pairs.upper else second.starts[row], second.starts[row + 1]):
                f = _fraction(pairs, a, b, plain, fitted)
                if f != 0.0:
                    add_pair(into, i - low, np.int64(second.column[b]), both, row, f)


@kernel
def _shared_pairs(events: ByParent, pairs: FreePairs, low: int, high: int, sums: ParentSums) -> None:
    """Add Σ over parents of (Σ x)² − Σ x² of each pair to the total, x = w f of an event (`shared.py`)."""
    first, second, m = pairs.first, pairs.second, pairs.same_counter.shape[1]
    for parent in range(len(events.starts) - 1):
        n = 0
        for event in range(events.starts[parent], events.starts[parent + 1]):
            row = events.entry[event]
            plain, fitted = pairs.factor[row, 0], pairs.factor[row, 1]
            for a in range(first.starts[row], first.starts[row + 1]):
                i = np.int64(first.column[a])
                if i < low or i >= high:
                    continue
                for b in range(a if pairs.upper else second.starts[row], second.starts[row + 1]):
                    x = events.weight[event] * _fraction(pairs, a, b, plain, fitted)
                    n = enter((i - low) * m + np.int64(second.column[b]), x, sums, n)
        leave(sums, n)


@kernel
def _listed(
    pairs: FreePairs, start: int, stop: int, low: int, high: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column and fraction of the pairs in some entries with a joint acceptance above 0."""
    first, second, m = pairs.first, pairs.second, pairs.same_counter.shape[1]
    rows, columns, fractions = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    n = 0
    for row in range(start, stop):
        plain, fitted = pairs.factor[row, 0], pairs.factor[row, 1]
        for a in range(first.starts[row], first.starts[row + 1]):
            i = np.int64(first.column[a])
            if i < low or i >= high:
                continue
            for b in range(a if pairs.upper else second.starts[row], second.starts[row + 1]):
                f = _fraction(pairs, a, b, plain, fitted)
                if f == 0.0:
                    continue
                if n == len(rows):
                    rows, columns, fractions = doubled(rows), doubled(columns), doubled(fractions)
                rows[n], columns[n], fractions[n] = row, (i - low) * m + np.int64(second.column[b]), f
                n += 1
    return rows[:n], columns[:n], fractions[:n]


_Number = TypeVar("_Number", bound=np.generic)


class SeededPairSums:
    """The sums of `PairSums` if seeds connect triggers. Their joint acceptance is known only for the patterns
    of a block, so all pairs are summed at once."""

    def __init__(
        self, table: PatternTable, scales: Scales, fitted: tuple[BoolArray, BoolArray], upper: bool
    ) -> None:
        self._table, self._scales, self._fitted, self._upper = table, scales, fitted, upper
        self._shape = len(fitted[0]), len(fitted[1])
        self._sums = np.zeros((2, *self._shape, exact.WIDE), np.int64)
        self._shared = Covariance(table.shared, len(table), math.prod(self._shape))
        self._strata = (
            None if scales.stratum is None else Strata(table, scales.stratum, math.prod(self._shape))
        )

    def add(self, rows: slice, pairs: Pairs) -> None:
        """Add the pairs of the entries in `rows`."""
        table, factor = self._table, self._scales.of_pairs(rows)
        both = np.hstack([table.weight[rows], table.square[rows]])
        if not len(pairs.combination):
            pairs = pairs._replace(combination=np.zeros(len(both), np.int64))
        fitted = np.logical_or.outer(*self._fitted)
        for start, stop in equal_factor_runs(factor):
            some = pairs.take(slice(start, stop))
            scale = (
                np.where(fitted, factor[start, 1], factor[start, 0]) if stop else fitted.astype(np.float64)
            )
            into = no_sums(self._sums)
            _add_seeded_pairs(into, both[start:stop], scale, some, self._upper)
            add_usual(into)
            first = rows.start + start
            if self._strata:
                row, column, fraction = _listed_seeded(scale, some, self._upper)
                self._strata.add(first + row, column, fraction)
            if self._shared:
                used = np.flatnonzero(self._shared.used(slice(first, rows.start + stop)))
                row, column, fraction = _listed_seeded(scale, some.take(used), self._upper)
                self._shared.add_sparse(first + used[row], column, fraction)
        exact.carry(self._sums.reshape(-1, exact.WIDE))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        hz, square = exact.to_float(self._sums.reshape(-1, exact.WIDE)).reshape(2, *self._shape)
        variance = square + self._shared.result().reshape(self._shape)
        if self._strata:
            variance += self._strata.correction(self._shared).reshape(self._shape)
        return hz * self._scales.hz, np.maximum(variance, 0.0) * self._scales.hz**2


class UsualSums(NamedTuple):
    """The sums of pairs, and the sums that are not yet multiplied by a fraction.

    A pair has the same fraction in nearly all entries. The Σw and Σw² of these entries are added up, and
    multiplied once (`add_usual`), with the same exact result.

    sums: int64[2, s, t, WIDE], Σ w f and Σ w² f². usual: float64[s, t], the first fraction of each pair.
    summed: int64[s, t, 2 · LIMBS], Σw and Σw² side by side of the entries with this fraction.
    """

    sums: IntArray
    usual: FloatArray
    summed: IntArray


def no_sums(sums: IntArray) -> UsualSums:
    """Return empty `UsualSums` that add to existing sums."""
    shape = sums.shape[1:3]
    return UsualSums(sums, np.zeros(shape), np.zeros((*shape, 2 * exact.LIMBS), np.int64))


@inlined
def add_pair(
    into: UsualSums, i: int | np.int64, j: int | np.int64, both: IntArray, row: int, f: float
) -> None:
    """Add an entry with a fraction above 0 to a pair. both: Σw and Σw² of all entries side by side."""
    if into.usual[i, j] == 0.0:
        into.usual[i, j] = f
    if f == into.usual[i, j]:
        for limb in range(2 * exact.LIMBS):
            into.summed[i, j, limb] += both[row, limb]
    else:
        _add_both(into.sums, i, j, both[row], f)


@inlined
def _joint(pairs: Pairs, row: int, i: int, j: int) -> float:
    """Return the joint acceptance of two triggers: the product, the smaller one if they share a counter, or
    the one from seeds."""
    if pairs.of_first[i] >= 0 and pairs.of_second[j] >= 0:
        return pairs.bound[pairs.combination[row], pairs.of_first[i], pairs.of_second[j]]  # type: ignore[no-any-return]
    if pairs.same_counter[i, j]:
        return min(pairs.first[row, i], pairs.second[row, j])  # type: ignore[no-any-return]
    return pairs.first[row, i] * pairs.second[row, j]  # type: ignore[no-any-return]


@kernel
def _listed_seeded(scale: FloatArray, pairs: Pairs, upper: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column i · t + j and fraction of all pairs with a joint acceptance above 0. scale: as in
    `_add_pairs`."""
    first, second = pairs.first, pairs.second
    rows, columns, fractions = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    n, t = 0, second.shape[1]
    for row in range(first.shape[0]):
        for i in range(first.shape[1]):
            if first[row, i] == 0.0:
                continue
            for j in range(i if upper else 0, t):
                if second[row, j] == 0.0:
                    continue
                f = _joint(pairs, row, i, j) * scale[i, j]
                if f == 0.0:
                    continue
                if n == len(rows):
                    rows, columns, fractions = doubled(rows), doubled(columns), doubled(fractions)
                rows[n], columns[n], fractions[n] = row, i * t + j, f
                n += 1
    return rows[:n], columns[:n], fractions[:n]


@kernel
def _add_seeded_pairs(into: UsualSums, both: IntArray, scale: FloatArray, pairs: Pairs, upper: bool) -> None:
    """Add the joint acceptances of pairs. both: Σw and Σw² side by side. scale: float64[s, t], the factor of
    each pair in these entries (`Scales.of_pairs`)."""
    first, second = pairs.first, pairs.second
    n, m = first.shape[1], second.shape[1]
    fired = np.empty(m, np.int64)
    for row in range(first.shape[0]):
        count = 0
        for j in range(m):
            if second[row, j] > 0.0:
                fired[count] = j
                count += 1
        for i in range(n if count else 0):
            if first[row, i] == 0.0:
                continue
            for k in range(count):
                j = fired[k]
                if upper and j < i:
                    continue
                f = _joint(pairs, row, i, j) * scale[i, j]
                if f != 0.0:
                    add_pair(into, i, j, both, row, f)


@kernel
def _add_both(sums: IntArray, i: int | np.int64, j: int | np.int64, both: IntArray, f: float) -> None:
    exact.add_scaled(sums[0, i, j], both[: exact.LIMBS], f)
    exact.add_scaled(sums[1, i, j], both[exact.LIMBS :], f * f)


@inlined
def doubled(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return an array with twice the capacity."""
    return np.concatenate((array, np.empty_like(array)))


def equal_factor_runs(factor: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield the first and last entry, exclusive, of each run of equal factors float64[m, 2]."""
    ends = np.flatnonzero((factor[1:] != factor[:-1]).any(axis=1)) + 1
    yield from pairwise([0, *ends.tolist(), len(factor)])


def add_usual(sums: UsualSums) -> None:
    """Add the entries of each pair with its first fraction."""
    exact.carry(sums.summed.reshape(-1, exact.LIMBS))
    _add_usual(sums)


@kernel
def _add_usual(sums: UsualSums) -> None:
    for i in range(sums.usual.shape[0]):
        for j in range(sums.usual.shape[1]):
            if sums.usual[i, j] > 0.0:
                _add_both(sums.sums, i, j, sums.summed[i, j], sums.usual[i, j])
