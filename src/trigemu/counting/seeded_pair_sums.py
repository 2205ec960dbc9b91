"""The sums of `pair_sums.py` if seeds connect triggers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from trigemu.counting import exact
from trigemu.counting.acceptance import Pairs
from trigemu.counting.patterns import PatternTable
from trigemu.counting.scales import Scales
from trigemu.counting.shared import Covariance
from trigemu.counting.strata import Strata
from trigemu.support import BoolArray, FloatArray, IntArray, inlined, kernel

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
            _add_pairs(into, both[start:stop], scale, some, self._upper)
            add_usual(into)
            first = rows.start + start
            if self._strata:
                row, column, fraction = _listed(scale, some, self._upper)
                self._strata.add(first + row, column, fraction)
            if self._shared:
                used = np.flatnonzero(self._shared.used(slice(first, rows.start + stop)))
                row, column, fraction = _listed(scale, some.take(used), self._upper)
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
def _listed(scale: FloatArray, pairs: Pairs, upper: bool) -> tuple[IntArray, IntArray, FloatArray]:
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
def _add_pairs(into: UsualSums, both: IntArray, scale: FloatArray, pairs: Pairs, upper: bool) -> None:
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


def add_usual(of: UsualSums) -> None:
    """Add the entries of each pair with its first fraction."""
    exact.carry(of.summed.reshape(-1, exact.LIMBS))
    _add_usual(of)


@kernel
def _add_usual(of: UsualSums) -> None:
    for i in range(of.usual.shape[0]):
        for j in range(of.usual.shape[1]):
            if of.usual[i, j] > 0.0:
                _add_both(of.sums, i, j, of.summed[i, j], of.usual[i, j])
