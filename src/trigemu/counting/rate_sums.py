"""Σ w f and its variance over a pattern table, for many columns of f.

Σ w f and Σ w² f² are exact until they are converted to floats; `shared.py` adds the contribution of events
that share an interaction.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trigemu.counting import exact
from trigemu.counting.patterns import PatternTable
from trigemu.counting.scales import Scales
from trigemu.counting.shared import Covariance
from trigemu.counting.strata import Strata
from trigemu.menus import Menu
from trigemu.support import FloatArray, IntArray

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
