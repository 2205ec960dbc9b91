"""The variance of rates if the total weight of each stratum is fixed.

If weights are divided by their sum over a stratum, the sum is fixed, and only its accepted share ε
fluctuates: an event contributes w (f − ε) to the variance instead of w f, as in the error of a ratio. The
correction follows from sums over the strata:

    Σ x² → Σ x² − 2 Σ_n ε_n Σ w x + Σ_n ε_n² Σ w²,        x = w f,

and likewise for the products of events that share an interaction.
"""

from __future__ import annotations

import numpy as np

from trigemu.counting import exact
from trigemu.counting.patterns import PatternTable
from trigemu.counting.shared import ByParent, Covariance, Sparse
from trigemu.support import FloatArray, IntArray, kernel


class Strata:
    """Sums over the strata of a table, int64[m], for many columns of fractions."""

    def __init__(self, table: PatternTable, stratum: IntArray, columns: int) -> None:
        self._stratum = stratum
        self._n = int(stratum.max(initial=0)) + 1
        self._weight, self._square = exact.to_float(table.weight), exact.to_float(table.square)
        self._accepted = np.zeros((self._n, columns))
        self._squares = np.zeros((self._n, columns))

    def add(self, rows: IntArray, columns: IntArray, values: FloatArray) -> None:
        """Add fractions float64[k] at some rows and columns, int64[k] each."""
        cells = self._stratum[rows], columns
        np.add.at(self._accepted, cells, self._weight[rows] * values)
        np.add.at(self._squares, cells, self._square[rows] * values)

    def correction(self, shared: Covariance) -> FloatArray:
        """Return the correction to the variance of Σ w f in Hz², float64[columns]."""
        weight = np.bincount(self._stratum, self._weight, self._n)
        square = np.bincount(self._stratum, self._square, self._n)
        mean = np.divide(
            self._accepted, weight[:, None], out=np.zeros_like(self._accepted), where=weight[:, None] != 0
        )
        correction: FloatArray = (mean**2 * square[:, None] - 2 * mean * self._squares).sum(axis=0)
        if shared:
            accepted = np.zeros_like(self._accepted)
            both = np.zeros((self._n, self._n))
            _shared_products(shared.by_parent(), shared.fractions, self._stratum, accepted, both)
            correction += (mean * (both @ mean) - 2 * mean * accepted).sum(axis=0)
        return correction


@kernel
def _shared_products(
    events: ByParent, fractions: Sparse, stratum: IntArray, accepted: FloatArray, both: FloatArray
) -> None:
    """Sum over the pairs of events of one parent: w f of one times w of the other, float64[strata of the
    other, columns]; and the product of both w, float64[strata, strata]."""
    for parent in range(len(events.starts) - 1):
        for event in range(events.starts[parent], events.starts[parent + 1]):
            row = events.entry[event]
            for other in range(events.starts[parent], events.starts[parent + 1]):
                if other == event:
                    continue
                n, w = stratum[events.entry[other]], events.weight[other]
                both[stratum[row], n] += events.weight[event] * w
                for k in range(fractions.starts[row], fractions.starts[row + 1]):
                    accepted[n, fractions.column[k]] += events.weight[event] * fractions.value[k] * w
