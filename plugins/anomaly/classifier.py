"""A boosted classifier of two classes that XGBoost wrote as JSON.

Its score is the margin, the sum of the leaves and of the base, of which the probability of the signal is a
monotonous function: 1 / (1 + exp(−margin)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types

from trigemu.api import Features, FloatArray, address_of, c_function, numbers_at

from .boosted import load_trees
from .fixed_row import score_by
from .score_model import ScoreModel
from .single_row import NativeRow, RowFunction
from .xgboost_file import LOGISTIC

_integer, _ = numbers_at(types.int64)
_, _put_single = numbers_at(types.float32)


class Classifier(ScoreModel):
    """A classifier of two classes (`binary:logistic`), whose score is the margin.

    Parameters
    ----------
    content : bytes
        The file, XGBoost's JSON.
    features : int
        The number of its inputs.
    inputs : sequence of str
        Its inputs as the card writes them, with which the names in the file are compared.

    Raises
    ------
    TrigemuError
        If the model cannot be used.
    """

    def __init__(self, content: bytes, features: int, inputs: Sequence[str] = ()) -> None:
        self._features = features
        self._trees = load_trees(content, features, LOGISTIC, tuple(inputs))
        self.notes, self.names = self._trees.notes, self._trees.names
        self.engine = f"trigemu's kernels ({self._trees.ensemble.trees} trees, {self._trees.engine})"

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a classifier of {self._features} features got an array {features.shape}")
        return self._trees.predict(features).astype(np.float64)

    def row(self) -> NativeRow:
        return _TreeRow(self._trees.row(), self._features)


class _TreeRow(NativeRow):
    """Trees for one event."""

    def __init__(self, trees: RowFunction, features: int) -> None:
        x, score = np.zeros(features, np.float32), np.zeros(1, np.float32)
        table = np.array([trees.function, trees.arguments, x.ctypes.data, score.ctypes.data], np.int64)
        self._memory = trees, score, table
        run = address_of(_run, types.intp(types.intp))
        super().__init__(x, run, int(table.ctypes.data), int(score.ctypes.data))


@c_function
def _run(table: int) -> int:
    margin = score_by(_integer(table, 0), _integer(table, 1), _integer(table, 2))
    _put_single(_integer(table, 3), 0, np.float32(margin))
    return 1
