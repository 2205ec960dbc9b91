"""Σ w f and its variance for pairs of triggers, where f is the probability that both accept an event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inlined, kernel
from trigemu.counting.acceptance import Acceptance
from trigemu.counting.patterns import PatternTable
from trigemu.counting.sums import RateSums, Scales, Strata

#: The largest number of pairs of triggers times strata at a time.
_AT_ONCE = 2**22


class _Accepted(NamedTuple):
    """The probabilities that t triggers accept m patterns by themselves, as a sparse matrix."""

    start: IntArray  # int32[m + 1], of the triggers of each pattern
    trigger: IntArray  # int32[k], ascending within a pattern
    probability: FloatArray  # float64[k]
    counter: IntArray  # int64[t], the prescale counter of each trigger

    @classmethod
    def of(cls, matrix: sparse.csr_array, counter: IntArray) -> _Accepted:
        matrix.sort_indices()
        return cls(matrix.indptr, matrix.indices, matrix.data, counter)

    def matrix(self) -> sparse.csr_array:
        """float64[m, t]."""
        shape = len(self.start) - 1, len(self.counter)
        return sparse.csr_array((self.probability, self.trigger, self.start), shape)


@inlined
def _both(a: _Accepted, i: int, b: _Accepted, j: int) -> float:
    """Return the probability that both triggers accept, without seeds: of those that share a counter, the
    less prescaled accepts whenever the other does."""
    p, q = a.probability[i], b.probability[j]
    both: float = min(p, q) if a.counter[a.trigger[i]] == b.counter[b.trigger[j]] else p * q
    return both


@kernel
def _sum_patterns(
    a: _Accepted, b: _Accepted, same: bool, weight: FloatArray, square: FloatArray, sums: FloatArray
) -> None:
    """Add Σ weight f and Σ square f² of each pair to `sums`, float64[s, t, 2]; weight, square: float64[m].
    same: a and b are the same, and only pairs (i, j ≥ i) count."""
    for row in range(len(weight)):
        for i in range(a.start[row], a.start[row + 1]):
            for j in range(i if same else b.start[row], b.start[row + 1]):
                f = _both(a, i, b, j)
                pair = sums[a.trigger[i], b.trigger[j]]
                pair[0] += weight[row] * f
                pair[1] += square[row] * f * f


@kernel
def _sum_interactions(
    a: _Accepted,
    b: _Accepted,
    same: bool,
    start: IntArray,
    row: IntArray,
    weight: FloatArray,
    sums: FloatArray,
) -> None:
    """Add Σ over interactions of (Σ weight f)² of each pair to sums[:, :, 1]. The sums over patterns of
    interaction k are those in start[k] ≤ n < start[k + 1], with `weight` in pattern `row`."""
    s, t = sums.shape[:2]
    place_a, place_b = np.full(s, -1), np.full(t, -1)  # of triggers in the table of one interaction
    listed_a, listed_b = np.zeros(s, np.int64), np.zeros(t, np.int64)
    table = np.zeros(s * t)
    for k in range(len(start) - 1):
        n_a, n_b = 0, 0
        for n in range(start[k], start[k + 1]):
            for i in range(a.start[row[n]], a.start[row[n] + 1]):
                if place_a[a.trigger[i]] < 0:
                    place_a[a.trigger[i]], listed_a[n_a] = n_a, a.trigger[i]
                    n_a += 1
            for j in range(b.start[row[n]], b.start[row[n] + 1]):
                if place_b[b.trigger[j]] < 0:
                    place_b[b.trigger[j]], listed_b[n_b] = n_b, b.trigger[j]
                    n_b += 1
        for n in range(start[k], start[k + 1]):
            for i in range(a.start[row[n]], a.start[row[n] + 1]):
                first = place_a[a.trigger[i]] * n_b
                for j in range(i if same else b.start[row[n]], b.start[row[n] + 1]):
                    table[first + place_b[b.trigger[j]]] += weight[n] * _both(a, i, b, j)
        for i in range(n_a):
            for j in range(n_b):
                summed = table[i * n_b + j]
                if summed != 0.0:
                    sums[listed_a[i], listed_b[j], 1] += summed * summed
                    table[i * n_b + j] = 0.0
            place_a[listed_a[i]] = -1
        for j in range(n_b):
            place_b[listed_b[j]] = -1


class PairSums:
    """The sums over events that two triggers both accept, one of s and one of t: or({s}) + or({t}) −
    or({s, t}).

    Pairs that seeds connect are summed as columns of `RateSums`, the others by kernels.

    fitted: bool[s] and bool[t], whether a trigger is judged on the unseen half. constant: whether a trigger
    accepts all events alike; the rate of two such triggers has no error. same: whether both lists are the
    same; else `add` takes an `Acceptance` of the first triggers followed by the second ones. Blocks are added
    in the order of the table, and cover it.
    """

    def __init__(
        self,
        table: PatternTable,
        scales: Scales,
        fitted: Sequence[BoolArray],
        constant: Sequence[BoolArray],
        same: bool = False,
    ) -> None:
        self._table, self._scales, self._same = table, scales, same
        self._fitted, self._constant = np.logical_or.outer(*fitted), np.logical_and.outer(*constant)
        self._blocks: list[sparse.csr_array] = []
        self._counter = np.zeros(0, np.int64)
        self._connected: tuple[IntArray, ...] = ()
        self._sums: list[RateSums] = []

    def add(self, rows: slice, acceptance: Acceptance) -> None:
        """Add the entries in `rows`."""
        if not self._connected:
            self._counter = acceptance.counter
            by_seeds = acceptance.node >= 0
            (s, _), shift = self._fitted.shape, self._shift
            self._connected = np.nonzero(np.outer(by_seeds[:s], by_seeds[shift:]))
            if len(self._connected[0]):
                halves = 1 + self._fitted.any()
                self._sums = [
                    RateSums(self._table, self._scales, len(self._connected[0])) for _ in range(halves)
                ]
        self._blocks.append(acceptance.accepted)
        if self._sums:
            first, second = self._connected
            joint = acceptance.joint(first, second + self._shift)
            unseen = sparse.diags_array(self._scales.unseen[rows])
            for sums, fractions in zip(self._sums, (joint, unseen @ joint), strict=False):
                sums.add(rows, fractions)

    @property
    def _shift(self) -> int:
        """The position of the second triggers in an `Acceptance`."""
        return 0 if self._same else len(self._fitted)

    @cached_property
    def _lists(self) -> tuple[_Accepted, _Accepted]:
        """The acceptances of the first and of the second triggers."""
        (s, t), shift = self._fitted.shape, self._shift
        if not self._blocks:  # of an empty table
            self._blocks, self._counter = [sparse.csr_array((0, shift + t))], np.arange(shift + t)
        accepted = sparse.vstack(self._blocks, "csr")
        self._blocks.clear()
        first = _Accepted.of(accepted[:, :s], self._counter[:s])
        return first, first if self._same else _Accepted.of(accepted[:, s:], self._counter[s:])

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        hz, variance = self._unconnected(np.ones(len(self._table)))
        if self._fitted.any():
            of_half = self._unconnected(self._scales.unseen)
            hz, variance = (
                np.where(self._fitted, half, full) for full, half in zip((hz, variance), of_half, strict=True)
            )
        if self._sums:
            results = [sums.result() for sums in self._sums]
            fitted = self._fitted[self._connected]
            hz[self._connected], variance[self._connected] = (
                np.where(fitted, half, full) for full, half in zip(results[0], results[-1], strict=True)
            )
        if self._same:  # symmetric to the last bit
            hz, variance = (np.triu(both) + np.triu(both, 1).T for both in (hz, variance))
        variance[self._constant] = 0.0
        return hz, variance

    def _unconnected(self, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same for pairs that no seeds connect. factor: float64[m], of each entry."""
        (a, b), table, scales = self._lists, self._table, self._scales
        interactions = table.interactions
        weights = interactions.weights
        sums = np.zeros((*self._fitted.shape, 2))
        _sum_patterns(
            a, b, self._same, table.weight * factor, (table.square - interactions.squares) * factor**2, sums
        )
        in_pattern = weights.data * factor[weights.indices]
        _sum_interactions(a, b, self._same, weights.indptr, weights.indices, in_pattern, sums)
        hz, variance = np.moveaxis(sums, 2, 0)
        if scales.stratum is not None:
            variance += self._correction(Strata(table, scales.stratum, interactions), factor)
        return hz * scales.everything, np.maximum(variance, 0.0) * scales.everything**2

    def _correction(self, strata: Strata, factor: FloatArray) -> FloatArray:
        """Return what the fixed weight of strata adds to the variance, float64[s, t]."""
        (a, b), n, (s, t) = self._lists, len(strata.both), self._fitted.shape
        shares, crosses = (part.toarray() * factor for part in (strata.share, strata.cross))
        none, correction = np.zeros(len(factor)), np.zeros((s, t))
        step = max(1, _AT_ONCE // max(1, n * t))
        for low in range(0, s, step):
            part = _Accepted.of(a.matrix()[:, low : low + step], a.counter[low : low + step])
            mean, cross = np.zeros((2, n, len(part.counter), t, 2))
            for stratum in range(n):
                _sum_patterns(part, b, False, shares[stratum], none, mean[stratum])
                _sum_patterns(part, b, False, crosses[stratum], none, cross[stratum])
            mean, cross = mean[..., 0], cross[..., 0]
            correction[low : low + step] = ((np.tensordot(strata.both, mean, 1) - 2 * cross) * mean).sum(0)
        return correction

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the first and of the second triggers by themselves in Hz, float64[s, t] each,
        from the events that each pair is from: the unseen half, scaled, if one of the two is fitted."""
        weight = self._table.weight * self._scales.everything
        first, second = (
            [(weight * factor) @ accepted.matrix() for factor in (1.0, self._scales.unseen)]
            for accepted in self._lists
        )
        return (
            np.where(self._fitted, first[1][:, None], first[0][:, None]),
            np.where(self._fitted, second[1], second[0]),
        )
