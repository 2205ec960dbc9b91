"""Σ w f and its variance over a pattern table, for many columns of f.

Σ w f and Σ w² f² are exact until they are converted to floats; `shared.py` adds the contribution of events
that share an interaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.counting import exact
from trigemu.counting.patterns import PatternTable
from trigemu.counting.shared import ByParent, Covariance, Sparse
from trigemu.menus.menu import Menu


@dataclass(frozen=True)
class Scales:
    """The factors of the m entries of a table."""

    # float64[m], the factor on f − f₀: s in the unseen half, 0 in the other one, 1 if nothing was fitted.
    unseen: FloatArray
    everything: float = 1.0  # The factor on all rates, which adapts the crossing rate
    # int64[m], the stratum of each entry, if the total weight of each stratum is fixed.
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


#: Patterns per block: enough for a negligible overhead, few enough for memory.
BLOCK = 4096
#: The largest number of triggers times patterns in a block: their fractions need 50 bytes each or more.
_ACCEPTED = 2**21
#: The largest number of pairs of triggers times patterns in a block, if seeds connect triggers.
_PAIRS = 2**23
#: Two fractions that differ by less are equal: products of other factors give the last digits.
_ROUNDING = 1e-14


def pattern_blocks(table: PatternTable, *menus: Menu) -> Iterator[slice]:
    """Yield the entries of a table in blocks, whose size depends on the menus."""
    bound = sum(len(menu.triggers) for menu in menus if any(trigger.seed for trigger in menu.enabled))
    triggers = sum(len(menu.triggers) for menu in menus)
    size = min(BLOCK, max(16, _PAIRS // max(1, bound**2)), max(16, _ACCEPTED // max(1, triggers)))
    for start in range(0, len(table), size):
        yield slice(start, min(start + size, len(table)))


class RateSums:
    """Sums of weights and their variances, for columns of fractions of a pattern table.

    If the scales fix the total weight of strata, errors are those of the accepted share of each
    (`strata.py`).

    Parameters
    ----------
    table : PatternTable
        The table.
    scales : Scales
        The factors that convert its sums to Hz (`Scales.judged`).
    columns : int
        The number of columns.
    constant : float64[columns], optional
        The part of each fraction that is the same in all events, as of a random trigger. The weight of all
        events is known, so this part has no error.
    """

    def __init__(
        self, table: PatternTable, scales: Scales, columns: int, constant: FloatArray | None = None
    ) -> None:
        self._table, self._scales, self._constant = table, scales, constant
        self._weight = exact.ColumnSums(columns)
        self._square = exact.ColumnSums(columns)
        self._shared = Covariance(table.shared, len(table), columns)
        self._strata = None if scales.stratum is None else Strata(table, scales.stratum, columns)

    def add(self, rows: slice | IntArray, fractions: FloatArray) -> None:
        """Add the `fractions`, float64[m, columns], of the m entries in `rows`."""
        self._weight.add(self._table.weight[rows], fractions / self._scales.unit)
        scaled = varying(fractions, self._constant) / self._scales.unit
        self._square.add(self._table.square[rows], scaled**2)
        if self._shared:
            used = self._shared.used(rows)
            self._shared.add(_numbers(rows)[used], scaled[used])
        if self._strata:
            row, column = np.nonzero(scaled)
            self._strata.add(_numbers(rows)[row], column, scaled[row, column])

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[columns] each."""
        hz = self._scales.hz
        variance = self._square.result() + self._shared.result()
        if self._strata:
            variance += self._strata.correction(self._shared)
        return self._weight.result() * hz, np.maximum(variance, 0.0) * hz**2


def varying(fractions: FloatArray, constant: FloatArray | None) -> FloatArray:
    """Return fractions, float64[m, columns], without the part that is the same in all events; None: there is
    none. Differences of rounding count as 0."""
    if constant is None:
        return fractions
    rest = fractions - constant
    rest[(np.abs(rest) < _ROUNDING) & (constant != 0.0)] = 0.0
    return rest


def _numbers(rows: slice | IntArray) -> IntArray:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
