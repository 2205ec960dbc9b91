"""A network with one score per event: as steps, or by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from trigemu.base.arrays import FloatArray

from .input_kernels import Features
from .onnx_graph import BOOL, FLOAT, Graph, Node, read_graph
from .onnx_session import Session
from .operators import RULES
from .single_row import Row, ScoreModel
from .steps import KERNELS, Array, StepModel, Trace, UnknownError, Value

#: The largest number of nodes.
MAX_NODES = 2000
#: Versions of ONNX whose operators are known.
_OPSETS = range(13, 24)


def trace(graph: Graph, features: int) -> tuple[Trace, int]:
    """Return the steps of a graph, whose input has the slots 0 to `features`, and the slot of the score."""
    weights, values = graph.weights, dict[str, Any](graph.weights)
    inputs = [tensor for tensor in graph.inputs if tensor.name not in weights]
    if graph.opset not in _OPSETS or len(graph.nodes) > MAX_NODES:
        raise UnknownError("too many nodes, or another version of ONNX")
    if len(inputs) != 1 or len(graph.outputs) != 1:
        raise UnknownError("several inputs or outputs")
    (x,), (y,) = inputs, graph.outputs
    if x.kind != FLOAT or x.shape not in ([None, None], [None, features]):
        raise UnknownError(f"an input that is not float[n, {features}]")
    steps = Trace()
    values[x.name] = Value(steps.new(1, features))
    for node in graph.nodes:
        _follow(steps, node, values)
    score = values.get(y.name)
    if not isinstance(score, Value) or score.slots.size != 1 or score.kind != y.kind or y.kind == BOOL:
        raise UnknownError("an output that is not one number an event")
    return steps, int(score.slots.ravel()[0])


def _follow(steps: Trace, node: Node, values: dict[str, Any]) -> None:
    rule = RULES.get(node.kind) if node.domain in ("", "ai.onnx") else None
    if rule is None:
        raise UnknownError(f"the operator {node.kind[:50]!r}")
    if len([name for name in node.outputs if name]) != 1 or node.outputs[0] in values:
        raise UnknownError(f"{node.kind} with several outputs")
    operands = [values.get(name) if name else None for name in node.inputs]
    if any(name and value is None for name, value in zip(node.inputs, operands, strict=True)):
        raise UnknownError(f"{node.kind} of a value that does not exist")
    try:
        result = rule(steps, operands, node.attributes)
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise UnknownError(f"{node.kind} that does not fit its inputs") from error
    if isinstance(result, Value) and result.slots.shape[:1] != (1,):
        raise UnknownError(f"{node.kind} across the events")
    values[node.outputs[0]] = result


#: What evaluates networks in ONNX: ONNX Runtime, all rows in one call, or trigemu's kernels.
Engine = Literal["onnxruntime", "kernels"]


class Network(ScoreModel):
    """A network in ONNX; ONNX Runtime evaluates it by choice, or if an operator has no kernel."""

    def __init__(self, content: bytes, features: int, engine: Engine = "onnxruntime") -> None:
        self._content, self._features = content, features
        self._steps: StepModel | None = None
        self.engine = "ONNX Runtime"
        if engine == "kernels":
            try:
                steps, score = trace(read_graph(content), features)
                self._steps = StepModel(steps, features, score)
                self.engine = KERNELS
            except UnknownError as error:
                self.engine = f"ONNX Runtime ({error})"
            except (IndexError, TypeError, ValueError):
                self.engine = "ONNX Runtime (its fields are damaged)"
        if not self._steps:
            self._session  # noqa: B018 (loads the model, or raises)

    @cached_property
    def _session(self) -> Session:
        return Session(self._content, self._features)

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the input and the score in the file."""
        return self._session.ends

    def score(self, features: Features) -> FloatArray:
        return (self._steps or self._session).score(features)

    def row(self) -> Row:
        return (self._steps or self._session).row()

    def bound(self, features: Features) -> Callable[[], Array]:
        return self._session.bound(features)
