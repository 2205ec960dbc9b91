"""A network as a list of steps.

The graph is followed once, with the number of a slot in place of each number of an event. Operators that only
move numbers (Gather, Reshape, Concat, …) move slots, and cost nothing. The others become steps from slots to
slots. Slots that the score does not depend on are left out later; a logarithm that a mask uses for some
inputs is then computed for these alone (`step_memory`).
"""

from __future__ import annotations

from typing import Any

from .onnx_graph import BOOL, FLOAT, Graph, Node
from .operators import RULES
from .steps import Trace, UnknownError, Value

#: The largest number of nodes.
MAX_NODES = 2000
#: Versions of ONNX whose operators are known.
_OPSETS = range(7, 24)


def trace(graph: Graph, features: int) -> tuple[Trace, int]:
    """Return the steps of a graph, whose input has the slots 0 to `features`, and the slot of the score.

    Raises UnknownError if a part is not known.
    """
    weights, values = graph.weights, dict[str, Any](graph.weights)
    inputs = [tensor for tensor in graph.inputs if tensor.name not in weights]
    if graph.functions or graph.sparse or graph.opset not in _OPSETS or len(graph.nodes) > MAX_NODES:
        raise UnknownError("functions, sparse weights, too many nodes or another version of ONNX")
    if len(inputs) != 1 or len(graph.outputs) != 1:
        raise UnknownError("several inputs or outputs")
    (x,), (y,) = inputs, graph.outputs
    if (
        x.kind != FLOAT
        or x.shape is None
        or len(x.shape) != 2
        or x.shape[0]
        or x.shape[1] not in (None, features)
    ):
        raise UnknownError(f"an input that is not float[n, {features}]")
    steps = Trace()
    values[x.name] = Value(steps.new(features))
    for node in graph.nodes:
        _follow(steps, node, values, graph.opset)
    score = values.get(y.name)
    if not isinstance(score, Value) or score.slots.size != 1 or score.kind != y.kind or y.kind == BOOL:
        raise UnknownError("an output that is not one number an event")
    return steps, int(score.slots.ravel()[0])


def _follow(steps: Trace, node: Node, values: dict[str, Any], opset: int) -> None:
    rule = RULES.get(node.kind) if node.domain in ("", "ai.onnx") else None
    if rule is None:
        raise UnknownError(f"the operator {node.kind[:50]!r}")
    if len([name for name in node.outputs if name]) != 1 or node.outputs[0] in values:
        raise UnknownError(f"{node.kind} with several outputs")
    operands = [values.get(name) if name else None for name in node.inputs]
    if any(name and value is None for name, value in zip(node.inputs, operands, strict=True)):
        raise UnknownError(f"{node.kind} of a value that does not exist")
    try:
        values[node.outputs[0]] = rule(steps, operands, node.attributes, opset)
    except UnknownError:
        raise
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise UnknownError(f"{node.kind} that does not fit its inputs") from error
