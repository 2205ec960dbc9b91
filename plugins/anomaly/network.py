"""A network with one score per event: as steps, or by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Literal

import numpy as np

from trigemu.api import INFINITE, Features, FloatArray, Inputs, IntArray, Workspace, inputs_function

from .evaluator import score_blocks, score_events
from .network_steps import trace
from .onnx_file import checked_graph
from .onnx_session import Session, SessionRow
from .score_model import ScoreModel
from .single_row import RowFunction, StepRow
from .step_memory import BoundSteps, Layout, lay_out, needed_steps
from .steps import Array, UnknownError
from .vector_code import LANES

#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"
#: A choice of a card: ONNX Runtime, whatever the network.
Engine = Literal["onnxruntime"]


class Network(ScoreModel):
    """A network in ONNX with one score per event.

    Parameters
    ----------
    content : bytes
        The ONNX file.
    features : int
        The number of its inputs.
    engine : "onnxruntime" or None
        None: steps, where all operators have some (`network_steps.RULES`), else ONNX Runtime.

    Raises
    ------
    TrigemuError
        If the model cannot be used.
    """

    def __init__(self, content: bytes, features: int, engine: Engine | None = None) -> None:
        graph = checked_graph(content)
        self._content, self._features, self.chosen = content, features, engine is not None
        self._blocks: Layout | None = None
        self._free: list[BoundSteps] = []
        try:
            if engine:
                raise UnknownError("as the card says")
            steps, score = trace(graph, features)
            needed = needed_steps(steps, score)
            self._blocks = lay_out(steps, needed, features, score, LANES)
            self._row = lay_out(steps, needed, features, score, 1)
            self.engine = KERNELS
        except UnknownError as error:
            self.engine = f"ONNX Runtime ({error})"
            self._session  # noqa: B018 (loads the model, or raises)

    @cached_property
    def _session(self) -> Session:
        return Session(self._content, self._features)

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        if self._blocks is None:
            return self._session.score(features)
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
        if self._blocks is None:
            return super().score_events(inputs, work, trees, columns)
        scores, of_trees = np.empty((2, len(work.events)))
        at = np.empty(0, np.int64) if columns is None else columns
        function, arguments = (trees.function, trees.arguments) if trees else (0, 0)
        fill, x = inputs_function(), np.empty(len(at), np.float32)

        def run(table: int) -> int:
            return score_events(fill, table, *steps, function, arguments, at, x, scores, of_trees)

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

    def row(self) -> StepRow | SessionRow:
        return StepRow(self._row, self._features) if self._blocks else self._session.row()

    def bound(self, features: Features) -> Callable[[], Array]:
        return self._session.bound(features)
