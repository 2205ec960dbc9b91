"""A network with one score per event: as steps, or by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

from trigemu.api import Features, FloatArray, Inputs, IntArray, Workspace

from .network_steps import trace
from .onnx_file import checked_graph
from .onnx_session import Session, SessionRow
from .score_model import ScoreModel
from .single_row import RowFunction, StepRow
from .step_memory import needed_steps, with_relu
from .step_model import KERNELS, StepModel
from .steps import Array, UnknownError

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
        self._steps: StepModel | None = None
        try:
            if engine:
                raise UnknownError("as the card says")
            steps, score = trace(graph, features)
            needed = with_relu(needed_steps(steps, score), score)
            self._steps = StepModel(steps, needed, features, score)
            self.engine = KERNELS
        except UnknownError as error:
            self.engine = f"ONNX Runtime ({error})"
            self._session  # noqa: B018 (loads the model, or raises)

    @cached_property
    def _session(self) -> Session:
        return Session(self._content, self._features)

    def score(self, features: Features) -> FloatArray:
        return (self._steps or self._session).score(features)

    def score_events(
        self,
        inputs: Inputs,
        work: Workspace,
        trees: RowFunction | None = None,
        columns: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        if self._steps is None:
            return super().score_events(inputs, work, trees, columns)
        return self._steps.score_events(inputs, work, trees, columns)

    def row(self) -> StepRow | SessionRow:
        return (self._steps or self._session).row()

    def bound(self, features: Features) -> Callable[[], Array]:
        return self._session.bound(features)
