"""The operators of ONNX as steps: those of dense networks, variational encoders, masks and their scores.

Values are rows [events, n], or [events] after a sum. ONNX Runtime evaluates a model with other values, or
with an operator, or a form of one, that is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from . import evaluator as do
from .onnx_graph import BOOL, DOUBLE, FLOAT, TYPES, Message
from .steps import MAX_WORK, Array, Operand, Trace, UnknownError, Value

#: Versions of ONNX whose operators are known.
_OPSETS = range(13, 24)
#: A function of the trace, the attributes, and the operands (None: left out).
Rule = Callable[..., Any]


def _float32(number: float) -> Array:
    return np.array(number, np.float32)


def _floats(*operands: Any) -> tuple[Any, ...]:
    """Return operands, all of which must be float32."""
    for x in operands:
        if x is None or (x.kind != FLOAT if isinstance(x, Value) else x.dtype != np.float32):
            raise UnknownError("a number that is not float")
    return operands


def _row(x: Any, *axes: int) -> Value:
    """Return a value of rows, along which an operator must act."""
    if not isinstance(x, Value) or x.is_flat or not {*axes} <= {1, -1}:
        raise UnknownError("an operator on constants, along the events or along a third axis")
    return x


def _weight(x: Any) -> Array:
    if isinstance(x, Value):
        raise UnknownError("a product or a sum of two values of an event")
    return np.asarray(x)


def _integers(x: Any) -> list[int]:
    if isinstance(x, Value) or x.dtype not in (np.int32, np.int64) or x.ndim > 1:
        raise UnknownError("a shape that depends on the event, or a matrix of places")
    return x.ravel().tolist()  # type: ignore[no-any-return]


def _computed(steps: Trace, op: int, function: Callable[..., Any], *operands: Operand) -> Operand:
    """Compute element by element; `function` does the same to constants."""
    if any(isinstance(x, Value) for x in _floats(*operands)):
        return steps.elementwise(op, *operands)
    with np.errstate(all="ignore"):
        return np.asarray(function(*(np.asarray(x, np.float64) for x in operands)), np.float32)


def _unary(op: int, function: Callable[..., Any]) -> Rule:
    return lambda steps, attributes, x: _computed(steps, op, function, x)


def _binary(op: int, function: Callable[..., Any]) -> Rule:
    """Two numbers, or several in turn."""
    return lambda steps, attributes, *operands: reduce(partial(_computed, steps, op, function), operands)


def _equal(steps: Trace, attributes: Message, a: Operand, b: Operand) -> Value:
    return steps.elementwise(do.EQUAL, *_floats(a, b), kind=BOOL)


def _not(steps: Trace, attributes: Message, x: Operand) -> Value:
    if not isinstance(x, Value) or x.kind != BOOL:
        raise UnknownError("Not of a number")
    return steps.elementwise(do.EQUAL, x, _float32(0.0), kind=BOOL)


def _cast(steps: Trace, attributes: Message, x: Operand) -> Operand:
    to = attributes["to"]
    if not isinstance(x, Value):
        return x.astype(TYPES[to])
    if to == BOOL and x.kind == FLOAT:
        return _not(steps, attributes, _equal(steps, attributes, x, _float32(0.0)))
    if to not in (FLOAT, DOUBLE) or x.kind == DOUBLE:
        raise UnknownError("Cast to another type")
    return Value(x.slots, to, x.is_flat)


def _where(steps: Trace, attributes: Message, condition: Operand, a: Operand, b: Operand) -> Operand:
    _floats(a, b)
    if isinstance(condition, Value) and condition.kind == BOOL:
        return steps.elementwise(do.CHOOSE, condition, a, b)
    if isinstance(condition, Value) or condition.dtype != np.bool_ or condition.ndim > 1:
        raise UnknownError("Where without a condition")
    (yes, no), is_flat = steps.broadcast(a, b)
    return Value(np.where(condition, yes, no), is_flat=is_flat)


def _power(steps: Trace, attributes: Message, x: Operand, exponent: Operand) -> Operand:
    (power,) = {*_weight(exponent).ravel().tolist()}
    if power not in (2.0, 0.5):
        raise UnknownError("Pow other than a square or a root")
    return steps.elementwise(*((do.MULTIPLY, x, x) if power == 2.0 else (do.SQUARE_ROOT, *_floats(x))))


def _clip(
    steps: Trace, attributes: Message, x: Operand, low: Operand | None = None, high: Operand | None = None
) -> Operand:
    for op, function, bound in ((do.MAXIMUM, np.maximum, low), (do.MINIMUM, np.minimum, high)):
        if bound is not None:
            x = _computed(steps, op, function, x, bound)
    return x


def _leaky(steps: Trace, attributes: Message, x: Operand) -> Value:
    slope = attributes.get("alpha", 0.01)
    if not 0.0 <= slope <= 1.0:
        raise UnknownError("LeakyRelu with a slope beyond 0 to 1")
    return steps.elementwise(do.MAXIMUM, x, steps.elementwise(do.MULTIPLY, *_floats(x), _float32(slope)))


def _sigmoid(steps: Trace, attributes: Message, x: Operand) -> Value:
    negative = steps.elementwise(do.MULTIPLY, *_floats(x), _float32(-1.0))
    power = steps.elementwise(do.EXPONENTIAL, negative)
    return steps.elementwise(do.DIVIDE, _float32(1.0), steps.elementwise(do.ADD, power, _float32(1.0)))


def _gemm(steps: Trace, attributes: Message, x: Operand, weight: Operand, bias: Any = None) -> Value:
    _floats(x, weight)
    matrix = _weight(weight).T if attributes.get("transB") else _weight(weight)
    matrix = matrix * np.float64(attributes.get("alpha", 1.0))
    added = np.zeros(1) if bias is None else _weight(bias) * np.float64(attributes.get("beta", 1.0))
    if attributes.get("transA"):
        raise UnknownError("Gemm across the events")
    added = np.broadcast_to(added, (1, matrix.shape[1]))[0]
    return steps.layer(_row(x), matrix.astype(np.float32), added.astype(np.float32))


def _product(steps: Trace, attributes: Message, x: Operand, weight: Operand) -> Value:
    matrix = _weight(_floats(x, weight)[1])
    return steps.layer(_row(x), matrix, np.zeros(matrix.shape[1], np.float32))


def _axes(attributes: Message, axes: Any) -> list[int]:
    """Return the axes that an operand or an attribute names; 0, of the events, stands for all."""
    return (attributes.get("axes") if axes is None else _integers(axes)) or [0]


def _summed(square: bool = False, mean: bool = False) -> Rule:
    def rule(steps: Trace, attributes: Message, x: Operand, axes: Any = None) -> Value:
        value = _row(*_floats(x), *_axes(attributes, axes))
        if square:
            value = steps.elementwise(do.MULTIPLY, value, value)
        result = steps.summed(value, is_flat=not attributes.get("keepdims", 1))
        return steps.elementwise(do.DIVIDE, result, _float32(len(value.slots))) if mean else result

    return rule


def _gather(steps: Trace, attributes: Message, x: Operand, indices: Any) -> Value:
    value = _row(x, attributes.get("axis", 0))
    return Value(value.slots[_integers(indices)], value.kind, is_flat=indices.ndim == 0)


def _slice(
    steps: Trace, attributes: Message, x: Operand, starts: Any, ends: Any, axes: Any, strides: Any = None
) -> Value:
    value = _row(x, *_integers(axes))
    (start,), (stop,) = _integers(starts), _integers(ends)
    (step,) = [1] if strides is None else _integers(strides)
    beyond = step < 0 and stop < -len(value.slots)
    return Value(value.slots[start : None if beyond else stop : step], value.kind)


def _concatenated(steps: Trace, attributes: Message, *operands: Operand) -> Value:
    values = [_row(x, attributes["axis"]) for x in _floats(*operands)]
    return Value(np.concatenate([value.slots for value in values]))


def _reshaped(steps: Trace, attributes: Message, x: Operand, to: Any) -> Value:
    first, *others = _integers(to)
    value, size = _row(x), len(x.slots) if isinstance(x, Value) else 0
    if first not in (0, -1) or others not in ([], [size], [-1] * (first == 0)) or (not others and size != 1):
        raise UnknownError("Reshape to other than rows of all numbers of an event")
    return Value(value.slots, value.kind, is_flat=not others)


def _squeezed(steps: Trace, attributes: Message, x: Operand, axes: Any = None) -> Value:
    value = _row(x, *_axes(attributes, axes))
    return Value(value.slots.reshape(1), value.kind, is_flat=True)


def _flat(steps: Trace, attributes: Message, x: Operand) -> Value:
    return _row(x, attributes.get("axis", 1))


def _constant(steps: Trace, attributes: Message) -> Array:
    ((name, value),) = attributes.items()
    if name == "value":
        return np.asarray(value)
    return np.array(value, np.float32 if "float" in name else np.int64)


RULES: dict[str, Rule] = {
    "Abs": _unary(do.ABSOLUTE, np.abs),
    "Add": _binary(do.ADD, np.add),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concatenated,
    "Constant": _constant,
    "Div": _binary(do.DIVIDE, np.divide),
    "Equal": _equal,
    "Exp": _unary(do.EXPONENTIAL, np.exp),
    "Flatten": _flat,
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": lambda steps, attributes, x: x,
    "LeakyRelu": _leaky,
    "Log": _unary(do.LOGARITHM, np.log),
    "MatMul": _product,
    "Max": _binary(do.MAXIMUM, np.maximum),
    "Min": _binary(do.MINIMUM, np.minimum),
    "Mul": _binary(do.MULTIPLY, np.multiply),
    "Neg": lambda steps, attributes, x: _computed(steps, do.MULTIPLY, np.multiply, x, _float32(-1.0)),
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
    "Where": _where,
}


def trace(graph: Message, features: int) -> tuple[Trace, int, int]:
    """Return the steps of a graph, its number of inputs, which have the first slots, and the slot of its
    score; UnknownError if an operator or an end has none."""
    values: dict[str, Any] = dict(graph["weights"])
    inputs = [value for value in graph["inputs"] if value["name"] not in values]
    if graph["opset"] not in _OPSETS or len(inputs) != 1 or len(graph["outputs"]) != 1:
        raise UnknownError("several inputs or outputs, or another version of ONNX")
    (x,), (y,), steps = inputs, graph["outputs"], Trace()
    tensor = x["type"]["tensor"]
    sizes = [dim["size"] for dim in tensor["shape"]["dims"]]  # 0 if it is variable
    if tensor["type"] != FLOAT or sizes not in ([0, 0], [0, features]):
        raise UnknownError(f"an input that is not float[n, {features}]")
    values[x["name"]] = Value(steps.new(features))
    for node in graph["nodes"]:
        kind, (output, *others) = node["kind"], node["outputs"]
        rule = RULES.get(kind) if node["domain"] in ("", "ai.onnx") else None
        if rule is None or any(others):
            raise UnknownError(f"the operator {kind[:50]!r}")
        operands = [values[name] if name else None for name in node["inputs"]]
        try:
            values[output] = rule(steps, node["attributes"], *operands)
        except (ValueError, LookupError, TypeError, OverflowError, AttributeError) as error:
            raise UnknownError(f"{kind} that does not fit its inputs") from error
        if isinstance(values[output], Value) and len(values[output].slots) > MAX_WORK:
            raise UnknownError(f"{kind} of too many numbers")
    score = values[y["name"]]
    if not isinstance(score, Value) or len(score.slots) != 1 or score.kind != y["type"]["tensor"]["type"]:
        raise UnknownError("an output that is not one number an event")
    return steps, features, int(score.slots[0])
