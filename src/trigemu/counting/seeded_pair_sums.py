"""The sums of `pair_sums.py` if seeds connect triggers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

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
    """The sums of `PairSums` if seeds connect triggers: the joint acceptance of two of them is known only for
    the patterns of a block, so that all pairs are summed at once."""

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
        combination: Any = pairs.combination if len(pairs.combination) else np.zeros(len(both), np.int64)
        of: Any = (pairs.alike, pairs.bound, pairs.of_first, pairs.of_second, self._upper)
        fitted = np.logical_or.outer(*self._fitted)
        for start, stop in alike_entries(factor):
            some = slice(start, stop)
            accepted: Any = (pairs.first[some], pairs.second[some], combination[some])
            scale = (
                np.where(fitted, factor[start, 1], factor[start, 0]) if stop else fitted.astype(np.float64)
            )
            usual, summed = np.zeros(self._shape), np.zeros((*self._shape, 2 * exact.LIMBS), np.int64)
            _add_pairs(self._sums, summed, usual, both[some], scale, *accepted, *of)
            add_usual(self._sums, summed, usual)
            first = rows.start + start
            if self._strata:
                row, place, fraction = _pairs_of(scale, *accepted, *of)
                self._strata.add(first + row, place, fraction)
            if self._shared:
                used = np.flatnonzero(self._shared.used(slice(first, rows.start + stop)))
                row, place, fraction = _pairs_of(scale, *(array[used] for array in accepted), *of)
                self._shared.add_sparse(first + used[row], place, fraction)
        exact.carry(self._sums.reshape(-1, exact.WIDE))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        hz, square = exact.to_float(self._sums.reshape(-1, exact.WIDE)).reshape(2, *self._shape)
        variance = square + self._shared.result().reshape(self._shape)
        if self._strata:
            variance += self._strata.correction(self._shared).reshape(self._shape)
        return hz * self._scales.hz, np.maximum(variance, 0.0) * self._scales.hz**2


@inlined
def _pair(
    row: int,
    i: int,
    j: int,
    first: FloatArray,
    second: FloatArray,
    combination: IntArray,
    alike: BoolArray,
    bound: FloatArray,
    of_first: IntArray,
    of_second: IntArray,
) -> float:
    """Return the joint acceptance of two triggers: the product, the smaller one if they share a counter, or
    that given by seeds."""
    if of_first[i] >= 0 and of_second[j] >= 0:
        return bound[combination[row], of_first[i], of_second[j]]  # type: ignore[no-any-return]
    if alike[i, j]:
        return min(first[row, i], second[row, j])  # type: ignore[no-any-return]
    return first[row, i] * second[row, j]  # type: ignore[no-any-return]


@kernel
def _pairs_of(
    scale: FloatArray,
    first: FloatArray,
    second: FloatArray,
    combination: IntArray,
    alike: BoolArray,
    bound: FloatArray,
    of_first: IntArray,
    of_second: IntArray,
    upper: bool,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column i · t + j and fraction of all pairs with a joint acceptance above 0. scale: as in
    `_add_pairs`."""
    rows, places, fractions = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    n, t = 0, second.shape[1]
    for row in range(first.shape[0]):
        for i in range(first.shape[1]):
            if first[row, i] == 0.0:
                continue
            for j in range(i if upper else 0, t):
                if second[row, j] == 0.0:
                    continue
                f = _pair(row, i, j, first, second, combination, alike, bound, of_first, of_second)
                f *= scale[i, j]
                if f == 0.0:
                    continue
                if n == len(rows):
                    rows, places, fractions = doubled(rows), doubled(places), doubled(fractions)
                rows[n], places[n], fractions[n] = row, i * t + j, f
                n += 1
    return rows[:n], places[:n], fractions[:n]


@kernel
def _add_pairs(
    sums: IntArray,
    summed: IntArray,
    usual: FloatArray,
    both: IntArray,
    scale: FloatArray,
    first: FloatArray,
    second: FloatArray,
    combination: IntArray,
    alike: BoolArray,
    bound: FloatArray,
    of_first: IntArray,
    of_second: IntArray,
    upper: bool,
) -> None:
    """Add the joint acceptances of pairs. both: Σw and Σw² side by side. scale: float64[s, t], the factor of
    each pair in these rows (`Scales.of_pairs`). A pair has the same fraction in nearly all entries:
    `add_usual` multiplies those with its first fraction once, with the same exact result."""
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
                f = _pair(row, i, j, first, second, combination, alike, bound, of_first, of_second)
                f *= scale[i, j]
                if f == 0.0:
                    continue
                if usual[i, j] == 0.0:
                    usual[i, j] = f
                if f == usual[i, j]:
                    for limb in range(2 * exact.LIMBS):
                        summed[i, j, limb] += both[row, limb]
                else:
                    add_both(sums, i, j, both[row], f)


@kernel
def add_both(sums: IntArray, i: int | np.int64, j: int | np.int64, both: IntArray, f: float) -> None:
    exact.add_scaled(sums[0, i, j], both[: exact.LIMBS], f)
    exact.add_scaled(sums[1, i, j], both[exact.LIMBS :], f * f)


@inlined
def doubled(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return an array with room for as many numbers again."""
    return np.concatenate((array, np.empty_like(array)))


def alike_entries(factor: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield the first and last entry, exclusive, of each run of equal factors float64[m, 2]."""
    ends = np.flatnonzero((factor[1:] != factor[:-1]).any(axis=1)) + 1
    yield from pairwise([0, *ends.tolist(), len(factor)])


def add_usual(sums: IntArray, summed: IntArray, usual: FloatArray) -> None:
    """Add the entries of each pair that have its first fraction, `usual`, whose Σw and Σw² are `summed`."""
    exact.carry(summed.reshape(-1, exact.LIMBS))
    _add_usual(sums, summed, usual)


@kernel
def _add_usual(sums: IntArray, summed: IntArray, usual: FloatArray) -> None:
    for i in range(usual.shape[0]):
        for j in range(usual.shape[1]):
            if usual[i, j] > 0.0:
                add_both(sums, i, j, summed[i, j], usual[i, j])
