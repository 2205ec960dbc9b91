"""A network as steps, which the kernels run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.observables.workspace import Workspace

from .evaluator import score_blocks, score_events
from .input_kernels import INFINITE, Features, inputs_function
from .inputs import Inputs
from .score_model import ScoreModel
from .single_row import RowFunction, StepRow
from .step_memory import FLOATS, BoundSteps, Layout, Machine, lay_out
from .steps import Step, Trace
from .vector_code import LANES

#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"


class StepModel(ScoreModel):
    """A network as steps.

    Parameters
    ----------
    trace : Trace
        The constants of its steps.
    steps : list of Step
        The steps that its score needs.
    features : int
        The number of its inputs, the first slots.
    score : int
        The slot of its score.
    machine : Machine
        What runs the steps.
    """

    def __init__(
        self, trace: Trace, steps: list[Step], features: int, score: int, machine: Machine = FLOATS
    ) -> None:
        self.engine = KERNELS
        self._features = features
        self._blocks = lay_out(trace, steps, features, score, LANES, machine)
        self._row = lay_out(trace, steps, features, score, 1, machine)
        self._free: list[BoundSteps] = []

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        scores = np.empty(len(features))
        with self._bound(self._blocks) as steps:
            score_blocks(*steps, np.ascontiguousarray(features, np.float32), scores)
        return scores

    def score_events(
        self,
        inputs: Inputs,
        work: Workspace,
        trees: RowFunction | None = None,
        columns: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        scores, of_trees = np.empty((2, len(work.events)))
        selected = np.empty(0, np.int64) if columns is None else columns
        function, arguments = (trees.function, trees.arguments) if trees else (0, 0)
        fill, x = inputs_function(), np.empty(len(selected), np.float32)

        def run(table: int) -> int:
            return score_events(fill, table, *steps, function, arguments, selected, x, scores, of_trees)

        with self._bound(self._blocks) as steps:
            if inputs.run(work, run) == INFINITE:
                inputs.evaluate(work)  # raises the error that names the event
        return scores, of_trees

    @contextmanager
    def _bound(self, layout: Layout) -> Iterator[tuple[int, int, int, int]]:
        """Yield the addresses of steps with memory that no other thread uses."""
        steps = self._free.pop() if self._free else layout.bind()
        yield steps.addresses
        self._free.append(steps)

    def row(self) -> StepRow:
        return StepRow(self._row, self._features)
