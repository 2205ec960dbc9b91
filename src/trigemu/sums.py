"""Σ w f and Σ w² f² over a pattern table, exact until they become floats, of many columns of f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trigemu import exact
from trigemu.events import BoolArray, FloatArray, IntArray
from trigemu.kernels import kernel
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

    def add(self, rows: slice | IntArray, fractions: FloatArray) -> None:
        """fractions: float64[m, columns] of the entries in `rows`."""
        scaled = fractions * self._scale.of_sample[self._table.sample[rows]][:, None]
        self._weight.add(self._table.weight[rows], scaled)
        self._square.add(self._table.square[rows], scaled**2)

    def result(self) -> tuple[FloatArray, FloatArray]:
        """float64[columns] each: Σ w f in Hz and Σ w² f² in Hz²."""
        scale = self._scale.everything
        return self._weight.result() * scale, self._square.result() * scale**2


class PairSums:
    """What each of some triggers accepts together with each of others: or({s}) + or({t}) − or({s, t}).

    alike: bool[s, t], which share their prescale counter. With `upper`, both are the same triggers, and
    only those with s ≤ t are summed.
    """

    def __init__(self, table: PatternTable, scale: Scale, alike: BoolArray, upper: bool = False) -> None:
        self._table, self._scale, self._alike, self._upper = table, scale, alike, upper
        self._sums = np.zeros((2, *alike.shape, exact.WIDE), np.int64)

    def add(self, rows: slice, first: FloatArray, second: FloatArray) -> None:
        """The acceptances float64[m, s] and float64[m, t] of the entries in `rows`."""
        table = self._table
        ends = np.flatnonzero(np.diff(table.sample[rows], append=-1)) + 1  # entries are in order of samples
        for start, stop in zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True):
            some = slice(rows.start + start, rows.start + stop)
            scale = float(self._scale.of_sample[table.sample[some.start]])
            both = np.hstack([table.weight[some], table.square[some]])
            _add_pairs(
                self._sums, first[start:stop], second[start:stop], both, self._alike, self._upper, scale
            )
        exact.carry(self._sums.reshape(-1, exact.WIDE))

    def result(self) -> tuple[FloatArray, FloatArray]:
        """float64[s, t] each: Σ w f in Hz and Σ w² f² in Hz²."""
        flat = exact.to_float(self._sums.reshape(-1, exact.WIDE)).reshape(self._sums.shape[:-1])
        return flat[0] * self._scale.everything, flat[1] * self._scale.everything**2


@kernel
def _add_pairs(
    sums: IntArray,
    first: FloatArray,
    second: FloatArray,
    both: IntArray,
    alike: BoolArray,
    upper: bool,
    scale: float,
) -> None:
    """Two acceptances together: their product, or the smaller one where they share a counter. both: Σw and
    Σw² beside each other. A pair has one such fraction in nearly all entries: what has the fraction it
    came with first is summed, and multiplied once, with the same exact result."""
    n, m = first.shape[1], second.shape[1]
    usual = np.zeros((n, m))
    summed = np.zeros((n, m, 2 * exact.LIMBS), np.int64)
    fired = np.empty(m, np.int64)
    for row in range(first.shape[0]):
        count = 0
        for j in range(m):
            if second[row, j] > 0.0:
                fired[count] = j
                count += 1
        for i in range(n if count else 0):
            one = first[row, i]
            if one == 0.0:
                continue
            for k in range(count):
                j = fired[k]
                if upper and j < i:
                    continue
                f = min(one, second[row, j]) if alike[i, j] else one * second[row, j]
                if usual[i, j] == 0.0:
                    usual[i, j] = f
                if f == usual[i, j]:
                    for limb in range(2 * exact.LIMBS):
                        summed[i, j, limb] += both[row, limb]
                else:
                    _add_both(sums, i, j, both[row], f * scale)
    for i in range(n):
        for j in range(m):
            if usual[i, j] > 0.0:
                exact.carry(summed[i, j].reshape(2, exact.LIMBS))
                _add_both(sums, i, j, summed[i, j], usual[i, j] * scale)


@kernel
def _add_both(sums: IntArray, i: int, j: int, both: IntArray, f: float) -> None:
    exact.add_scaled(sums[0, i, j], both[: exact.LIMBS], f)
    exact.add_scaled(sums[1, i, j], both[exact.LIMBS :], f * f)
