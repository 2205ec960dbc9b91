"""Trees of few inputs as one table: between neighbouring thresholds, their sum does not change.

The thresholds of an input divide its range into bins, and all thresholds divide the input space into cells.
The sum of each cell is computed once, in single precision and in the order of the trees, as XGBoost does. A
score then needs one search per input and one look-up, for any number of trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import IntArray
from trigemu.base.kernels import c_function, kernel, numbers_at

from .input_kernels import Features
from .single_row import Row, row_of
from .trees import Ensemble

Floats = npt.NDArray[np.float32]

_integer, _ = numbers_at(types.int64)
_single, _ = numbers_at(types.float32)
_, _put = numbers_at(types.float64)
#: Most cells of a table, which then has 1 MB and stays in the caches of a core.
MAX_CELLS = 2**18
#: Most leaves that are added to cells to make a table, which takes half a second.
_MAX_SUMS = 2**28
#: Thresholds that a value is compared with in each step of a search. With 2, 8 or 16, rows take 1.5, 1.1 or 2
#: times as long.
_WIDTH = 4


@dataclass(frozen=True, eq=False)
class CellTable:
    """Trees as a table.

    feature, stride: int64[k], the inputs that they split on, and the number of cells from one bin of an input
    to the next. cuts: float32[c], the levels of a search: for each of these inputs, its thresholds,
    ascending, preceded by every fourth of them, and so on until at most four are left. A level is filled up
    with NaN, which no value reaches. level: int64[k + 1], the first level of each input. start: int64[l], the
    start of each level.
    values: float32[cells].
    """

    feature: IntArray
    stride: IntArray
    level: IntArray
    start: IntArray
    cuts: Floats
    values: Floats

    @property
    def width(self) -> int:
        """The number of inputs up to the last one that a tree splits on."""
        return 1 + int(self.feature.max(initial=-1))

    def predict(self, x: Features) -> Floats:
        """Return the scores float32[n] of float32[n, d], none of which is NaN; releases the GIL."""
        if x.ndim != 2 or x.shape[1] < self.width:
            raise ValueError(f"trees that read {self.width} features got an array {x.shape}")
        scores = np.empty(len(x), np.float32)
        arrays = self.feature, self.stride, self.level, self.start, self.cuts, self.values
        _predict(np.ascontiguousarray(x, np.float32), *arrays, scores)
        return scores


def cell_table(trees: Ensemble) -> CellTable | None:
    """Make the table of trees; None if it would be too large."""
    split = trees.feature >= 0
    threshold = as_single(trees.threshold)
    feature = np.unique(trees.feature[split]).astype(np.int64)
    of_each = [np.unique(threshold[trees.feature == number]) for number in feature]
    shape = [len(cuts) + 1 for cuts in of_each]
    cells = math.prod(shape)
    if cells > MAX_CELLS or cells * trees.trees > _MAX_SUMS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # as the interpreter adds them
        values = _sums(trees, feature, threshold, of_each)
    searches = [_levels(cuts) for cuts in of_each]
    levels = [level for search in searches for level in search]
    return CellTable(
        feature=feature,
        stride=np.array(values.strides, np.int64) // values.itemsize,
        level=np.cumsum([0, *map(len, searches)]),
        start=np.cumsum([0, *map(len, levels)])[:-1],
        cuts=np.concatenate([*levels, np.empty(0, np.float32)]),
        values=values.ravel(),
    )


def as_single(threshold: npt.NDArray[np.float64]) -> Floats:
    """Round thresholds up, which does not change any comparison with a value in single precision."""
    single = threshold.astype(np.float32)
    return np.where(single < threshold, np.nextafter(single, np.float32(np.inf)), single)


def _sums(trees: Ensemble, feature: IntArray, threshold: Floats, of_each: list[Floats]) -> Floats:
    """Return the sum of the leaves in each cell, an array with one dimension per input."""
    values = np.zeros([len(cuts) + 1 for cuts in of_each], np.float32)
    low, high = np.zeros((2, len(trees.feature), len(feature)), np.int64)
    high[trees.starts[:-1]] = values.shape
    for node, number in enumerate(trees.feature.tolist()):
        if number < 0:
            values[tuple(map(slice, low[node], high[node]))] += np.float32(trees.value[node])
            continue
        k = int(np.searchsorted(feature, number))
        middle = int(np.searchsorted(of_each[k], threshold[node])) + 1
        left, right = trees.left[node], trees.right[node]
        low[[left, right]], high[[left, right]] = low[node], high[node]
        high[left, k] = min(high[node, k], middle)
        low[right, k] = max(low[node, k], middle)
    return values + np.float32(trees.base)


def _levels(cuts: Floats) -> list[Floats]:
    levels = [cuts]
    while len(levels[0]) > _WIDTH:
        levels.insert(0, levels[0][_WIDTH - 1 :: _WIDTH])
    return [np.append(level, np.full(_WIDTH - len(level) % _WIDTH, np.nan, np.float32)) for level in levels]


def cell_row(table: CellTable, features: int) -> Row:
    """Return memory for one row at a time."""
    arrays = [np.ascontiguousarray(array) for array in vars(table).values()]
    numbers = [number for array in arrays for number in (len(array), array.ctypes.data)]
    return row_of(_run, features, numbers, arrays)


@kernel
def _predict(
    x: Features,
    feature: IntArray,
    stride: IntArray,
    level: IntArray,
    start: IntArray,
    cuts: Floats,
    values: Floats,
    scores: Floats,
) -> None:
    for row in range(len(x)):
        cell = 0
        for k in range(len(feature)):
            value = x[row, feature[k]]
            below = 0  # number of thresholds of a level at or below the value
            for place in range(level[k], level[k + 1]):
                first = start[place] + _WIDTH * below
                below *= _WIDTH
                for i in range(first, first + _WIDTH):
                    below += int(value >= cuts[i])
            cell += stride[k] * below
        scores[row] = values[cell]


@c_function
def _run(t: int) -> int:
    x, cell = _integer(t, 0), 0
    feature, stride, level = _integer(t, 3), _integer(t, 5), _integer(t, 7)
    start, cuts = _integer(t, 9), _integer(t, 11)
    for k in range(_integer(t, 2)):
        value = _single(x, _integer(feature, k))
        below = 0  # as in `_predict`
        for place in range(_integer(level, k), _integer(level, k + 1)):
            first = _integer(start, place) + _WIDTH * below
            below *= _WIDTH
            for i in range(first, first + _WIDTH):
                below += int(value >= _single(cuts, i))
        cell += _integer(stride, k) * below
    _put(_integer(t, 1), 0, np.float64(_single(_integer(t, 13), cell)))
    return 1
