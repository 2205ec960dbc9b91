"""Σ w f and its variance over a pattern table.

With w the weight of an event and f the fraction of it that a rate counts, R = Σ w f, and its variance is Σ
over interactions of (Σ w f)², the inner sum over the events that were made from one interaction. Where
reweighting fixes the total weight of each stratum, f is replaced by f minus its mean in the stratum.

Rates with a fitted trigger are judged on the half of a sample that was not used. For every rate

    g = f₀ + s (f − f₀)  in the unseen half,     g = f₀  in the other half,

where f₀ is the fraction without the fitted triggers and s the factor from the half to the full sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.counting.patterns import PatternTable, SharedInteractions
from trigemu.menus.menu import Menu

#: Patterns per block: enough for a negligible overhead, few enough for memory.
BLOCK = 2**14
#: The largest number of triggers times patterns in a block, of which few fire.
_ACCEPTED = 2**25
#: The largest number of pairs of triggers times patterns in a block, if seeds connect triggers.
_PAIRS = 2**23
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


class Strata:
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

    If the scales fix the total weight of strata, errors are those of the accepted share of each. constant:
    float64[columns], the part of each fraction that is the same in all events, as of a random trigger. The
    weight of all events is known, so this part has no error.
    """

    def __init__(
        self, table: PatternTable, scales: Scales, columns: int, constant: FloatArray | None = None
    ) -> None:
        self._table, self._everything = table, scales.everything
        self._interactions = table.interactions
        self._alone = table.square - self._interactions.squares
        self.strata = (
            Strata(table, scales.stratum, self._interactions) if scales.stratum is not None else None
        )
        samples = int(table.sample.max(initial=0)) + 1
        # float64[s, columns], Σ w f of s samples in Hz; int64[s, columns], the number of events with f ≠ 0
        self.hz, self.events = np.zeros((samples, columns)), np.zeros((samples, columns), np.int64)
        # float64[columns], the largest |w f| of an event in Hz; the largest |f|
        self.largest, self.fraction, self._square = np.zeros((3, columns))
        n = len(self.strata.both) if self.strata else 0
        self._mean, self._cross = np.zeros((2, n, columns))
        self._added: list[list[sparse.csr_array]] = []  # if events share interactions
        self.varying_columns = np.flatnonzero(constant if constant is not None else [])
        # The sums of the `varying_columns` without their constant parts
        self.varying: RateSums | None = None
        if constant is not None and len(self.varying_columns):
            self._constant = constant[self.varying_columns]
            self.varying = RateSums(table, scales, len(self.varying_columns))

    def add(self, rows: slice, *parts: FloatArray | sparse.csr_array) -> None:
        """Add the fractions, float64[m, columns], of the m entries in `rows`, in one or several arrays side
        by side: to join large ones takes long. Blocks are added in the order of the table, and cover it."""
        table, matrices = self._table, [*map(sparse.csr_array, parts)]
        if self.varying:
            rest = sparse.hstack(matrices, "csr")[:, self.varying_columns].toarray() - self._constant
            self.varying.add(rows, np.where(np.abs(rest) < ROUNDING, 0.0, rest))
        weight, largest = table.weight[rows] * self._everything, table.largest[rows] * self._everything
        entries = table.sample[rows], table.n[rows], weight, self._alone[rows], largest
        sums = self.hz, self.events, self._square, self.largest, self.fraction
        first = 0
        for part in matrices:
            _add_fractions(part.indptr, part.indices, part.data, first, *entries, *sums)
            columns = slice(first, first := first + part.shape[1])
            if self.strata:
                self._mean[:, columns] += self.strata.share[:, rows] @ part
                self._cross[:, columns] += self.strata.cross[:, rows] @ part
        if self._interactions:
            self._added.append(matrices)

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
        first = 0
        while self._added and self._added[0]:  # they take most of the memory
            part = sparse.vstack([matrices.pop(0) for matrices in self._added], "csr")
            variance[first : first + part.shape[1]] += self._interactions.squares_of(part)
            first += part.shape[1]
        if self.strata:
            variance += ((self.strata.both @ self._mean - 2 * self._cross) * self._mean).sum(axis=0)
        return np.maximum(variance, 0.0) * self._everything**2


@kernel
def _add_fractions(
    start: IntArray,
    column: IntArray,
    fraction: FloatArray,
    first: int,
    sample: IntArray,
    n: IntArray,
    weight: FloatArray,
    square: FloatArray,
    largest: FloatArray,
    hz: FloatArray,
    events: IntArray,
    squares: FloatArray,
    largest_hz: FloatArray,
    largest_fraction: FloatArray,
) -> None:
    """Add the fractions of some entries, a sparse matrix whose columns begin at `first`, to all sums."""
    for row in range(len(start) - 1):
        s = sample[row]
        for i in range(start[row], start[row + 1]):
            c, f = first + column[i], fraction[i]
            if f != 0.0:
                hz[s, c] += weight[row] * f
                events[s, c] += n[row]
                squares[c] += square[row] * f * f
                largest_hz[c] = max(largest_hz[c], largest[row] * abs(f))
                largest_fraction[c] = max(largest_fraction[c], abs(f))
