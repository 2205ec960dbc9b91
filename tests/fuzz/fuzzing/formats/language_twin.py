"""The observable language in plain Python, event by event."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzzing.intervals import (
    ANYTHING,
    MISSING,
    ROUNDING,
    Interval,
    Truth,
    angle,
    around,
    combined,
    every,
    is_above,
    is_equal,
    opposite,
    point,
    some,
)

Event = dict[str, Any]


class UnknownError(Exception):
    """The twin does not know this part of the language."""


_ARITHMETIC = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Interval, Interval], Truth]] = {
    ast.Gt: is_above,
    ast.Lt: lambda a, b: is_above(b, a),
    ast.GtE: lambda a, b: some([is_above(a, b), is_equal(a, b)]),
    ast.LtE: lambda a, b: some([is_above(b, a), is_equal(a, b)]),
    ast.Eq: is_equal,
    ast.NotEq: lambda a, b: False if a.missing or b.missing else opposite(is_equal(a, b)),
}


class Vector:
    """px, py, and pz and E where it has them; the sum of what was added; pT and φ of what is one object."""

    def __init__(self, p: tuple[float, ...], size: float, of: dict[str, float] | None = None) -> None:
        self.p, self.size, self.of = p, size, of


NO_OBJECT = Vector((math.nan,) * 4, math.nan)


def evaluate(text: str, event: Event) -> Interval | Truth:
    """Return the number of a text, or its truth: None where rounding decides."""
    text = text.strip()
    body = ast.parse(f"({text}\n)" if "\n" in text else text, mode="eval").body
    with np.errstate(all="ignore"):
        made = _read(body, event)
    return _number(made) if isinstance(made, Vector) else made


def _read(node: ast.expr, event: Event) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return point(value)
        case ast.Name(id=name):
            return _name(name, event)
        case ast.Attribute(
            value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)), attr=column
        ):
            objects = event[name]
            return point(objects[index][column]) if index < len(objects) else MISSING
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)):
            objects = event[name]
            return _vector(objects[index]) if index < len(objects) else NO_OBJECT
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _call(function, [_read(a, event) for a in arguments])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_read(operand, event))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return opposite(_read(operand, event))
        case ast.BoolOp(op=op, values=values):
            return (every if isinstance(op, ast.And) else some)([_read(v, event) for v in values])
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _read(left, event), _read(right, event))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            sides = [_number(_read(side, event)) for side in (left, *rights)]
            pairs = zip(ops, sides[:-1], sides[1:], strict=True)
            return every([_COMPARISONS[type(o)](a, b) for o, a, b in pairs])
    raise UnknownError


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    vectors = isinstance(left, Vector) and isinstance(right, Vector) and isinstance(op, ast.Add)
    if vectors and (len(left.p) == 4 or len(right.p) == 4):  # met + mht is a sum of numbers
        p = tuple(a + b for a, b in zip(left.p, right.p, strict=False))
        return Vector(p, left.size + right.size)
    return combined(_ARITHMETIC[type(op)], _number(left), _number(right))


def _number(made: Any) -> Interval:
    """met and mht are numbers too."""
    if isinstance(made, Vector):
        if made.of and "met" in made.of:
            return point(made.of["met"])
        if len(made.p) == 2:
            return _component("pt", made)
        raise UnknownError
    if not isinstance(made, Interval):
        raise UnknownError
    return made


def _name(name: str, event: Event) -> Any:
    if name == "met":
        x, y = (event["met"] * f(event["met_phi"]) for f in (math.cos, math.sin))
        return Vector((x, y), event["met"], {"met": event["met"]})
    if name == "mht":
        jets = [_vector(o).p for o in event["jet"]]
        x, y = (0.0 - math.fsum(p[i] for p in jets) for i in (0, 1))  # 0, not −0, without jets
        return Vector((x, y), math.fsum(o["pt"] for o in event["jet"]))
    if name == "ht":
        ht = math.fsum(o["pt"] for o in event["jet"])
        return around(ht, ROUNDING * ht)
    if name.startswith("n_") and isinstance(event.get(name[2:]), list):
        return point(len(event[name[2:]]))
    if isinstance(event.get(name), float):
        return point(event[name])
    raise UnknownError


def _vector(o: dict[str, float]) -> Vector:
    pt, eta, phi = o["pt"], o["eta"], o["phi"]
    p = (pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta), pt * math.cosh(eta))
    return Vector(p, p[3], o)


def _call(function: str, given: list[Any]) -> Interval:
    if function == "abs":
        return abs(_number(given[0]))
    if function in ("max", "min"):
        return _extreme(max if function == "max" else min, [_number(value) for value in given])
    if function == "m":
        return _mass([v.p for v in given])
    if function in ("pt", "eta", "phi"):
        return _component(function, given[0])
    first, second = given
    if function == "deta":
        return _difference("eta", first, second)
    dphi = angle(_difference("phi", first, second))
    if function == "dphi":
        return dphi
    deta, dphi = abs(_difference("eta", first, second)), abs(dphi)
    if deta.missing:
        return MISSING
    low, high = (math.hypot(getattr(deta, end), getattr(dphi, end)) for end in ("low", "high"))
    return Interval(low * (1 - ROUNDING), high * (1 + ROUNDING))


def _extreme(of: Callable[[list[float]], float], given: list[Interval]) -> Interval:
    there = [value for value in given if not value.missing]
    if not there:
        return MISSING
    if any(value.is_open for value in there):
        return ANYTHING
    return Interval(of([value.low for value in there]), of([value.high for value in there]))


def _difference(name: str, first: Vector, second: Vector) -> Interval:
    return combined(np.subtract, _component(name, first), _component(name, second))


def _mass(momenta: list[tuple[float, ...]]) -> Interval:
    x, y, z, e = (math.fsum(p[i] for p in momenta) for i in range(4))
    if x != x:
        return MISSING
    square, error = e**2 - x**2 - y**2 - z**2, ROUNDING * e**2
    return Interval(math.sqrt(max(0.0, square - error)), math.sqrt(max(0.0, square + error)))


def _component(name: str, v: Vector) -> Interval:
    x, y = v.p[:2]
    if x != x:
        return MISSING
    if v.of and "met" not in v.of:
        return point(v.of[name])
    pt, error = math.hypot(x, y), ROUNDING * v.size
    if name == "pt":
        return Interval(max(0.0, pt - error), pt + error)
    if pt == error == 0:
        return point(0.0)
    if pt < 1e3 * error:
        return Interval(-math.pi, math.pi) if name == "phi" else Interval(-math.inf, math.inf)
    if name == "phi":
        return angle(around(math.atan2(y, x), error / pt))
    return around(math.asinh(v.p[2] / pt), 10 * error / pt)
