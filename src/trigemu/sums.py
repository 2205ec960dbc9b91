"""Σ w f and Σ w² f² over a pattern table, exact until they become floats, of many columns of f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trigemu import exact
from trigemu.events import FloatArray
from trigemu.patterns import PatternTable

#: Patterns at a time: enough to hide the cost of a step, few enough for memory.
BLOCK = 4096


def blocks(table: PatternTable) -> Iterator[slice]:
    """The entries of a table, some thousand at a time."""
    for start in range(0, len(table), BLOCK):
        yield slice(start, start + BLOCK)


class Scale:
    """What a unit of each sample's weight is worth in Hz.

    Exact sums take fractions of at most 1: `unit`, a power of two that changes no bit, is taken out of
    `samples`, float64[samples], what each sample's sums are multiplied by.
    """

    def __init__(self, samples: FloatArray, everything: float = 1.0) -> None:
        unit = 2.0 ** np.ceil(np.log2(samples.max(initial=1.0)))
        self.of_sample: FloatArray = samples / unit
        self.everything = everything * float(unit)

    def heaviest(self, table: PatternTable, rows: slice) -> FloatArray:
        """float64[m]: the largest weight of each entry in Hz."""
        largest: FloatArray = table.largest[rows] * self.of_sample[table.sample[rows]]
        return largest * self.everything


class RateSums:
    """Sums of columns of fractions, 0 ≤ f ≤ 1."""

    def __init__(self, table: PatternTable, scale: Scale, columns: int) -> None:
        self._table, self._scale = table, scale
        self._weight = exact.ColumnSums(columns)
        self._square = exact.ColumnSums(columns)

    def add(self, rows: slice, fractions: FloatArray) -> None:
        """fractions: float64[m, columns] of the entries in `rows`."""
        scaled = fractions * self._scale.of_sample[self._table.sample[rows]][:, None]
        self._weight.add(self._table.weight[rows], scaled)
        self._square.add(self._table.square[rows], scaled**2)

    def result(self) -> tuple[FloatArray, FloatArray]:
        """float64[columns] each: Σ w f in Hz and Σ w² f² in Hz²."""
        scale = self._scale.everything
        return self._weight.result() * scale, self._square.result() * scale**2
