"""Operators of networks: values in float64, the most by which each operation rounds, and derivatives by what
it is made of; for `network_error.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

#: Roundings of float and double, by the number of the type in onnx.proto; other types have none.
_ROUNDING = {1: 2.0**-24, 11: 2.0**-53}
#: Errors of exp, log, tanh and their like, in roundings: of ONNX Runtime's approximations, and of libraries.
_FUNCTION = 8.0

Attributes = Mapping[str, Any]
Pull = Callable[[Any], Any]


@dataclass(eq=False)
class Value:
    """A tensor. v: its elements in float64. own: the most by which computing each one rounds. u: the rounding
    of its type. pulls: what it is made of, each with the function from the derivatives of the score by this
    tensor to those by that one. slope: these derivatives."""

    v: Any
    own: Any = 0.0
    u: float = 0.0
    pulls: tuple[tuple[Value, Pull], ...] = ()
    slope: Any = 0.0


Given = Sequence[Value]
Rule = Callable[[Given, Attributes], Value]


def exact(array: Any) -> Value:
    u = {np.dtype(np.float32): _ROUNDING[1], np.dtype(np.float64): _ROUNDING[11]}.get(array.dtype, 0.0)
    return Value(array.astype(np.float64) if u else array, u=u)


def _elementwise(v: Any, roundings: Any, *of: tuple[Value, Any]) -> Value:
    """A function of elements at the same places, with its derivatives by them. roundings: float, or of each
    element."""

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

    def rule(given: Given, _: Attributes) -> Value:
        (x,) = given
        v = function(x.v)
        return _elementwise(v, roundings, (x, derivative(x.v, v)))

    return rule


def _bent(usual: float, below: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Rule:
    """x above 0, alpha times a function below."""

    def rule(given: Given, attributes: Attributes) -> Value:
        (x,), alpha = given, attributes.get("alpha", usual)
        under = np.minimum(x.v, 0.0)
        v = np.where(x.v > 0, x.v, alpha * below(under))
        return _elementwise(v, _FUNCTION, (x, np.where(x.v > 0, 1.0, alpha * slope(under))))

    return rule


def _add(given: Given, _: Attributes, sign: float = 1.0) -> Value:
    a, b = given
    return _elementwise(a.v + sign * b.v, 1.0, (a, 1.0), (b, sign))


def _multiply(given: Given, _: Attributes) -> Value:
    a, b = given
    return _elementwise(a.v * b.v, 1.0, (a, b.v), (b, a.v))


def _divide(given: Given, _: Attributes) -> Value:
    a, b = given
    v = a.v / b.v
    return _elementwise(v, 2.0, (a, 1 / b.v), (b, -v / b.v))  # it may be computed as a product with 1 / b


def _power(given: Given, _: Attributes) -> Value:
    a, b = given
    v = np.power(a.v, b.v)
    slope = np.where(b.v == 0, 0.0, b.v * np.power(a.v, b.v - 1))
    large = 1 + np.abs(b.v * np.log(np.abs(np.where(a.v == 0, 1.0, a.v))))
    return _elementwise(v, _FUNCTION * large, (a, slope))


def _matmul(given: Given, _: Attributes) -> Value:
    a, b = given
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


def _gemm(given: Given, attributes: Attributes) -> Value:
    a, b, *c = given
    a = _arranged(a, np.transpose) if attributes.get("transA") else a
    b = _arranged(b, np.transpose) if attributes.get("transB") else b
    made = _scaled(_matmul((a, b), {}), attributes.get("alpha", 1.0))
    return _add((made, _scaled(c[0], attributes.get("beta", 1.0))), {}) if c else made


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
    def rule(given: Given, _: Attributes) -> Value:
        made, *others = given
        for x in others:
            v = function(made.v, x.v)
            made = _elementwise(v, 0.0, (made, made.v == v), (x, (x.v == v) & (made.v != v)))
        return made

    return rule


def _two(given: Given) -> list[Any]:
    """Return the elements of two inputs, None for one that is not given."""
    return [*(value.v for value in given), None, None][:2]


def _clip(given: Given, attributes: Attributes) -> Value:
    x, *bounds = given
    low, high = _two(bounds)
    low = attributes.get("min", -math.inf) if low is None else low
    high = attributes.get("max", math.inf) if high is None else high
    v = np.clip(x.v, low, high)
    return _elementwise(v, 0.0, (x, v == x.v))


def _softmax(given: Given, attributes: Attributes) -> Value:
    (x,), axis = given, attributes.get("axis", -1)
    v = np.exp(x.v - x.v.max(axis=axis, keepdims=True))
    v /= v.sum(axis=axis, keepdims=True)
    # exp multiplies the rounding of x − max; each number is a quotient with a sum of n.
    own = v * x.u * (4 * np.abs(x.v).max(axis=axis, keepdims=True) + 2 * _FUNCTION + x.v.shape[axis])
    return Value(v, own, x.u, ((x, lambda slope: v * (slope - (slope * v).sum(axis, keepdims=True))),))


def _normalised(given: Given, attributes: Attributes) -> Value:
    x, scale, shift, mean, variance = given
    shape = (-1, *[1] * (x.v.ndim - 2))
    factor = (scale.v / np.sqrt(variance.v + attributes.get("epsilon", 1e-5))).reshape(shape)
    shifted, centre = shift.v.reshape(shape), mean.v.reshape(shape)
    # Perhaps x · factor + (shift − centre · factor).
    own = 6 * x.u * (np.abs(factor) * (np.abs(x.v) + np.abs(centre)) + np.abs(shifted))
    made = _elementwise((x.v - centre) * factor + shifted, 0.0, (x, factor))
    return Value(made.v, own, x.u, made.pulls)


def _axes(given: Given, attributes: Attributes) -> tuple[int, ...] | None:
    """Return the axes that an operator is told by its second input, or in older versions by an attribute."""
    axes = given[1].v if len(given) > 1 else attributes.get("axes")
    return None if axes is None else tuple(int(axis) for axis in np.ravel(axes))


def _reduced(
    function: Callable[..., Any], slope_of: Callable[[Any, Any, float], Any], roundings: Callable[..., Any]
) -> Rule:
    """A number for the elements along some axes. slope_of: its derivative by each, of x, the number and how
    many there are. roundings: what it rounds by, of |x|, with the function."""

    def rule(given: Given, attributes: Attributes) -> Value:
        x, axis = given[0], _axes(given, attributes) or None
        if axis is None and attributes.get("noop_with_empty_axes"):
            return x
        kept = function(x.v, axis=axis, keepdims=True)
        n = np.size(x.v) / max(1, np.size(kept))
        derivative = slope_of(x.v, kept, n)
        v = kept if attributes.get("keepdims", 1) else np.squeeze(kept, axis)
        own = x.u * np.reshape(roundings(np.abs(x.v), n, axis), np.shape(v))

        def pull(slope: Any) -> Any:
            return np.broadcast_to(np.reshape(slope, np.shape(kept)) * derivative, np.shape(x.v))

        return Value(v, own, x.u, ((x, pull),))

    return rule


def _sign(x: Any) -> Any:
    return np.where(x < 0, -1.0, 1.0)


def _of_sum(x: Any, n: float, axis: Any) -> Any:
    return (n + 2) * np.sum(x, axis=axis, keepdims=True)


def _of_norm(x: Any, n: float, axis: Any) -> Any:
    return (n + 3) * np.sqrt(np.sum(x * x, axis=axis, keepdims=True))


def _cast(given: Given, attributes: Attributes) -> Value:
    (x,) = given
    u = _ROUNDING.get(attributes["to"], 0.0)
    if not u:
        return Value(np.trunc(x.v).astype(np.int64))
    made = _elementwise(np.asarray(x.v, np.float64), 0.0, (x, 1.0))
    return Value(made.v, u * np.abs(made.v) if 0 < x.u < u else 0.0, u, made.pulls)


def _where(given: Given, _: Attributes) -> Value:
    condition, a, b = given
    chosen = np.asarray(condition.v, bool)
    return _elementwise(np.where(chosen, a.v, b.v), 0.0, (a, chosen), (b, ~chosen))


def _slice(given: Given, _: Attributes) -> Value:
    x, start, stop, *more = given
    axes, steps = _two(more)
    axes = range(len(start.v)) if axes is None else axes
    steps = [1] * len(start.v) if steps is None else steps
    parts = [slice(None)] * x.v.ndim
    for axis, first, last, step in zip(axes, start.v, stop.v, steps, strict=True):
        to_the_first = step < 0 and last < -x.v.shape[axis]
        parts[int(axis)] = slice(int(first), None if to_the_first else int(last), int(step))
    return _arranged(x, lambda part: part[tuple(parts)])


def _concatenated(given: Given, attributes: Attributes) -> Value:
    axis = attributes["axis"]
    edges = np.cumsum([x.v.shape[axis] for x in given])[:-1]
    pulls = tuple((x, lambda s, i=i: np.split(s, edges, axis)[i]) for i, x in enumerate(given))
    return Value(np.concatenate([x.v for x in given], axis), 0.0, max(x.u for x in given), pulls)


def _reshaped(given: Given, attributes: Attributes) -> Value:
    x, shape = given
    wanted = [int(n) for n in shape.v]
    if not attributes.get("allowzero"):
        wanted = [x.v.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return _arranged(x, lambda part: part.reshape(wanted))


def _flat(given: Given, attributes: Attributes) -> Value:
    first = int(np.prod(given[0].v.shape[: attributes.get("axis", 1)]))
    return _arranged(given[0], lambda part: part.reshape(first, -1))


def _with_axes(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(given: Given, attributes: Attributes) -> Value:
        axes = _axes(given, attributes)
        return _arranged(given[0], lambda part: function(part, axes))

    return rule


def _constant(_: Given, attributes: Attributes) -> Value:
    from onnx import numpy_helper

    ((name, value),) = attributes.items()
    if name == "value":
        return exact(numpy_helper.to_array(value))
    return exact(np.array(value, np.float32 if "float" in name else np.int64))


def _taken(given: Given, attributes: Attributes) -> Value:
    x, at = given
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
    "Equal": lambda given, a: Value(given[0].v == given[1].v),
    "Exp": _unary(np.exp, lambda x, v: v, _FUNCTION),
    "Flatten": _flat,
    "Gather": _taken,
    "Gemm": _gemm,
    "Identity": lambda given, a: given[0],
    "LeakyRelu": _bent(0.01, lambda x: x, np.ones_like),
    "Log": _unary(np.log, lambda x, v: 1 / x, _FUNCTION),
    "MatMul": _matmul,
    "Max": _extreme(np.maximum),
    "Min": _extreme(np.minimum),
    "Mul": _multiply,
    "Neg": _unary(np.negative, lambda x, v: -1.0, 0.0),
    "Not": lambda given, a: Value(~given[0].v),
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
    "Sub": lambda given, a: _add(given, a, -1.0),
    "Tanh": _unary(np.tanh, lambda x, v: 1 - v * v, _FUNCTION),
    "Unsqueeze": _with_axes(np.expand_dims),
    "Where": _where,
}
