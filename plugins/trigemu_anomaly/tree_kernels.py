"""Kernels for boosted trees, in single precision as XGBoost adds them, or in words of fixed-point types.

Trees of few inputs become one table: the thresholds of an input divide its range into bins, and all of them
the input space into cells, in each of which the sum of the trees is computed once. A score then needs one
search per input and one look-up, for any number of trees. Where that table would be too large, or an input
may be NaN, trees are followed from the root to a leaf. Words are whole numbers of at most 53 bits, and so
float64 like all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.kernels import address_of, c_function, call_function, inner, kernel

from .fixed_point import ApFixed, in_range, rounded
from .input_kernels import Features
from .single_row import Row
from .vectors import numbers_at

if TYPE_CHECKING:
    from .trees import Ensemble

#: Most cells of a table, which then has 2 MB and stays in the caches of a core.
MAX_CELLS = 2**18
#: Most leaves that are added to cells to make a table, which takes half a second.
MAX_SUMS = 2**28
#: Thresholds that a value is compared with in each step of a search. With 2, 8 or 16, rows take 1.5, 1.1 or 2
#: times as long.
_WIDTH = 4
#: The numbers of trees, and addresses of their arrays. A negative rounding stands for single precision.
(
    _X, _SCORE, _OUTSIDE, _INPUTS, _ROUNDING, _OVERFLOW, _LOWEST, _HIGHEST, _FACTORS,
    _SUM_OVERFLOW, _SUM_LOWEST, _SUM_HIGHEST, _TREES,
) = range(13)  # fmt: skip
#: Of a table, in the order of `_search` and its values; of trees that are followed, in the order of nodes.
_FEATURE, _STRIDE, _LEVEL, _START, _CUTS, _VALUES, _BEYOND = range(13, 20)
_ROOTS, _NODE_FEATURE, _CUT, _LEFT, _RIGHT, _LEAF, _BASE, _NAN_LEFT, _SCRATCH = range(13, 22)

_integer, _put_integer = numbers_at(types.int64)
_single, _ = numbers_at(types.float32)
_double, _put = numbers_at(types.float64)


class TreeKernels:
    """Trees for kernels. engine: how they are evaluated. fixed: the types of inputs and score, and the
    scales, of trees of words."""

    notes: tuple[str, ...] = ()

    def __init__(self, trees: Ensemble, fixed: tuple[ApFixed, ApFixed, Sequence[int]] | None = None) -> None:
        self.features, self.cells = trees.features, 0
        factors, modes, sums = np.ones(self.features + 1), [-1, 0, 0, 0], [-1, 0, 0]
        if fixed:
            inputs, score, scales = fixed
            factors = np.append(np.ldexp(1.0, np.array(scales, np.int64) + inputs.fraction), score.step)
            modes, sums = [*inputs.modes, *inputs.words], [score.modes[1], *score.words]
        arrays = _cells(trees, fixed and fixed[1]) if trees.left_of_nan is None else None
        if arrays:
            self.engine, self._function, count = "as a table", _of_cells, len(arrays[0])
            self.cells = len(arrays[-1])
        else:
            self.engine, self._function, count = "one by one", _of_nodes, trees.trees
            nodes = (trees.starts, trees.feature, trees.left, trees.right)
            roots, feature, left, right = (column.astype(np.int64) for column in nodes)
            values, base = trees.value, np.array([trees.base, 0.0])
            if not fixed:
                values, base = (part.astype(np.float32).astype(np.float64) for part in (values, base[::-1]))
            nan = np.zeros(len(left)) if trees.left_of_nan is None else trees.left_of_nan
            arrays = [roots, feature, trees.threshold, left, right, values, base, nan.astype(np.int64)]
        self._memory = [np.ascontiguousarray(array) for array in (factors, *arrays)]
        first, *others = (array.ctypes.data for array in self._memory)
        self._numbers = [self.features, *modes, first, *sums, count, *others]

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
        scratch = np.empty(self.features)
        addresses = (array.ctypes.data for array in (x, score, outside))
        table = np.array([*addresses, *self._numbers, scratch.ctypes.data], np.int64)
        function = address_of(self._function, types.intp(types.intp))
        return Row(x, score, function, int(table.ctypes.data), memory=(self, outside, scratch, table))


def _cells(trees: Ensemble, score: ApFixed | None) -> list[Array] | None:
    """Return the arrays of a table; None if it would be too large. These are, for each input that a tree
    splits on, the input, the number of cells from one of its bins to the next, and its first level, int64;
    the start of each level of a search: the thresholds of an input, ascending, preceded by every fourth of
    them, and so on until at most four are left; the thresholds of all levels, filled up with NaN, which no
    value reaches; and for each cell the score, and whether a sum was outside of its type."""
    split = trees.feature >= 0
    feature = np.unique(trees.feature[split]).astype(np.int64)
    cuts = [np.unique(trees.threshold[trees.feature == number]) for number in feature]
    shape = [len(some) + 1 for some in cuts]
    if math.prod(shape) > MAX_CELLS or math.prod(shape) * trees.trees > MAX_SUMS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        values, outside = _sums(trees, feature, cuts, score)
    searches = [_levels(some) for some in cuts]
    levels = [level for search in searches for level in search]
    stride = np.array(values.strides, np.int64) // values.itemsize
    first, start = (np.cumsum([0, *map(len, parts)]) for parts in (searches, levels))
    thresholds = np.concatenate([*levels, np.empty(0)])
    return [feature, stride, first, start, thresholds, values.ravel(), outside.ravel()]


def _levels(cuts: FloatArray) -> list[FloatArray]:
    levels = [cuts]
    while len(levels[0]) > _WIDTH:
        levels.insert(0, levels[0][_WIDTH - 1 :: _WIDTH])
    return [np.append(level, np.full(_WIDTH - len(level) % _WIDTH, np.nan)) for level in levels]


def _sums(
    trees: Ensemble, feature: IntArray, cuts: list[FloatArray], score: ApFixed | None
) -> tuple[FloatArray, FloatArray]:
    """Return the score of each cell, and where a sum was outside of its type, by input."""
    shape = [len(some) + 1 for some in cuts]
    sums: Any = np.zeros(shape, np.float32) if score is None else np.full(shape, trees.base)
    outside = np.zeros(shape)
    low, high = np.zeros((2, len(trees.feature), len(feature)), np.int64)
    high[trees.starts[:-1]] = shape
    last = set((trees.starts[1:] - 1).tolist())
    for node, number in enumerate(trees.feature.tolist()):
        if number < 0:
            sums[tuple(map(slice, low[node], high[node]))] += sums.dtype.type(trees.value[node])
        else:
            k = int(np.searchsorted(feature, number))
            middle = int(np.searchsorted(cuts[k], trees.threshold[node])) + 1
            left, right = trees.left[node], trees.right[node]
            low[[left, right]], high[[left, right]] = low[node], high[node]
            high[left, k] = min(high[node, k], middle)
            low[right, k] = max(low[node, k], middle)
        if score is not None and node in last and score.overflow != "AP_WRAP":
            outside = np.maximum(outside, _beyond(sums, score))
            sums = score.quantise(sums * score.step).astype(np.float64)
    if score is None:
        return (sums + np.float32(trees.base)).astype(np.float64), outside
    outside = np.maximum(outside, _beyond(sums, score))
    return score.to_float(score.quantise(sums * score.step)), outside


def _beyond(sums: FloatArray, score: ApFixed) -> BoolArray:
    lowest, highest = score.words
    return (sums < lowest) | (sums > highest)


@inner
def _value(t: int, i: int) -> float:
    """Return input i: the number, or its word."""
    value = np.float64(_single(_integer(t, _X), i))
    if _integer(t, _ROUNDING) < 0:
        return value
    integer = rounded(value * _double(_integer(t, _FACTORS), i), _integer(t, _ROUNDING))
    word = in_range(integer, _integer(t, _OVERFLOW), _integer(t, _LOWEST), _integer(t, _HIGHEST))
    return np.float64(word)


@c_function
def _of_cells(t: int) -> int:
    cell = 0
    feature, stride, level = _integer(t, _FEATURE), _integer(t, _STRIDE), _integer(t, _LEVEL)
    start, cuts = _integer(t, _START), _integer(t, _CUTS)
    for k in range(_integer(t, _TREES)):
        value = _value(t, _integer(feature, k))
        below = 0  # number of thresholds of a level at or below the value
        for place in range(_integer(level, k), _integer(level, k + 1)):
            first = _integer(start, place) + _WIDTH * below
            below *= _WIDTH
            for i in range(first, first + _WIDTH):
                below += int(value >= _double(cuts, i))
        cell += _integer(stride, k) * below
    _put(_integer(t, _SCORE), 0, _double(_integer(t, _VALUES), cell))
    _put(_integer(t, _OUTSIDE), 0, _double(_integer(t, _BEYOND), cell))
    return 1


@c_function
def _of_nodes(t: int) -> int:
    roots, feature, cut = _integer(t, _ROOTS), _integer(t, _NODE_FEATURE), _integer(t, _CUT)
    left, right, leaf = _integer(t, _LEFT), _integer(t, _RIGHT), _integer(t, _LEAF)
    base, x, overflow = _integer(t, _BASE), _integer(t, _SCRATCH), _integer(t, _SUM_OVERFLOW)
    nan_left = _integer(t, _NAN_LEFT)
    lowest, highest = _integer(t, _SUM_LOWEST), _integer(t, _SUM_HIGHEST)
    for i in range(_integer(t, _INPUTS)):
        _put(x, i, _value(t, i))
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
    return 1


@kernel
def _rows(function: int, t: int, x: Features, scores: FloatArray, outside: FloatArray) -> None:
    for row in range(len(x)):
        _put_integer(t, _X, x.ctypes.data + 4 * x.shape[1] * row)
        _put_integer(t, _SCORE, scores.ctypes.data + 8 * row)
        _put_integer(t, _OUTSIDE, outside.ctypes.data + 8 * row)
        call_function(function, t)
