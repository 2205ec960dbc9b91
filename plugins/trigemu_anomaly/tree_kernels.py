"""Kernels for boosted trees, in single precision as XGBoost adds them, or in words of fixed-point types.

Trees of few inputs become one table: the thresholds of an input divide its range into bins, and all of them
the input space into cells, in each of which the trees are followed once. A score then needs one search per
input and one look-up, for any number of trees. Where that table would be too large, or an input may be NaN,
the trees are followed for each event. Words are whole numbers of at most 53 bits, and so float64 like all
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numba import types

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.kernels import address_of, c_function, call_function, inner, kernel

from .fixed_point import ApFixed, in_range, rounded
from .inputs import Features
from .single_row import Row
from .vectors import numbers_at

if TYPE_CHECKING:
    from .trees import Ensemble

#: Most cells of a table, which then has 2 MB and stays in the caches of a core.
MAX_CELLS = 2**18
#: Most trees that are followed to make a table, in all its cells, which takes half a second.
MAX_SUMS = 2**25
#: Thresholds that a value is compared with in each step of a search. With 2, 8 or 16, rows take 1.5, 1.1 or 2
#: times as long.
_WIDTH = 4
#: The numbers of a row, most of them addresses of arrays. Of an event: inputs, score, whether a sum was
#: outside of its type, and the inputs as float64. In single precision, rounding and overflow are negative.
_X, _SCORE, _OUTSIDE, _INPUT = range(4)
_INPUTS, _ROUNDING, _OVERFLOW, _LOWEST, _HIGHEST, _SUM_OVERFLOW, _SUM_LOWEST, _SUM_HIGHEST = range(4, 12)
_TREES, _FACTORS, _BASE, _ROOTS, _FEATURE, _CUT, _LEFT, _RIGHT, _LEAF, _NAN_LEFT = range(12, 22)
#: Of a table: how many inputs it has; of each, the input, the number of cells from one bin to the next, and
#: its first level; where the thresholds of each level start; these; and for each cell score and outside.
_SEARCHED, _INPUT_OF, _STRIDE, _LEVEL, _START, _CUTS, _SCORES, _BEYOND = range(22, 30)

_integer, _put_integer = numbers_at(types.int64)
_single, _ = numbers_at(types.float32)
_double, _put = numbers_at(types.float64)


class TreeKernels:
    """Trees for kernels. engine: how they are evaluated; cells: of the table, 0 without one. fixed: the types
    of inputs and score, and the scales, of trees of words."""

    notes: tuple[str, ...] = ()

    def __init__(self, trees: Ensemble, fixed: tuple[ApFixed, ApFixed, Sequence[int]] | None = None) -> None:
        self.features, self.cells, self.engine = trees.features, 0, "one by one"
        factors, modes, base = np.ones(self.features + 1), [-1, 0, 0, 0, -1, 0, 0], [trees.base, 0.0]
        leaf, nan = trees.value, trees.left_of_nan
        if fixed:
            inputs, score, scales = fixed
            factors = np.append(np.ldexp(1.0, np.array(scales, np.int64) + inputs.fraction), score.step)
            modes = [*inputs.modes, *inputs.words, score.modes[1], *score.words]
        else:  # as XGBoost, which adds the base at the end
            base = [0.0, float(np.float32(trees.base))]
            leaf = leaf.astype(np.float32).astype(np.float64)
        whole = (trees.starts, trees.feature, trees.left, trees.right, np.zeros(1) if nan is None else nan)
        roots, feature, left, right, nan_left = (column.astype(np.int64) for column in whole)
        nan_left = np.resize(nan_left, len(feature))
        arrays = [factors, np.array(base), roots, feature, trees.threshold, left, right, leaf, nan_left]
        self._memory = [np.ascontiguousarray(array) for array in arrays]
        self._numbers = [self.features, *modes, trees.trees, *map(_address, self._memory)]
        self._function = _by_walk
        if nan is None:
            self._make_table(trees)

    def _make_table(self, trees: Ensemble) -> None:
        """Make a table, unless it would be too large."""
        inputs = np.unique(trees.feature[trees.feature >= 0]).astype(np.int64)
        cuts = [np.unique(trees.threshold[trees.feature == number]) for number in inputs]
        shape = [len(some) + 1 for some in cuts]
        if math.prod(shape) > MAX_CELLS or math.prod(shape) * trees.trees > MAX_SUMS:
            return
        scores, beyond = np.zeros(shape), np.zeros(shape)
        stride = np.array(scores.strides, np.int64) // scores.itemsize
        ends = [np.append(-np.inf, some) for some in cuts]  # a number in each bin
        x = np.array(np.meshgrid(*ends, indexing="ij")).reshape(len(inputs), scores.size).T
        row = self.row()
        _walk_all(row.arguments, inputs, x, scores.ravel(), beyond.ravel())
        searches = [_levels(some) for some in cuts]
        levels = [level for search in searches for level in search]
        first, start = (np.cumsum([0, *map(len, parts)]) for parts in (searches, levels))
        table = [inputs, stride, first, start, np.concatenate([*levels, np.empty(0)]), scores, beyond]
        self._memory += table
        self._numbers += [len(inputs), *map(_address, table)]
        self.cells, self.engine, self._function = scores.size, "as a table", _by_table

    def predict(self, x: Features) -> FloatArray:
        """Return the scores float64[n] of float32[n, d], NaN only with `left_of_nan`; releases the GIL."""
        return self.scores(x)[0]

    def scores(self, x: Features) -> tuple[FloatArray, BoolArray]:
        """Return the scores of `predict`, and whether a sum was outside of its type, bool[n]."""
        if x.ndim != 2 or x.shape[1] != self.features:
            raise ValueError(f"trees that read {self.features} features got an array {x.shape}")
        scores, outside = np.empty(len(x)), np.zeros(len(x))
        row = self.row()
        _rows(row.function, row.arguments, np.ascontiguousarray(x, np.float32), scores, outside)
        return scores, outside != 0.0

    def row(self) -> Row:
        """Return memory for one event at a time."""
        x, score, outside = np.zeros(self.features, np.float32), np.zeros(1), np.zeros(1)
        memory = (x, score, outside, np.zeros(self.features))
        table = np.array([*(array.ctypes.data for array in memory), *self._numbers], np.int64)
        function = address_of(self._function, types.intp(types.intp))
        return Row(x, score, function, _address(table), memory=(self, memory, table))


def _address(array: Array) -> int:
    return int(array.ctypes.data)


def _levels(cuts: FloatArray) -> list[FloatArray]:
    """Return the levels of a search: thresholds, ascending, preceded by every fourth of them, and so on until
    at most four are left. Each is filled up with NaN, which no value reaches."""
    levels = [cuts]
    while len(levels[0]) > _WIDTH:
        levels.insert(0, levels[0][_WIDTH - 1 :: _WIDTH])
    return [np.append(level, np.full(_WIDTH - len(level) % _WIDTH, np.nan)) for level in levels]


@inner
def _value(t: int, i: int) -> float:
    """Return input i: the number, or its word."""
    value = np.float64(_single(_integer(t, _X), i))
    if _integer(t, _ROUNDING) < 0:
        return value
    integer = rounded(value * _double(_integer(t, _FACTORS), i), _integer(t, _ROUNDING))
    word = in_range(integer, _integer(t, _OVERFLOW), _integer(t, _LOWEST), _integer(t, _HIGHEST))
    return np.float64(word)


@inner
def _walk(t: int) -> None:
    """Follow each tree to a leaf, and write the sum."""
    roots, feature, cut = _integer(t, _ROOTS), _integer(t, _FEATURE), _integer(t, _CUT)
    left, right, leaf = _integer(t, _LEFT), _integer(t, _RIGHT), _integer(t, _LEAF)
    base, x, nan_left = _integer(t, _BASE), _integer(t, _INPUT), _integer(t, _NAN_LEFT)
    overflow, lowest, highest = (
        _integer(t, _SUM_OVERFLOW),
        _integer(t, _SUM_LOWEST),
        _integer(t, _SUM_HIGHEST),
    )
    total, outside = _double(base, 0), 0.0
    for tree in range(_integer(t, _TREES)):
        node = _integer(roots, tree)
        while _integer(feature, node) >= 0:
            value = _double(x, _integer(feature, node))
            below = value < _double(cut, node) or (value != value and _integer(nan_left, node) != 0)
            node = _integer(left, node) if below else _integer(right, node)
        total += _double(leaf, node)
        if overflow < 0:
            total = np.float64(np.float32(total))
        elif overflow > 0 and not lowest <= total <= highest:
            total, outside = np.float64(in_range(total, overflow, lowest, highest)), 1.0
    if overflow < 0:
        total = np.float64(np.float32(total + _double(base, 1)))
    else:
        if not lowest <= total <= highest:
            outside = 1.0
        word = in_range(total, overflow, lowest, highest)
        total = np.float64(word) * _double(_integer(t, _FACTORS), _integer(t, _INPUTS))
    _put(_integer(t, _SCORE), 0, total)
    _put(_integer(t, _OUTSIDE), 0, outside)


@c_function
def _by_walk(t: int) -> int:
    for i in range(_integer(t, _INPUTS)):
        _put(_integer(t, _INPUT), i, _value(t, i))
    _walk(t)
    return 1


@c_function
def _by_table(t: int) -> int:
    cell = 0
    inputs, stride, level = _integer(t, _INPUT_OF), _integer(t, _STRIDE), _integer(t, _LEVEL)
    start, cuts = _integer(t, _START), _integer(t, _CUTS)
    for k in range(_integer(t, _SEARCHED)):
        value = _value(t, _integer(inputs, k))
        below = 0  # number of thresholds of a level at or below the value
        for place in range(_integer(level, k), _integer(level, k + 1)):
            first = _integer(start, place) + _WIDTH * below
            below *= _WIDTH
            for i in range(first, first + _WIDTH):
                below += int(value >= _double(cuts, i))
        cell += _integer(stride, k) * below
    _put(_integer(t, _SCORE), 0, _double(_integer(t, _SCORES), cell))
    _put(_integer(t, _OUTSIDE), 0, _double(_integer(t, _BEYOND), cell))
    return 1


@kernel
def _walk_all(t: int, inputs: IntArray, x: FloatArray, scores: FloatArray, outside: FloatArray) -> None:
    """Write the sum for each row of the numbers or words x, float64[n, d], of these inputs."""
    for row in range(len(x)):
        for k in range(len(inputs)):
            _put(_integer(t, _INPUT), inputs[k], x[row, k])
        _put_integer(t, _SCORE, scores.ctypes.data + 8 * row)
        _put_integer(t, _OUTSIDE, outside.ctypes.data + 8 * row)
        _walk(t)


@kernel
def _rows(function: int, t: int, x: Features, scores: FloatArray, outside: FloatArray) -> None:
    for row in range(len(x)):
        _put_integer(t, _X, x.ctypes.data + 4 * x.shape[1] * row)
        _put_integer(t, _SCORE, scores.ctypes.data + 8 * row)
        _put_integer(t, _OUTSIDE, outside.ctypes.data + 8 * row)
        call_function(function, t)
