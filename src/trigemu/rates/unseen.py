"""Samples of which a rate has no event by chance alone, so that its error may be too small.

A sample without an event in a rate is told if one event would weigh more than the error, and if fewer than
`TELLING` were to be expected of it, supposing that its events pass as often as those of the others. Where
more were to be expected, the sample is not like the others, and an event that it can hardly have is none to
reckon with. The weight is the largest among the sample's events that the menu accepts, or among all if it
accepts none, times the largest fraction that enters of any event.
"""

from __future__ import annotations

import numpy as np

from trigemu.counting import PatternTable, SampleScales, exact
from trigemu.support import FloatArray

#: So many expected events and none found happens by chance once in twenty times: e⁻³.
TELLING = 3.0


class Unseen:
    """Sums over a pattern table for so many samples and columns of accepted fractions, the first of which is
    that of the menu."""

    def __init__(self, table: PatternTable, scale: SampleScales, samples: int, columns: int) -> None:
        self._table, self._scale = table, scale
        self._hz = np.zeros((samples, columns))
        self._seen = np.zeros((samples, columns), np.bool_)
        self._fraction = np.zeros(columns)
        self._whole, self._heaviest, self._accepted = np.zeros((3, samples))

    def add(self, rows: slice, fractions: FloatArray) -> None:
        """fractions: float64[m, columns] of the entries in `rows`."""
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
        """The numbers of the samples to be told at a rate with this error."""
        weight = np.where(self._accepted > 0, self._accepted, self._heaviest) * self._fraction[column]
        others = self._whole.sum() - self._whole
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = self._hz[:, column].sum() * self._whole / others
        told = ~self._seen[:, column] & (weight > error_hz) & (expected < TELLING * weight)
        return [int(number) for number in np.flatnonzero(told)]
