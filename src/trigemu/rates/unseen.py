"""Samples that contribute no event to a rate by chance alone, so that its error may be underestimated.

A sample without an event in a rate is reported if a single event would weigh more than the error, and if
fewer than `TELLING` events were expected from it, assuming that its events pass as often as those of the
other samples. If more were expected, the sample differs from the others, and is unlikely to contribute at
all. The weight of the single event is the largest among the sample's events that the menu accepts, or among
all if it accepts none, but not above what the catalogue gives as the largest before crossings were thinned
out, times the largest fraction with which any event enters.
"""

from __future__ import annotations

import numpy as np

from trigemu.counting import PatternTable, SampleScales, exact
from trigemu.support import FloatArray

#: With this number of expected events, the probability to find none is e⁻³, one in twenty.
TELLING = 3.0


class Unseen:
    """Sums over a pattern table, for each sample and column of accepted fractions; the first column is that
    of the menu."""

    def __init__(self, table: PatternTable, scale: SampleScales, limits: FloatArray, columns: int) -> None:
        """limits: the largest weight in Hz that an event of each sample can have, float64[samples]."""
        self._table, self._scale, self._limits = table, scale, limits
        samples = len(limits)
        self._hz = np.zeros((samples, columns))
        self._seen = np.zeros((samples, columns), np.bool_)
        self._fraction = np.zeros(columns)
        self._whole, self._heaviest, self._accepted = np.zeros((3, samples))

    def add(self, rows: slice, fractions: FloatArray) -> None:
        """Add the fractions float64[m, columns] of the entries in `rows`."""
        numbers = self._table.sample[rows]
        factor = self._scale.of_sample[numbers] * self._scale.everything
        hz = exact.to_float(self._table.weight[rows]) * factor
        heaviest = self._scale.heaviest(self._table, rows)
        for sample in np.unique(numbers):
            own = numbers == sample
            entering = fractions[own]
            self._hz[sample] += hz[own] @ entering
            self._seen[sample] |= (entering != 0).any(axis=0)
            self._whole[sample] += hz[own].sum()
            self._heaviest[sample] = max(self._heaviest[sample], heaviest[own].max())
            accepted = heaviest[own] * (entering[:, 0] > 0)
            self._accepted[sample] = max(self._accepted[sample], accepted.max())
        np.maximum(self._fraction, np.abs(fractions).max(axis=0, initial=0.0), out=self._fraction)

    def of(self, column: int, error_hz: float) -> list[int]:
        """Return the numbers of the samples to report for a rate with this error."""
        weight = np.where(self._accepted > 0, self._accepted, self._heaviest)
        weight = np.minimum(weight, self._limits) * self._fraction[column]
        others = self._whole.sum() - self._whole
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = self._hz[:, column].sum() * self._whole / others
        told = ~self._seen[:, column] & (weight > error_hz) & (expected < TELLING * weight)
        return [int(number) for number in np.flatnonzero(told)]
