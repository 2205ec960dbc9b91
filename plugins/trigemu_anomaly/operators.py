"""The operators of ONNX as steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import evaluator as do
from .onnx_graph import BOOL, DOUBLE, FLOAT
from .steps import Operand, Trace, UnknownError, Value, check_size

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]
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

    def rule(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
        (x,) = _floats(*operands)
        return _computed(steps, op, function, x)

    return rule


def _binary(op: int, function: Callable[..., Any]) -> Rule:
    """Two numbers, or several in turn."""

    def rule(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
        result, *others = _floats(*operands)
        for other in others:
            result = _computed(steps, op, function, result, other)
        return result

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
    if attributes.get("transA") or not isinstance(x, Value) or x.slots.ndim != 1 or isinstance(weight, Value):
        raise UnknownError("Gemm of a matrix for each event")
    matrix = (weight.T if attributes.get("transB") else weight) * np.float64(attributes.get("alpha", 1.0))
    bias = np.zeros(matrix.shape[1])
    if more:
        if isinstance(more[0], Value) or more[0].ndim > 2 or (more[0].ndim == 2 and len(more[0]) != 1):
            raise UnknownError("Gemm that adds numbers of events")
        bias = np.broadcast_to(more[0].reshape(-1), bias.shape) * np.float64(attributes.get("beta", 1.0))
    return steps.layer(x, matrix.astype(np.float32), bias.astype(np.float32))


def _product(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, weight = _floats(*operands)
    if not isinstance(x, Value) or isinstance(weight, Value) or weight.ndim != 2:
        raise UnknownError("MatMul of two values of an event")
    return steps.layer(x, weight, np.zeros(weight.shape[1], np.float32))


def _axes_of(x: Operand, axes: Sequence[int]) -> list[int]:
    """Return axes of a value without its axis of events, or of an array."""
    events = isinstance(x, Value)
    rank = x.slots.ndim + 1 if isinstance(x, Value) else x.ndim
    found = sorted({int(axis) + (rank if axis < 0 else 0) for axis in axes})
    if any(not events <= axis < rank for axis in found) or len(found) != len(axes):
        raise UnknownError("an operator along the events")
    return [axis - events for axis in found]


def _requested_axes(operands: list[Any], attributes: dict[str, Any]) -> list[int] | None:
    if len(operands) > 1 and operands[1] is not None:
        return [int(axis) for axis in _integers(operands[1])]
    return attributes.get("axes")


def _integers(x: Any) -> list[int]:
    if isinstance(x, Value) or x.dtype not in (np.int32, np.int64):
        raise UnknownError("a shape that depends on the event")
    return [int(number) for number in x.ravel()]


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
        result = steps.summed(x, _axes_of(x, axes), bool(attributes.get("keepdims", 1)))
        if mean:
            return steps.elementwise(do.DIVIDE, result, _single(x.slots.size / result.slots.size))
        return result

    return rule


def _arranged(x: Operand, function: Callable[[Array], Array]) -> Operand:
    return Value(function(x.slots), x.kind) if isinstance(x, Value) else function(x)


def _size(x: Operand) -> int:
    return x.slots.size if isinstance(x, Value) else x.size


def _gather(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, indices = operands
    (axis,) = _axes_of(x, [attributes.get("axis", 0)])
    check_size(_size(x) * len(_integers(indices)))
    return _arranged(x, lambda part: np.take(part, indices, axis=axis))


def _slice(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, *parts = operands
    starts, ends, *more = [None if part is None else _integers(part) for part in (*parts, None, None)][:4]
    if starts is None or ends is None:
        raise UnknownError("Slice without an end")
    axes, strides = more[0] or range(len(starts)), more[1]
    cuts = [slice(None)] * (x.slots.ndim if isinstance(x, Value) else x.ndim)
    for i, axis in enumerate(axes):
        (sliced,) = _axes_of(x, [axis])
        step, stop = 1 if strides is None else strides[i], ends[i]
        size = (x.slots if isinstance(x, Value) else x).shape[sliced]
        cuts[sliced] = slice(starts[i], None if step < 0 and stop < -size else stop, step)
    return _arranged(x, lambda part: part[tuple(cuts)])


def _concatenated(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    check_size(sum(map(_size, operands)))
    if not any(isinstance(x, Value) for x in operands):
        return np.concatenate(operands, attributes["axis"])
    values: list[Value] = _floats(*operands)
    (axis,) = _axes_of(values[0], [attributes["axis"]])
    return Value(np.concatenate([value.slots for value in values], axis))


def _reshaped(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, shape = operands[0], _integers(operands[1])
    if attributes.get("allowzero"):
        raise UnknownError("Reshape to nothing")
    if not isinstance(x, Value):
        return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape)])
    first, *others = shape
    if first not in (0, -1) or (first == -1 and -1 in others):
        raise UnknownError("Reshape across the events")
    others = [x.slots.shape[i] if n == 0 else n for i, n in enumerate(others)]
    return _arranged(x, lambda part: part.reshape(others))


def _flat(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    (x,) = operands
    if not isinstance(x, Value) or attributes.get("axis", 1) != 1:
        raise UnknownError("Flatten across the events")
    return Value(x.slots.ravel(), x.kind)


def _squeezed(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    axes = _requested_axes(operands, attributes)
    if axes is None:
        raise UnknownError("Squeeze of all axes")
    return _arranged(operands[0], lambda part: np.squeeze(part, tuple(_axes_of(operands[0], axes))))


def _unsqueezed(steps: Trace, operands: list[Any], attributes: dict[str, Any]) -> Any:
    x, axes = operands[0], _requested_axes(operands, attributes) or []
    events = isinstance(x, Value)
    rank = (x.slots.ndim + 1 if isinstance(x, Value) else x.ndim) + len(axes)
    places = [axis + (rank if axis < 0 else 0) - events for axis in axes]
    if any(axis < 0 for axis in places):
        raise UnknownError("an operator along the events")
    return _arranged(x, lambda part: np.expand_dims(part, tuple(places)))


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
    if isinstance(condition, Value):
        if condition.kind != BOOL:
            raise UnknownError("Where without a condition")
        return steps.elementwise(do.CHOOSE, condition, a, b)
    if condition.dtype != np.bool_:
        raise UnknownError("Where without a condition")
    if not any(isinstance(x, Value) for x in (a, b)):
        check_size(math.prod(np.broadcast_shapes(condition.shape, a.shape, b.shape)))
        return np.where(condition, a, b)
    # The step serves for its shape: a known condition chooses slots.
    step_of = steps.elementwise(do.CHOOSE, condition.astype(np.float32), a, b)
    _, first, second = steps.steps.pop().operands
    chosen = np.broadcast_to(
        condition.reshape(condition.shape[condition.ndim - step_of.slots.ndim :]), step_of.slots.shape
    )
    return Value(np.where(chosen.ravel(), first, second).reshape(step_of.slots.shape))


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
