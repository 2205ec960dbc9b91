"""Trees of any size, followed from the root to a leaf in single precision: the sums of XGBoost, without a C
compiler."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import Array
from trigemu.base.kernels import c_function, kernel, numbers_at

from .input_kernels import Features
from .single_row import Row, row_of
from .tree_cells import as_single
from .trees import Ensemble

Floats = npt.NDArray[np.float32]

_integer, _ = numbers_at(types.int64)
_node, _ = numbers_at(types.int32)
_single, _put_single = numbers_at(types.float32)
_, _put = numbers_at(types.float64)


class Walk:
    """Trees in memory. features: the number of inputs."""

    def __init__(self, trees: Ensemble) -> None:
        self.features = trees.features
        base = np.array([trees.base], np.float32)
        arrays: list[Array] = [trees.starts, trees.feature, as_single(trees.threshold)]
        arrays += [trees.left, trees.right, trees.value.astype(np.float32), base]
        arrays = [np.ascontiguousarray(array) for array in arrays]
        numbers = [trees.trees, *(array.ctypes.data for array in arrays)]
        self._memory = np.array(numbers, np.int64), arrays
        self.address = int(self._memory[0].ctypes.data)

    def row(self) -> Row:
        """Return memory for one row at a time."""
        return row_of(_run, self.features, [self.address], self)

    def predict(self, x: Features) -> Floats:
        """Return the scores float32[n] of float32[n, d], none of which is NaN; releases the GIL."""
        if x.ndim != 2 or x.shape[1] != self.features:
            raise ValueError(f"trees that read {self.features} features got an array {x.shape}")
        x, scores = np.ascontiguousarray(x, np.float32), np.empty(len(x), np.float32)
        _predict(self.address, x, scores)
        return scores


@kernel
def _sum(trees: int, x: int) -> float:
    """Return the score of the float32 row at an address; trees: the address of their numbers."""
    starts, feature, threshold = _integer(trees, 1), _integer(trees, 2), _integer(trees, 3)
    left, right, value = _integer(trees, 4), _integer(trees, 5), _integer(trees, 6)
    total = np.float32(0)
    for tree in range(_integer(trees, 0)):
        node = _node(starts, tree)
        while _node(feature, node) >= 0:
            below = _single(x, _node(feature, node)) < _single(threshold, node)
            node = _node(left, node) if below else _node(right, node)
        total += _single(value, node)
    return total + _single(_integer(trees, 7), 0)  # type: ignore[no-any-return]


@kernel
def _predict(trees: int, x: Features, scores: Floats) -> None:
    row: int = np.int64(x.ctypes.data)  # type: ignore[assignment]
    for i in range(len(x)):
        scores[i] = _sum(trees, row + i * x.shape[1] * 4)


@c_function
def _run(t: int) -> int:
    _put(_integer(t, 1), 0, np.float64(_sum(_integer(t, 2), _integer(t, 0))))
    return 1
