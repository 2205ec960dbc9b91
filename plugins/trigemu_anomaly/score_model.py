"""What a model with one score per event can do, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from trigemu.base.arrays import Array, FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.observables.workspace import Workspace

from .fixed_row import score_by
from .input_kernels import Features
from .inputs import Inputs
from .onnx_session import SessionRow
from .single_row import NativeRow, RowFunction


class ScoreModel(ABC):
    """A model with one score per event. Not picklable: created in each process.

    An event has one score: the same bits alone and among any others.
    """

    engine: str  # What evaluates it, and why
    chosen: bool = False  # Whether the card chose ONNX Runtime
    notes: tuple[str, ...] = ()  # What a reader of its file has to know; each follows the name of the file
    # Names that the file gives its inputs, in the order of the card; empty if it has none.
    names: tuple[str, ...] = ()

    @abstractmethod
    def score(self, features: Features) -> FloatArray:
        """Return the scores float64[n] of features float32[n, k]; NaN if the model returns NaN."""

    @abstractmethod
    def row(self) -> NativeRow | SessionRow:
        """Return memory for one event at a time."""

    def bound(self, features: Features) -> Callable[[], Array] | None:
        """Return a function that runs the model on what these rows, float32[n, k], contain then, in one call
        of ONNX Runtime; its scores may differ from `score` in the last bits. None if that is not possible.

        Raises TrigemuError if ONNX Runtime cannot load the model."""
        return None

    def score_events(
        self,
        inputs: Inputs,
        work: Workspace,
        trees: RowFunction | None = None,
        columns: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the scores of events, float64[n], −∞ without a needed input; and those of trees, whose
        inputs are these columns, int64[d], of the model's, float64[n]."""
        features, complete = inputs.evaluate(work)
        of_trees = np.empty(len(features))
        if trees and columns is not None:
            x = np.ascontiguousarray(features.take(columns, axis=1))
            _score_rows(trees.function, trees.arguments, x, of_trees)
        return np.where(complete, self.score(features), -np.inf), of_trees


@kernel
def _score_rows(function: int, arguments: int, x: Features, scores: FloatArray) -> None:
    row: int = np.int64(x.ctypes.data)  # type: ignore[assignment]
    for i in range(len(x)):
        scores[i] = score_by(function, arguments, row + i * x.shape[1] * 4)
