"""Σ w f and its variance for pairs of triggers, where f is the probability that both accept an event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.kernels import inlined, kernel
from trigemu.counting.acceptance import Acceptance, Numbers, Rows
from trigemu.counting.patterns import PatternTable
from trigemu.counting.sums import Scales, Strata


class _List(NamedTuple):
    """The rows of some triggers in all patterns; the rows of pattern p begin at start[p]."""

    start: Numbers  # int32[m + 1]
    part: Numbers  # part, outcome, trigger, counter: int32[k]; the triggers are numbered from 0
    outcome: Numbers
    trigger: Numbers
    counter: Numbers
    accept: FloatArray  # accept, probability: float64[k]
    probability: FloatArray
    alone: FloatArray  # float64[k]: their product; the parts of a pattern are independent


@inlined
def _in_part(p: float, q: float, probability: float, same_outcome: bool, same_counter: bool) -> float:
    """Return what two rows of a part add to the probability that both triggers accept. Given the outcome,
    counters are independent; of those that share one, the less prescaled accepts whenever the other does."""
    both = min(p, q) if same_counter else p * q
    return both * probability if same_outcome else 0.0


@kernel
def _sum_patterns(
    a: _List, b: _List, same: bool, weight: FloatArray, square: FloatArray, sums: FloatArray
) -> None:
    """Add Σ weight f and Σ square f² of each pair to `sums`, float64[s, t, 2]; weight, square: float64[m].
    f² is right only if a trigger has a single row in a pattern. same: a and b are the same, and each two rows
    count once."""
    for row in range(len(weight)):
        if weight[row] == 0.0 and square[row] == 0.0:
            continue
        for i in range(a.start[row], a.start[row + 1]):
            alone, p, probability, s = a.alone[i], a.accept[i], a.probability[i], a.trigger[i]
            part, outcome, counter = a.part[i], a.outcome[i], a.counter[i]
            for j in range(i if same else b.start[row], b.start[row + 1]):
                f, t = alone * b.alone[j], b.trigger[j]
                if part == b.part[j]:
                    alike = outcome == b.outcome[j], counter == b.counter[j]
                    f = _in_part(p, b.accept[j], probability, alike[0], alike[1])
                sums[s, t, 0] += weight[row] * f
                sums[s, t, 1] += square[row] * f * f


@kernel
def _sum_interactions(
    a: _List,
    b: _List,
    same: bool,
    start: Numbers,
    row: Numbers,
    weight: FloatArray,
    sums: FloatArray,
) -> None:
    """Add Σ over interactions of (Σ weight f)² of each pair to sums[:, :, 1]. The sums over patterns of
    interaction k are those in start[k] ≤ n < start[k + 1], with `weight` in pattern `row`."""
    n_a, n_b = sums.shape[:2]
    place_a, place_b = np.full(n_a, -1), np.full(n_b, -1)  # of triggers in the table of one interaction
    listed_a, listed_b = np.zeros(n_a, np.int64), np.zeros(n_b, np.int64)
    table = np.zeros(n_a * n_b)
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
                alone, p, probability, s = a.alone[i], a.accept[i], a.probability[i], place_a[a.trigger[i]]
                part, outcome, counter = a.part[i], a.outcome[i], a.counter[i]
                for j in range(i if same else b.start[row[n]], b.start[row[n] + 1]):
                    f, t = alone * b.alone[j], place_b[b.trigger[j]]
                    if part == b.part[j]:
                        alike = outcome == b.outcome[j], counter == b.counter[j]
                        f = _in_part(p, b.accept[j], probability, alike[0], alike[1])
                    first, second = (min(s, t), max(s, t)) if same else (s, t)
                    table[first * n_b + second] += weight[n] * f
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
        self._rows: list[Rows] = []
        self._counter = np.zeros(0, np.int32)
        self._seeded = False

    def add(self, rows: slice, acceptance: Acceptance) -> None:
        """Add the entries in `rows`."""
        pattern = acceptance.rows.pattern + np.int32(rows.start)
        self._rows.append(acceptance.rows._replace(pattern=pattern))
        self._counter, self._seeded = acceptance.counter, bool(acceptance.seeded.nodes)

    @cached_property
    def _lists(self) -> tuple[_List, _List]:
        """The rows of the first and of the second triggers."""
        none, no_number = np.zeros(0, np.int32), np.zeros(0)
        parts = [Rows(none, none, none, none, none, no_number, no_number, no_number > 0), *self._rows]
        rows = Rows(*map(np.concatenate, zip(*parts, strict=True)))
        self._rows.clear()
        if self._same:
            first = self._list(rows, 0)
            return first, first
        is_first = rows.trigger < len(self._fitted)
        return self._list(rows.take(is_first), 0), self._list(rows.take(~is_first), len(self._fitted))

    def _list(self, rows: Rows, first: int) -> _List:
        accept = rows.accept, rows.probability
        numbers = rows.part, rows.outcome, rows.trigger - np.int32(first), self._counter[rows.trigger]
        start = np.searchsorted(rows.pattern, np.arange(len(self._table) + 1, dtype=np.int32)).astype(
            np.int32
        )
        return _List(start, *numbers, *accept, np.multiply(*accept))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        hz, variance = self._sums(np.ones(len(self._table)))
        if self._fitted.any():
            of_half = self._sums(self._scales.unseen)
            hz, variance = (
                np.where(self._fitted, half, full) for full, half in zip((hz, variance), of_half, strict=True)
            )
        variance[self._constant] = 0.0
        return hz, variance

    def _sums(self, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same from entries scaled by a factor, float64[m]."""
        table, scales, interactions = self._table, self._scales, self._table.interactions
        lists = (*self._lists, self._same)
        weights, square = interactions.weights, (table.square - interactions.squares) * factor**2
        sums = np.zeros((*self._fitted.shape, 2))
        if self._seeded:
            _sum_patterns(*lists, table.weight * factor, np.zeros(len(table)), sums)
            each = np.arange(len(table) + 1, dtype=np.int32)
            _sum_interactions(*lists, each, each[:-1], np.sqrt(np.maximum(square, 0.0)), sums)
        else:
            _sum_patterns(*lists, table.weight * factor, square, sums)
        in_pattern = weights.data * factor[weights.indices]
        _sum_interactions(*lists, weights.indptr, weights.indices, in_pattern, sums)
        hz, variance = map(self._symmetric, np.moveaxis(sums, 2, 0))
        if scales.stratum is not None:
            variance += self._correction(Strata(table, scales.stratum, interactions), factor)
        return hz * scales.everything, np.maximum(variance, 0.0) * scales.everything**2

    def _symmetric(self, sums: FloatArray) -> FloatArray:
        """Add the sums of pairs in the other order, if both lists are the same."""
        return sums + sums.T - np.diag(np.diag(sums)) if self._same else sums

    def _correction(self, strata: Strata, factor: FloatArray) -> FloatArray:
        """Return what the fixed weight of strata adds to the variance, float64[s, t]."""
        correction, none = np.zeros(self._fitted.shape), np.zeros(len(factor))

        def summed(weight: FloatArray) -> FloatArray:
            sums = np.zeros((*correction.shape, 2))
            _sum_patterns(*self._lists, self._same, weight * factor, none, sums)
            return self._symmetric(sums[..., 0])

        shares, crosses = strata.share.toarray(), strata.cross.toarray()
        for share, cross in zip(shares, crosses, strict=True):
            correction -= 2.0 * summed(share) * summed(cross)
        sizes, vectors = np.linalg.eigh(strata.both)
        for size, vector in zip(sizes, vectors.T, strict=True):  # a sum of squares: few at a time
            correction += size * summed(vector @ shares) ** 2
        return correction

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the first and of the second triggers by themselves in Hz, float64[s, t] each,
        from the events that each pair is from: the unseen half, scaled, if one of the two is fitted."""
        weight = self._table.weight * self._scales.everything
        alone = []
        for triggers, n in zip(self._lists, self._fitted.shape, strict=True):
            row = np.repeat(np.arange(len(weight)), np.diff(triggers.start))
            for factor in (1.0, self._scales.unseen):
                alone.append(np.bincount(triggers.trigger, (weight * factor)[row] * triggers.alone, n))
        first, first_half, second, second_half = alone
        return (
            np.where(self._fitted, first_half[:, None], first[:, None]),
            np.where(self._fitted, second_half, second),
        )
