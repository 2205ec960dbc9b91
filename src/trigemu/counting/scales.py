"""The factor of each event of a table in a rate, if triggers were fitted on one half of the samples.

With f the fraction of an event that a quantity counts, f₀ the same in the menu without its fitted triggers,
and s the factor from the unseen half of a sample to the full sample, every quantity is

    Σ over all events of w f₀  +  Σ over the unseen half of s w (f − f₀)

so an event contributes w g: g = f₀ + s (f − f₀) in the unseen half, g = f₀ in the other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trigemu.support import FloatArray, IntArray


@dataclass(frozen=True)
class Scales:
    """The factors of the m entries of a table.

    Attributes
    ----------
    unseen : ndarray
        float64[m], the factor on f − f₀: s in the unseen half, 0 in the other one, 1 if nothing was fitted.
    everything : float
        The factor on all rates, which adapts the crossing rate.
    stratum : ndarray or None
        int64[m], the stratum of each entry, if the total weight of each stratum is fixed.
    """

    unseen: FloatArray
    everything: float = 1.0
    stratum: IntArray | None = None

    @cached_property
    def unit(self) -> float:
        """A power of two that no |g| exceeds, because exact sums accept fractions up to 1; it does not affect
        rounding. The largest |g| is 2 s − 1, for differences f between menus."""
        return float(2.0 ** np.ceil(np.log2(max(1.0, 2.0 * self.unseen.max(initial=1.0) - 1.0))))

    @property
    def hz(self) -> float:
        """The factor from the sums of g / `unit` to rates in Hz."""
        return self.everything * self.unit

    def of_pairs(self, rows: slice | IntArray) -> FloatArray:
        """Return the factors on the joint acceptance of two triggers in some entries, over `unit`: float64[m,
        2], if neither is fitted, and if one is. In f₀ a fitted trigger accepts nothing, and others accept the
        same as in f."""
        fitted = self.unseen[rows]
        return np.column_stack([np.ones_like(fitted), fitted]) / self.unit

    def judged(self, rows: slice | IntArray, fractions: FloatArray, without: FloatArray) -> FloatArray:
        """Return g of some entries, from f and f₀: float64[m, …] each. If both are equal, it is f₀ to the
        last bit."""
        factor = self.unseen[rows].reshape(-1, *[1] * (fractions.ndim - 1))
        judged: FloatArray = without + factor * (fractions - without)
        return judged
