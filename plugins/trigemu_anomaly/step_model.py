"""A network as steps, which the kernels run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import FloatArray

from .evaluator import score_blocks
from .input_kernels import Features
from .score_model import ScoreModel
from .single_row import Row
from .step_memory import Memory
from .steps import Step, Trace
from .vectors import LANES

#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"


class StepModel(ScoreModel):
    """The steps of a score; `features` inputs have the first slots, score is the slot of the score."""

    def __init__(
        self, trace: Trace, steps: list[Step], features: int, score: int, kind: npt.DTypeLike = np.float32
    ) -> None:
        self.engine = KERNELS
        self._features = features
        self._blocks, self._row = (
            Memory(trace, lanes, kind).layout(steps, features, score) for lanes in (LANES, 1)
        )
        self._free: list[Row] = []  # steps with memory that no other thread uses

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        scores = np.empty(len(features))
        block = self._free.pop() if self._free else self._blocks.bind(self._features)
        x = np.ascontiguousarray(features, np.float32)
        score_blocks(block.function, block.arguments, block.features.ctypes.data, x, scores)
        self._free.append(block)
        return scores

    def row(self) -> Row:
        return self._row.bind(self._features)
