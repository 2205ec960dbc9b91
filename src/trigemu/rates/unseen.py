"""Samples that contribute no event to a rate by chance, so that its error may be underestimated.

A sample without an event in a rate is reported if a single event would change the rate by more than its error
and by more than a tenth, and if fewer than `TELLING` events were expected from it, assuming that its events
pass as often as those of the other samples. If more were expected, the sample differs from the others, and
is unlikely to contribute at all. The weight of the single event is Σw²/Σw of the sample's events that the
menu accepts, or of all events if it accepts none: the mean weight per unit of rate. The event enters with the
largest fraction of any event.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from trigemu.counting import PatternTable, exact
from trigemu.support import FloatArray

#: With this number of expected events, the probability to find none is e⁻³, one in twenty.
TELLING = 3.0
#: An event that changes the rate by a smaller fraction is negligible.
NOTABLE = 0.1


class Unseen:
    """Sums over a pattern table, for each sample and column of accepted fractions; the first column is the
    menu."""

    def __init__(self, table: PatternTable, scale: float, samples: int, columns: int) -> None:
        """scale: the factor on all rates."""
        self._table, self._scale = table, scale
        self._hz = np.zeros((samples, columns))
        self._seen = np.zeros((samples, columns), np.bool_)
        self._fraction = np.zeros(columns)
        # Σw and Σw² of all events, then of those that the menu accepts: exact, so independent of the order
        self._limbs = np.zeros((2, 2, samples, exact.LIMBS), np.int64)

    def add(self, rows: slice, fractions: FloatArray) -> None:
        """Add the fractions float64[m, columns] of the entries in `rows`, without what is the same in all
        events."""
        numbers = self._table.sample[rows]
        accepted = fractions[:, 0] > 0
        for power, limbs in enumerate((self._table.weight[rows], self._table.square[rows])):
            np.add.at(self._limbs[0, power], numbers, limbs)
            np.add.at(self._limbs[1, power], numbers[accepted], limbs[accepted])
        hz = exact.approximate(self._table.weight[rows]) * self._scale
        for sample in np.unique(numbers):
            own = numbers == sample
            entering = fractions[own]
            self._hz[sample] += hz[own] @ entering
            self._seen[sample] |= (entering != 0).any(axis=0)
        np.maximum(self._fraction, np.abs(fractions).max(axis=0, initial=0.0), out=self._fraction)

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """The rate in Hz of all events of each sample, and the weight in Hz of one, float64[samples] each."""
        limbs = self._limbs.reshape(-1, exact.LIMBS)
        exact.carry(limbs)
        (total, square), (accepted, accepted_square) = exact.to_float(limbs).reshape(2, 2, -1)
        some = accepted_square > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(some, accepted_square / accepted, square / total)
        return total * self._scale, weight * self._scale

    def of(self, column: int, hz: float, error_hz: float) -> tuple[list[int], float]:
        """Return the numbers of the samples to report for a rate with its error, and the largest rate in Hz
        that a single event of these would add."""
        total, weighted = self._sums
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = weighted * self._fraction[column]
            expected = self._hz[:, column].sum() * total / (total.sum() - total)
        large = (weight > error_hz) & (weight > NOTABLE * abs(hz))
        reported = ~self._seen[:, column] & large & (expected < TELLING * weight)
        return np.flatnonzero(reported).tolist(), float(weight[reported].max(initial=0.0))
