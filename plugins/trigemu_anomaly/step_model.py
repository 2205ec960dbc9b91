"""A network as steps, which the kernels run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import FloatArray

from .evaluator import score_blocks
from .input_kernels import Features
from .score_model import ScoreModel
from .single_row import Row
from .step_memory import BoundSteps, lay_out
from .steps import Step, Trace
from .vectors import LANES

#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"


class StepModel(ScoreModel):
    """The steps that a score needs. features: the number of inputs, which have the first slots; score: the
    slot of the score."""

    def __init__(
        self, trace: Trace, steps: list[Step], features: int, score: int, kind: npt.DTypeLike = np.float32
    ) -> None:
        self.engine = KERNELS
        self._features = features
        self._blocks = lay_out(trace, steps, features, score, LANES, kind)
        self._row = lay_out(trace, steps, features, score, 1, kind)
        self._free: list[BoundSteps] = []

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        scores = np.empty(len(features))
        with self._bound() as steps:
            score_blocks(*steps, np.ascontiguousarray(features, np.float32), scores)
        return scores

    @contextmanager
    def _bound(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the addresses of steps with memory that no other thread uses."""
        steps = self._free.pop() if self._free else self._blocks.bind()
        yield steps.addresses
        self._free.append(steps)

    def row(self) -> Row:
        return self._row.bind().row(self._features)
