"""Σ w f and its variance over a pattern table: for rates, and for pairs of triggers.

With w the weight of an event and f the fraction of it that a rate counts, R = Σ w f, and its variance is Σ
over interactions of (Σ w f)², the inner sum over the events that were made from one interaction. Where
reweighting fixes the total weight of each stratum, f is replaced by f minus its mean in the stratum.

Rates with a fitted trigger are judged on the half of a sample that was not used. For every rate

    g = f₀ + s (f − f₀)  in the unseen half,     g = f₀  in the other half,

where f₀ is the fraction without the fitted triggers and s the factor from the half to the full sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.counting.acceptance import Acceptance
from trigemu.counting.patterns import PatternTable, SharedInteractions, with_data
from trigemu.menus.menu import Menu

#: Patterns per block: enough for a negligible overhead, few enough for memory.
BLOCK = 2**14
#: The largest number of triggers times patterns in a block.
_ACCEPTED = 2**23
#: The largest number of pairs of triggers times patterns in a block, if seeds connect triggers.
_PAIRS = 2**23
#: The largest number of pairs of events of one interaction, or of pairs of triggers times strata, at a time.
_AT_ONCE = 2**22
#: Two fractions that differ by less are equal: products of other factors give the last digits.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Scales:
    """Factors that convert the sums of a table with m entries to rates in Hz."""

    unseen: FloatArray  # float64[m]: s in the unseen half, 0 in the other; 1 if nothing was fitted
    everything: float = 1.0  # the factor on all rates, which adapts the crossing rate
    # int64[m], the stratum of each entry, if the total weight of each stratum is fixed.
    stratum: IntArray | None = None

    def with_unseen_half(
        self, rows: slice | IntArray, fractions: sparse.csr_array, without: sparse.csr_array
    ) -> sparse.csr_array:
        """Return g of some entries, from f and f₀: float64[m, columns] each. If both are equal, it is f₀ to
        the last bit."""
        return without + sparse.diags_array(self.unseen[rows]) @ (fractions - without)


def pattern_blocks(table: PatternTable, *menus: Menu) -> Iterator[slice]:
    """Yield the entries of a table in blocks, whose size depends on the menus."""
    seeded = sum(len(menu.triggers) for menu in menus if any(trigger.seed for trigger in menu.enabled))
    triggers = sum(len(menu.triggers) for menu in menus)
    size = min(BLOCK, max(16, _PAIRS // max(1, seeded**2)), max(16, _ACCEPTED // max(1, triggers)))
    for start in range(0, len(table), size):
        yield slice(start, min(start + size, len(table)))


class _Strata:
    """The weight in each of s strata of a table with m entries."""

    def __init__(self, table: PatternTable, stratum: IntArray, interactions: SharedInteractions) -> None:
        m, n = len(table), int(stratum.max(initial=0)) + 1
        inside = sparse.csr_array((np.ones(m), (stratum, np.arange(m))), (n, m))
        weight = np.bincount(stratum, table.weight, n)[stratum]
        share = np.divide(table.weight, weight, out=np.zeros(m), where=weight != 0)
        alone = table.square - interactions.squares
        of_interaction = interactions.weights @ inside.T
        #: float64[s, m]: the mean fraction in each stratum is `share` @ f
        self.share = inside @ sparse.diags_array(share)
        #: float64[s, m]: Σ over interactions of Σ w of a stratum times Σ w f is `cross` @ f
        self.cross = inside @ sparse.diags_array(alone) + of_interaction.T @ interactions.weights
        #: float64[s, s]: the same of Σ w of two strata
        self.both = np.diag(inside @ alone) + (of_interaction.T @ of_interaction).toarray()


class RateSums:
    """Sums of weights and their variances, for columns of fractions of a pattern table.

    If the scales fix the total weight of strata, errors are those of the accepted share of each.

    Parameters
    ----------
    table : PatternTable
        The table, with events of s samples.
    scales : Scales
        The factors that convert its sums to Hz (`Scales.with_unseen_half`).
    columns : int
        The number of columns.
    constant : float64[columns], optional
        The part of each fraction that is the same in all events, as of a random trigger. The weight of all
        events is known, so this part has no error.

    Attributes
    ----------
    hz, events : ndarray
        float64[s, columns], Σ w f in Hz; int64[s, columns], the number of events with f ≠ 0.
    largest, fraction : ndarray
        float64[columns], the largest |w f| of an event in Hz; the largest |f|.
    varying : RateSums or None
        The sums of the `varying_columns` without their constant parts.
    """

    def __init__(
        self, table: PatternTable, scales: Scales, columns: int, constant: FloatArray | None = None
    ) -> None:
        self._table, self._everything = table, scales.everything
        self._interactions = table.interactions
        self.strata = (
            _Strata(table, scales.stratum, self._interactions) if scales.stratum is not None else None
        )
        samples = int(table.sample.max(initial=0)) + 1
        self.hz, self.events = np.zeros((samples, columns)), np.zeros((samples, columns), np.int64)
        self.largest, self.fraction, self._square = np.zeros((3, columns))
        n = len(self.strata.both) if self.strata else 0
        self._mean, self._cross = np.zeros((2, n, columns))
        self._shared: list[tuple[IntArray, sparse.csr_array]] = []
        self.varying_columns = np.flatnonzero(constant if constant is not None else [])
        self.varying: RateSums | None = None
        if constant is not None and len(self.varying_columns):
            self._constant = constant[self.varying_columns]
            self.varying = RateSums(table, scales, len(self.varying_columns))

    def add(self, rows: slice | IntArray, fractions: FloatArray | sparse.csr_array) -> None:
        """Add the `fractions`, float64[m, columns], of the m entries in `rows`."""
        table = self._table
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        fractions = sparse.csr_array(fractions)
        if self.varying:
            rest = fractions[:, self.varying_columns].toarray() - self._constant
            self.varying.add(numbers, np.where(np.abs(rest) < ROUNDING, 0.0, rest))
        place = table.sample[numbers], np.arange(len(numbers))
        shape = len(self.hz), len(numbers)
        some = fractions.data != 0.0
        self.hz += self._everything * (sparse.csr_array((table.weight[numbers], place), shape) @ fractions)
        self.events += sparse.csr_array((table.n[numbers], place), shape) @ with_data(fractions, some)
        self._square += table.square[numbers] @ with_data(fractions, fractions.data**2)
        size = np.abs(fractions.data)
        np.maximum.at(self.fraction, fractions.indices, size)
        size *= np.repeat(table.largest[numbers] * self._everything, np.diff(fractions.indptr))
        np.maximum.at(self.largest, fractions.indices, size)
        if self._interactions:
            some = np.flatnonzero(self._interactions.squares[numbers])
            self._shared.append((numbers[some], fractions[some]))
        if self.strata:
            self._mean += self.strata.share[:, numbers] @ fractions
            self._cross += self.strata.cross[:, numbers] @ fractions

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[columns] each."""
        variance = self.squares.copy()
        if self.varying:
            variance[self.varying_columns] = self.varying.squares
        return self.hz.sum(axis=0), variance

    @cached_property
    def squares(self) -> FloatArray:
        """The variance in Hz², float64[columns], as if the constant part had an error as well."""
        variance = self._square.copy()
        if self._shared:
            rows = np.concatenate([numbers for numbers, _ in self._shared])
            fractions = sparse.vstack([part for _, part in self._shared], "csr")
            self._shared.clear()  # they take most of the memory
            variance += self._interactions.variance(rows, fractions)
        if self.strata:
            variance += ((self.strata.both @ self._mean - 2 * self._cross) * self._mean).sum(axis=0)
        return np.maximum(variance, 0.0) * self._everything**2


class PairSums:
    """The sums over events that two triggers both accept, one of s and one of t: or({s}) + or({t}) −
    or({s, t}).

    Triggers that neither share a counter nor are connected by seeds accept independently: their sums are
    products of sparse matrices. The others are summed pair by pair.

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
        self._accepted: list[sparse.csr_array] = []
        self._dependent: tuple[IntArray, IntArray] | None = None
        self._sums: list[RateSums] = []

    def add(self, rows: slice, acceptance: Acceptance) -> None:
        """Add the entries in `rows`."""
        s, t = self._fitted.shape
        if self._dependent is None:
            first, second = np.indices((s, t)).reshape(2, -1)
            chosen = acceptance.dependent(first, second + self._shift)
            self._dependent = first[chosen], second[chosen]
            self._sums = [
                RateSums(self._table, self._scales, int(chosen.sum())) for _ in range(1 + self._fitted.any())
            ]
        self._accepted.append(acceptance.accepted)
        first, second = self._dependent
        joint = acceptance.joint(first, second + self._shift)
        unseen = sparse.diags_array(self._scales.unseen[rows])
        for sums, fractions in zip(self._sums, (joint, unseen @ joint), strict=False):
            sums.add(rows, fractions)

    @property
    def _shift(self) -> int:
        """The position of the second triggers in an `Acceptance`."""
        return 0 if self._same else len(self._fitted)

    @cached_property
    def _lists(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The acceptances of the first and of the second triggers, float64[m, s] and float64[m, t]."""
        s, t = self._fitted.shape
        if not self._accepted:
            return sparse.csr_array((0, s)), sparse.csr_array((0, t))
        accepted = sparse.vstack(self._accepted, "csr")
        return accepted[:, :s], accepted[:, self._shift : self._shift + t]

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[s, t] each."""
        results = []
        factors = (np.ones(len(self._table)), self._scales.unseen)
        for factor, sums in zip(factors, self._sums, strict=False):
            hz, variance = self._independent(factor)
            hz[self._dependent], variance[self._dependent] = sums.result()
            results.append((hz, variance))
        if not results:
            return np.zeros(self._fitted.shape), np.zeros(self._fitted.shape)
        hz, variance = (
            np.where(self._fitted, of_half, of_all)
            for of_all, of_half in zip(results[0], results[-1], strict=True)
        )
        variance[self._constant] = 0.0
        return hz, variance

    def _independent(self, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same for triggers that accept independently. factor: float64[m], of each entry."""
        (a, b), table, everything = self._lists, self._table, self._scales.everything
        interactions = table.interactions
        weights = interactions.weights @ sparse.diags_array(factor)
        alone = (table.square - interactions.squares) * factor**2
        hz = _product(a, table.weight * factor, b)
        variance = _product(a.power(2), alone + weights.power(2).sum(axis=0), b.power(2))
        for first, second, products in _pairs_of_entries(weights):
            variance += 2.0 * _product(
                sparse.csr_array(a[first].multiply(a[second])),
                products,
                sparse.csr_array(b[first].multiply(b[second])),
            )
        if strata := self._sums[0].strata:
            n, (s, t) = len(strata.both), self._fitted.shape
            shares, crosses = strata.share.toarray() * factor, strata.cross.toarray() * factor
            step = max(1, _AT_ONCE // max(1, n * t))
            for low in range(0, s, step):
                part = a[:, low : low + step]
                mean, cross = (
                    np.array([_product(part, weight, b) for weight in weights_of])
                    for weights_of in (shares, crosses)
                )
                correction = np.tensordot(strata.both, mean, 1) - 2 * cross
                variance[low : low + step] += (correction * mean).sum(axis=0)
        return hz * everything, np.maximum(variance, 0.0) * everything**2

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the first and of the second triggers by themselves in Hz, float64[s, t] each,
        from the events that each pair is from: the unseen half, scaled, if one of the two is fitted."""
        weight = self._table.weight * self._scales.everything
        first, second = (
            [(weight * factor) @ accepted for factor in (1.0, self._scales.unseen)]
            for accepted in self._lists
        )
        return (
            np.where(self._fitted, first[1][:, None], first[0][:, None]),
            np.where(self._fitted, second[1], second[0]),
        )


def _product(a: sparse.csr_array, weight: FloatArray, b: sparse.csr_array) -> FloatArray:
    """Return Σ over rows of a · weight · b, float64[columns of a, columns of b]."""
    product: FloatArray = (a.T @ sparse.diags_array(weight) @ b).toarray()
    return product


def _pairs_of_entries(weights: sparse.csr_array) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield all pairs of entries with events of the same interaction, with the products of their Σw.
    weights: float64[k, m]."""
    starts, lengths = weights.indptr[:-1], np.diff(weights.indptr)
    n_pairs = np.cumsum(lengths * (lengths - 1) // 2)
    low = 0
    while low < len(lengths):
        done = n_pairs[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(n_pairs, done + _AT_ONCE, "right")))
        for length in np.unique(lengths[low:high]).tolist():
            i, j = np.triu_indices(length, 1)
            rows = starts[low:high][lengths[low:high] == length, None]
            first, second = (rows + i).ravel(), (rows + j).ravel()
            if len(first):
                products = weights.data[first] * weights.data[second]
                yield weights.indices[first], weights.indices[second], products
        low = high
