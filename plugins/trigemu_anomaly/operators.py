"""The operators of ONNX as steps, and the graph that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import evaluator as do
from .onnx_graph import BOOL, DOUBLE, FLOAT, Graph, Node
from .steps import Array, Floats, Operand, Trace, UnknownError, Value, check_size

#: The largest number of nodes.
MAX_NODES = 2000
#: Versions of ONNX whose operators are known.
_OPSETS = range(13, 24)
#: A function of the trace, the operands (None: left out), and the attributes.
Rule = Callable[[Trace, list[Any], dict[str, Any]], Any]


def _floats(*operands: Any) -> list[Any]:
    """Return operands, all of which must be float32."""
    for value in operands:
        if value is None or (value.kind != FLOAT if isinstance(value, Value) else value.dtype != np.float32):
            raise UnknownError("a number that is not float")
    return list(operands)


def _unary(op: int, function: Callable[..., Any]) -> Rule:
    """Element by element; `function` does the same to constants."""
    return lambda steps, operands, attributes: _computed(steps, op, function, *_floats(*operands))


def _binary(op: int, function: Callable[..., Any]) -> Rule:
    """Two numbers, or several in turn."""

    def rule(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
        return reduce(partial(_computed, steps, op, function), _floats(*operands))

    return rule


def _computed(steps: Trace, op: int, function: Callable[..., Any], *operands: Operand) -> Operand:
    if any(isinstance(value, Value) for value in operands):
        return steps.elementwise(op, *operands)
    numbers = [np.asarray(value, np.float64) for value in operands]
    check_size(math.prod(np.broadcast_shapes(*(array.shape for array in numbers))))
    with np.errstate(all="ignore"):
        return np.asarray(function(*numbers), np.float32)


def _single(number: float) -> Floats:
    return np.array(number, np.float32)


def _not(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = operands
    if not isinstance(x, Value) or x.kind != BOOL:
        raise UnknownError("Not of a number")
    return steps.elementwise(do.NOT, x, kind=BOOL)


def _power(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, exponent = _floats(*operands)
    if isinstance(x, Value) and not isinstance(exponent, Value) and exponent.size == 1:
        if exponent.item() == 2.0:
            return steps.elementwise(do.MULTIPLY, x, x)
        if exponent.item() == 0.5:
            return steps.elementwise(do.SQUARE_ROOT, x)
    raise UnknownError("Pow other than a square or a root")


def _clip(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, low, high = [*operands, None, None][:3]
    for op, function, bound in ((do.MAXIMUM, np.maximum, low), (do.MINIMUM, np.minimum, high)):
        if bound is not None:
            x = _computed(steps, op, function, *_floats(x, bound))
    return x


def _elu(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = _floats(*operands)
    below = steps.elementwise(do.SUBTRACT, steps.elementwise(do.EXPONENTIAL, x), _single(1.0))
    scaled = steps.elementwise(do.MULTIPLY, below, _single(attributes.get("alpha", 1.0)))
    return steps.elementwise(do.IF_NEGATIVE, x, scaled)


def _leaky(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = _floats(*operands)
    scaled = steps.elementwise(do.MULTIPLY, x, _single(attributes.get("alpha", 0.01)))
    return steps.elementwise(do.IF_NEGATIVE, x, scaled)


def _sigmoid(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = _floats(*operands)
    power = steps.elementwise(do.EXPONENTIAL, steps.elementwise(do.NEGATIVE, x))
    return steps.elementwise(do.DIVIDE, _single(1.0), steps.elementwise(do.ADD, power, _single(1.0)))


def _gemm(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, weight, *more = _floats(*(one for one in operands if one is not None))
    if attributes.get("transA") or not isinstance(x, Value) or x.slots.ndim != 2 or isinstance(weight, Value):
        raise UnknownError("Gemm of a matrix for each event")
    matrix = (weight.T if attributes.get("transB") else weight) * np.float64(attributes.get("alpha", 1.0))
    bias = np.zeros((1, matrix.shape[1]))
    if more:
        if isinstance(more[0], Value):
            raise UnknownError("Gemm that adds numbers of events")
        bias = np.broadcast_to(more[0] * np.float64(attributes.get("beta", 1.0)), bias.shape)
    return steps.layer(x, matrix.astype(np.float32), bias[0].astype(np.float32))


def _product(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, weight = _floats(*operands)
    if not isinstance(x, Value) or isinstance(weight, Value) or weight.ndim != 2:
        raise UnknownError("MatMul of two values of an event")
    return steps.layer(x, weight, np.zeros(weight.shape[1], np.float32))


def _slots(x: Operand) -> Array:
    return x.slots if isinstance(x, Value) else x


def _arranged(x: Operand, function: Callable[[Array], Array]) -> Operand:
    return Value(function(x.slots), x.kind) if isinstance(x, Value) else function(x)


def _axes(x: Operand, axes: Iterable[int], more: int = 0) -> list[int]:
    """Return axes of a value, ascending, or of one with more axes."""
    found = sorted(normalize_axis_tuple(tuple(axes), _slots(x).ndim + more))
    if isinstance(x, Value) and 0 in found:
        raise UnknownError("an operator along the events")
    return found


def _requested_axes(operands: list[Any], attributes: dict[str, Any]) -> list[int] | None:
    if len(operands) > 1 and operands[1] is not None:
        return _integers(operands[1])
    return attributes.get("axes")


def _integers(x: Any) -> list[int]:
    if isinstance(x, Value) or x.dtype not in (np.int32, np.int64):
        raise UnknownError("a shape that depends on the event")
    return x.ravel().tolist()  # type: ignore[no-any-return]


def _summed(square: bool = False, mean: bool = False) -> Rule:
    def rule(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
        (x,) = _floats(operands[0])
        axes = _requested_axes(operands, attributes)
        if not isinstance(x, Value):
            raise UnknownError("a sum of constants")
        if not axes:
            if axes is not None and attributes.get("noop_with_empty_axes"):
                return x
            raise UnknownError("a sum along the events")
        if square:
            x = steps.elementwise(do.MULTIPLY, x, x)
        result = steps.summed(x, _axes(x, axes), bool(attributes.get("keepdims", 1)))
        if mean:
            return steps.elementwise(do.DIVIDE, result, _single(x.slots.size / result.slots.size))
        return result

    return rule


def _gather(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, indices = operands
    (axis,) = _axes(x, [attributes.get("axis", 0)])
    check_size(_slots(x).size * len(_integers(indices)))
    return _arranged(x, lambda part: np.take(part, indices, axis=axis))


def _slice(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, *parts = operands
    starts, ends, axes, strides = ([*parts, None, None])[:4]
    starts, ends = _integers(starts), _integers(ends)
    cuts = [slice(None)] * _slots(x).ndim
    for i, axis in enumerate(range(len(starts)) if axes is None else _integers(axes)):
        (sliced,) = _axes(x, [axis])
        step, stop = 1 if strides is None else _integers(strides)[i], ends[i]
        beyond = step < 0 and stop < -_slots(x).shape[sliced]
        cuts[sliced] = slice(starts[i], None if beyond else stop, step)
    return _arranged(x, lambda part: part[tuple(cuts)])


def _concatenated(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    check_size(sum(_slots(x).size for x in operands))
    if not any(isinstance(x, Value) for x in operands):
        return np.concatenate(operands, attributes["axis"])
    values: list[Value] = _floats(*operands)
    (axis,) = _axes(values[0], [attributes["axis"]])
    return Value(np.concatenate([value.slots for value in values], axis))


def _reshaped(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, shape = operands[0], _integers(operands[1])
    if attributes.get("allowzero"):
        raise UnknownError("Reshape to nothing")
    if isinstance(x, Value) and shape[0] not in (0, -1):
        raise UnknownError("Reshape across the events")
    sizes = [_slots(x).shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return _arranged(x, lambda part: part.reshape(sizes))


def _flat(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = operands
    if not isinstance(x, Value) or attributes.get("axis", 1) != 1:
        raise UnknownError("Flatten across the events")
    return Value(x.slots.reshape(1, -1), x.kind)


def _squeezed(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, axes = operands[0], _requested_axes(operands, attributes)
    if axes is None:
        raise UnknownError("Squeeze of all axes")
    return _arranged(x, lambda part: np.squeeze(part, tuple(_axes(x, axes))))


def _unsqueezed(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, axes = operands[0], _requested_axes(operands, attributes) or []
    return _arranged(x, lambda part: np.expand_dims(part, tuple(_axes(x, axes, len(axes)))))


def _cast(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,), to = operands, attributes["to"]
    if not isinstance(x, Value):
        return x.astype({1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}[to])
    if to == BOOL and x.kind == FLOAT:
        return steps.elementwise(do.NOT, steps.elementwise(do.NOT, x), kind=BOOL)
    if to not in (FLOAT, DOUBLE) or x.kind == DOUBLE:
        raise UnknownError("Cast to another type")
    return Value(x.slots, to)


def _where(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    condition, *both = operands
    a, b = _floats(*both)
    if (condition.kind != BOOL) if isinstance(condition, Value) else (condition.dtype != np.bool_):
        raise UnknownError("Where without a condition")
    if isinstance(condition, Value):
        return steps.elementwise(do.CHOOSE, condition, a, b)
    if not any(isinstance(x, Value) for x in (a, b)):
        check_size(math.prod(np.broadcast_shapes(condition.shape, a.shape, b.shape)))
        return np.where(condition, a, b)
    return Value(np.where(condition, *steps.broadcast([a, b])))


def _constant(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    ((name, value),) = attributes.items()
    if name == "value":
        return value
    return np.array(value, np.float32 if "float" in name else np.int64)


RULES: dict[str, Rule] = {
    "Abs": _unary(do.ABSOLUTE, np.abs),
    "Add": _binary(do.ADD, np.add),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concatenated,
    "Constant": _constant,
    "Div": _binary(do.DIVIDE, np.divide),
    "Elu": _elu,
    "Equal": lambda steps, operands, attributes: steps.elementwise(do.EQUAL, *_floats(*operands), kind=BOOL),
    "Exp": _unary(do.EXPONENTIAL, np.exp),
    "Flatten": _flat,
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": lambda steps, operands, attributes: operands[0],
    "LeakyRelu": _leaky,
    "Log": _unary(do.LOGARITHM, np.log),
    "MatMul": _product,
    "Max": _binary(do.MAXIMUM, np.maximum),
    "Min": _binary(do.MINIMUM, np.minimum),
    "Mul": _binary(do.MULTIPLY, np.multiply),
    "Neg": _unary(do.NEGATIVE, np.negative),
    "Not": _not,
    "Pow": _power,
    "ReduceMean": _summed(mean=True),
    "ReduceSum": _summed(),
    "ReduceSumSquare": _summed(square=True),
    "Relu": _unary(do.RELU, lambda x: np.maximum(x, 0.0)),
    "Reshape": _reshaped,
    "Sigmoid": _sigmoid,
    "Slice": _slice,
    "Sqrt": _unary(do.SQUARE_ROOT, np.sqrt),
    "Squeeze": _squeezed,
    "Sub": _binary(do.SUBTRACT, np.subtract),
    "Tanh": _unary(do.TANGENT, np.tanh),
    "Unsqueeze": _unsqueezed,
    "Where": _where,
}


def trace(graph: Graph, features: int) -> tuple[Trace, int, int]:
    """Return the steps of a graph, its number of inputs, which have the first slots, and the slot of its
    score."""
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
    return steps, features, int(score.slots.ravel()[0])


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
