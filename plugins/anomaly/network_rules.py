"""Operators of networks: values in float64, the largest rounding error of each operation, and derivatives by
its operands; for `network_error.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

#: Roundings of float and double, by the number of the type in onnx.proto; other types have none.
_ROUNDING = {1: 2.0**-24, 11: 2.0**-53}
#: Errors of exp, log, tanh and similar functions, in roundings: of ONNX Runtime's approximations and of
#: libraries.
_FUNCTION = 8.0

Attributes = Mapping[str, Any]
Pull = Callable[[Any], Any]


@dataclass(eq=False)
class Value:
    """A tensor. v: its elements in float64. own: the largest rounding error of computing each element. u: the
    rounding of its type. pulls: its operands, each with the function from the derivatives of the score by
    this tensor to those by the operand. slope: the derivatives of the score by this tensor."""

    v: Any
    own: Any = 0.0
    u: float = 0.0
    pulls: tuple[tuple[Value, Pull], ...] = ()
    slope: Any = 0.0


Operands = Sequence[Value]
Rule = Callable[[Operands, Attributes], Value]


def exact(array: Any) -> Value:
    u = {np.dtype(np.float32): _ROUNDING[1], np.dtype(np.float64): _ROUNDING[11]}.get(array.dtype, 0.0)
    return Value(array.astype(np.float64) if u else array, u=u)


def _elementwise(v: Any, roundings: Any, *of: tuple[Value, Any]) -> Value:
    """A function of elements at the same positions, with its derivatives by them. roundings: float, or one
    per element."""

    def pull(x: Value, derivative: Any, slope: Any) -> Any:
        moved = slope * derivative
        moved = np.broadcast_to(moved, np.broadcast_shapes(np.shape(moved), np.shape(x.v)))
        moved = np.sum(moved, axis=tuple(range(np.ndim(moved) - np.ndim(x.v))))
        alone = tuple(i for i, n in enumerate(np.shape(x.v)) if n == 1 < np.shape(moved)[i])
        return np.sum(moved, axis=alone, keepdims=True)

    u = max(x.u for x, _ in of)
    return Value(v, roundings * u * np.abs(v), u, tuple((x, partial(pull, x, d)) for x, d in of))


def _unary(function: Callable[[Any], Any], derivative: Callable[[Any, Any], Any], roundings: float) -> Rule:
    """derivative: of x and the value."""

    def rule(operands: Operands, _: Attributes) -> Value:
        (x,) = operands
        v = function(x.v)
        return _elementwise(v, roundings, (x, derivative(x.v, v)))

    return rule


def _bent(usual: float, below: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Rule:
    """x above 0, alpha times a function below."""

    def rule(operands: Operands, attributes: Attributes) -> Value:
        (x,), alpha = operands, attributes.get("alpha", usual)
        under = np.minimum(x.v, 0.0)
        v = np.where(x.v > 0, x.v, alpha * below(under))
        return _elementwise(v, _FUNCTION, (x, np.where(x.v > 0, 1.0, alpha * slope(under))))

    return rule


def _add(operands: Operands, _: Attributes, sign: float = 1.0) -> Value:
    a, b = operands
    return _elementwise(a.v + sign * b.v, 1.0, (a, 1.0), (b, sign))


def _multiply(operands: Operands, _: Attributes) -> Value:
    a, b = operands
    return _elementwise(a.v * b.v, 1.0, (a, b.v), (b, a.v))


def _divide(operands: Operands, _: Attributes) -> Value:
    a, b = operands
    v = a.v / b.v
    return _elementwise(v, 2.0, (a, 1 / b.v), (b, -v / b.v))  # it may be computed as a product with 1 / b


def _power(operands: Operands, _: Attributes) -> Value:
    a, b = operands
    v = np.power(a.v, b.v)
    slope = np.where(b.v == 0, 0.0, b.v * np.power(a.v, b.v - 1))
    large = 1 + np.abs(b.v * np.log(np.abs(np.where(a.v == 0, 1.0, a.v))))
    return _elementwise(v, _FUNCTION * large, (a, slope))


def _matmul(operands: Operands, _: Attributes) -> Value:
    a, b = operands
    if np.ndim(b.v) == 1:
        column = _arranged(b, lambda part: part[:, np.newaxis])
        return _arranged(_matmul((a, column), {}), lambda part: part[..., 0])
    u = max(a.u, b.u)
    own = (np.shape(a.v)[-1] + 2) * u * (np.abs(a.v) @ np.abs(b.v))
    pulls = (
        (a, lambda slope: slope @ np.swapaxes(b.v, -1, -2)),
        (b, lambda slope: np.swapaxes(a.v, -1, -2) @ slope),
    )
    return Value(a.v @ b.v, own, u, pulls)


def _gemm(operands: Operands, attributes: Attributes) -> Value:
    a, b, *c = operands
    a = _arranged(a, np.transpose) if attributes.get("transA") else a
    b = _arranged(b, np.transpose) if attributes.get("transB") else b
    product = _scaled(_matmul((a, b), {}), attributes.get("alpha", 1.0))
    return _add((product, _scaled(c[0], attributes.get("beta", 1.0))), {}) if c else product


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1.0 else _elementwise(x.v * factor, 1.0, (x, factor))


def _arranged(x: Value, function: Callable[[Any], Any]) -> Value:
    """The same elements, or some of them, in another arrangement."""
    at = function(np.arange(np.size(x.v)).reshape(np.shape(x.v)))

    def pull(slope: Any) -> Any:
        moved = np.zeros(np.size(x.v))
        np.add.at(moved, np.ravel(at), np.ravel(np.broadcast_to(slope, np.shape(at))))
        return moved.reshape(np.shape(x.v))

    return Value(np.ravel(x.v)[at], 0.0, x.u, ((x, pull),))


def _extreme(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(operands: Operands, _: Attributes) -> Value:
        extreme, *others = operands
        for x in others:
            v = function(extreme.v, x.v)
            extreme = _elementwise(v, 0.0, (extreme, extreme.v == v), (x, (x.v == v) & (extreme.v != v)))
        return extreme

    return rule


def _two(operands: Operands) -> list[Any]:
    """Return the elements of two inputs, None for a missing one."""
    return [*(value.v for value in operands), None, None][:2]


def _clip(operands: Operands, attributes: Attributes) -> Value:
    x, *bounds = operands
    low, high = _two(bounds)
    low = attributes.get("min", -math.inf) if low is None else low
    high = attributes.get("max", math.inf) if high is None else high
    v = np.clip(x.v, low, high)
    return _elementwise(v, 0.0, (x, v == x.v))


def _softmax(operands: Operands, attributes: Attributes) -> Value:
    (x,), axis = operands, attributes.get("axis", -1)
    v = np.exp(x.v - x.v.max(axis=axis, keepdims=True))
    v /= v.sum(axis=axis, keepdims=True)
    # exp multiplies the rounding of x − max; each number is a quotient with a sum of n.
    own = v * x.u * (4 * np.abs(x.v).max(axis=axis, keepdims=True) + 2 * _FUNCTION + x.v.shape[axis])
    return Value(v, own, x.u, ((x, lambda slope: v * (slope - (slope * v).sum(axis, keepdims=True))),))


def _normalised(operands: Operands, attributes: Attributes) -> Value:
    x, scale, shift, mean, variance = operands
    shape = (-1, *[1] * (x.v.ndim - 2))
    factor = (scale.v / np.sqrt(variance.v + attributes.get("epsilon", 1e-5))).reshape(shape)
    shifted, centre = shift.v.reshape(shape), mean.v.reshape(shape)
    # It may be computed as x · factor + (shift − centre · factor).
    own = 6 * x.u * (np.abs(factor) * (np.abs(x.v) + np.abs(centre)) + np.abs(shifted))
    scaled = _elementwise((x.v - centre) * factor + shifted, 0.0, (x, factor))
    return Value(scaled.v, own, x.u, scaled.pulls)


def _axes(operands: Operands, attributes: Attributes) -> tuple[int, ...] | None:
    """Return the axes of an operator: its second input, or in older versions an attribute."""
    axes = operands[1].v if len(operands) > 1 else attributes.get("axes")
    return None if axes is None else tuple(int(axis) for axis in np.ravel(axes))


def _reduced(
    function: Callable[..., Any], slope_of: Callable[[Any, Any, float], Any], roundings: Callable[..., Any]
) -> Rule:
    """A reduction of the elements along some axes to one number. slope_of: its derivative by each element, a
    function of x, the number and the count of elements. roundings: its rounding error, a function of |x|."""

    def rule(operands: Operands, attributes: Attributes) -> Value:
        x, axis = operands[0], _axes(operands, attributes) or None
        if axis is None and attributes.get("noop_with_empty_axes"):
            return x
        reduced = function(x.v, axis=axis, keepdims=True)
        n = np.size(x.v) / max(1, np.size(reduced))
        derivative = slope_of(x.v, reduced, n)
        v = reduced if attributes.get("keepdims", 1) else np.squeeze(reduced, axis)
        own = x.u * np.reshape(roundings(np.abs(x.v), n, axis), np.shape(v))

        def pull(slope: Any) -> Any:
            return np.broadcast_to(np.reshape(slope, np.shape(reduced)) * derivative, np.shape(x.v))

        return Value(v, own, x.u, ((x, pull),))

    return rule


def _sign(x: Any) -> Any:
    return np.where(x < 0, -1.0, 1.0)


def _of_sum(x: Any, n: float, axis: Any) -> Any:
    return (n + 2) * np.sum(x, axis=axis, keepdims=True)


def _of_norm(x: Any, n: float, axis: Any) -> Any:
    return (n + 3) * np.sqrt(np.sum(x * x, axis=axis, keepdims=True))


def _cast(operands: Operands, attributes: Attributes) -> Value:
    (x,) = operands
    u = _ROUNDING.get(attributes["to"], 0.0)
    if not u:
        return Value(np.trunc(x.v).astype(np.int64))
    converted = _elementwise(np.asarray(x.v, np.float64), 0.0, (x, 1.0))
    return Value(converted.v, u * np.abs(converted.v) if 0 < x.u < u else 0.0, u, converted.pulls)


def _where(operands: Operands, _: Attributes) -> Value:
    condition, a, b = operands
    chosen = np.asarray(condition.v, bool)
    return _elementwise(np.where(chosen, a.v, b.v), 0.0, (a, chosen), (b, ~chosen))


def _slice(operands: Operands, _: Attributes) -> Value:
    x, start, stop, *more = operands
    axes, steps = _two(more)
    axes = range(len(start.v)) if axes is None else axes
    steps = [1] * len(start.v) if steps is None else steps
    parts = [slice(None)] * x.v.ndim
    for axis, first, last, step in zip(axes, start.v, stop.v, steps, strict=True):
        to_the_first = step < 0 and last < -x.v.shape[axis]
        parts[int(axis)] = slice(int(first), None if to_the_first else int(last), int(step))
    return _arranged(x, lambda part: part[tuple(parts)])


def _concatenated(operands: Operands, attributes: Attributes) -> Value:
    axis = attributes["axis"]
    edges = np.cumsum([x.v.shape[axis] for x in operands])[:-1]
    pulls = tuple((x, lambda s, i=i: np.split(s, edges, axis)[i]) for i, x in enumerate(operands))
    return Value(np.concatenate([x.v for x in operands], axis), 0.0, max(x.u for x in operands), pulls)


def _reshaped(operands: Operands, attributes: Attributes) -> Value:
    x, shape = operands
    sizes = [int(n) for n in shape.v]
    if not attributes.get("allowzero"):
        sizes = [x.v.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return _arranged(x, lambda part: part.reshape(sizes))


def _flat(operands: Operands, attributes: Attributes) -> Value:
    first = int(np.prod(operands[0].v.shape[: attributes.get("axis", 1)]))
    return _arranged(operands[0], lambda part: part.reshape(first, -1))


def _with_axes(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(operands: Operands, attributes: Attributes) -> Value:
        axes = _axes(operands, attributes)
        return _arranged(operands[0], lambda part: function(part, axes))

    return rule


def _constant(_: Operands, attributes: Attributes) -> Value:
    from onnx import numpy_helper

    ((name, value),) = attributes.items()
    if name == "value":
        return exact(numpy_helper.to_array(value))
    return exact(np.array(value, np.float32 if "float" in name else np.int64))


def _taken(operands: Operands, attributes: Attributes) -> Value:
    x, at = operands
    return _arranged(x, lambda part: np.take(part, at.v, axis=attributes.get("axis", 0)))


RULES: dict[str, Rule] = {
    "Abs": _unary(np.abs, lambda x, v: _sign(x), 0.0),
    "Add": _add,
    "BatchNormalization": _normalised,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concatenated,
    "Constant": _constant,
    "Div": _divide,
    "Elu": _bent(1.0, np.expm1, np.exp),
    "Equal": lambda operands, a: Value(operands[0].v == operands[1].v),
    "Exp": _unary(np.exp, lambda x, v: v, _FUNCTION),
    "Flatten": _flat,
    "Gather": _taken,
    "Gemm": _gemm,
    "Identity": lambda operands, a: operands[0],
    "LeakyRelu": _bent(0.01, lambda x: x, np.ones_like),
    "Log": _unary(np.log, lambda x, v: 1 / x, _FUNCTION),
    "MatMul": _matmul,
    "Max": _extreme(np.maximum),
    "Min": _extreme(np.minimum),
    "Mul": _multiply,
    "Neg": _unary(np.negative, lambda x, v: -1.0, 0.0),
    "Not": lambda operands, a: Value(~operands[0].v),
    "Pow": _power,
    "ReduceL1": _reduced(lambda x, **k: np.sum(np.abs(x), **k), lambda x, v, n: _sign(x), _of_sum),
    "ReduceL2": _reduced(
        lambda x, **k: np.sqrt(np.sum(x * x, **k)),
        lambda x, v, n: np.where(v == 0, 1.0, x / np.where(v == 0, 1.0, v)),
        _of_norm,
    ),
    "ReduceMax": _reduced(np.max, lambda x, v, n: x == v, lambda x, n, axis: 0.0 * _of_sum(x, n, axis)),
    "ReduceMean": _reduced(np.mean, lambda x, v, n: 1 / n, lambda x, n, axis: _of_sum(x, n, axis) / n),
    "ReduceMin": _reduced(np.min, lambda x, v, n: x == v, lambda x, n, axis: 0.0 * _of_sum(x, n, axis)),
    "ReduceProd": _reduced(
        np.prod, lambda x, v, n: v / x, lambda x, n, axis: n * np.prod(x, axis=axis, keepdims=True)
    ),
    "ReduceSum": _reduced(np.sum, lambda x, v, n: 1.0, _of_sum),
    "ReduceSumSquare": _reduced(
        lambda x, **k: np.sum(x * x, **k), lambda x, v, n: 2 * x, lambda x, n, axis: _of_sum(x * x, n, axis)
    ),
    "Relu": _unary(lambda x: np.maximum(x, 0.0), lambda x, v: x >= 0, 0.0),
    "Reshape": _reshaped,
    "Sigmoid": _unary(lambda x: 1 / (1 + np.exp(-x)), lambda x, v: v * (1 - v), _FUNCTION),
    "Slice": _slice,
    "Softmax": _softmax,
    "Sqrt": _unary(np.sqrt, lambda x, v: 0.5 / v, 1.0),
    "Squeeze": _with_axes(np.squeeze),
    "Sub": lambda operands, a: _add(operands, a, -1.0),
    "Tanh": _unary(np.tanh, lambda x, v: 1 - v * v, _FUNCTION),
    "Unsqueeze": _with_axes(np.expand_dims),
    "Where": _where,
}
