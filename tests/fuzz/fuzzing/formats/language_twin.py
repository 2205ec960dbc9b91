"""The observable language in plain Python, event by event."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

import numpy as np

Event = dict[str, Any]


class UnknownError(Exception):
    """The twin does not know this part of the language."""


_ARITHMETIC = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
_COMPARISONS = {
    **{ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne},
}


class Vector:
    """px, py, and pz and E where it has them; pt and φ as they were, for one object."""

    def __init__(self, p: tuple[float, ...], of: dict[str, float] | None = None) -> None:
        self.p, self.of = p, of


def evaluate(text: str, event: Event) -> Any:
    """Return the number (NaN: missing) or the truth of a text."""
    text = text.strip()
    body = ast.parse(f"({text}\n)" if "\n" in text else text, mode="eval").body
    with np.errstate(all="ignore"):
        made = _read(body, event)
    if isinstance(made, Vector):
        raise UnknownError
    return made


def _read(node: ast.expr, event: Event) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return np.float64(value)
        case ast.Name(id=name):
            return _name(name, event)
        case ast.Attribute(
            value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)), attr=column
        ):
            objects = event[name]
            return np.float64(objects[index][column]) if index < len(objects) else math.nan
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)):
            objects = event[name]
            return _vector(objects[index]) if index < len(objects) else Vector((math.nan,) * 4)
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _call(function, [_read(a, event) for a in arguments])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_read(operand, event))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _read(operand, event)
        case ast.BoolOp(op=op, values=values):
            every = [_read(v, event) for v in values]
            return all(every) if isinstance(op, ast.And) else any(every)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _read(left, event), _read(right, event))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            sides = [_number(_read(side, event)) for side in (left, *rights)]
            if any(map(math.isnan, sides)):
                pairs = zip(ops, sides[:-1], sides[1:], strict=True)
                return all(
                    not (math.isnan(a) or math.isnan(b)) and _COMPARISONS[type(o)](a, b) for o, a, b in pairs
                )
            return all(
                _COMPARISONS[type(o)](a, b) for o, a, b in zip(ops, sides[:-1], sides[1:], strict=True)
            )
    raise UnknownError


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, Vector) and isinstance(right, Vector) and isinstance(op, ast.Add):
        if "met" in (left.of or {}) and "met" in (right.of or {}):
            return np.add(_number(left), _number(right))
        return Vector(tuple(a + b for a, b in zip(left.p, right.p, strict=False)))
    return _ARITHMETIC[type(op)](_number(left), _number(right))


def _number(made: Any) -> Any:
    """met and mht are numbers too."""
    if isinstance(made, Vector):
        if made.of and "met" in made.of:
            return np.float64(made.of["met"])
        raise UnknownError
    return made


def _name(name: str, event: Event) -> Any:
    if name == "met":
        x, y = (event["met"] * f(event["met_phi"]) for f in (math.cos, math.sin))
        return Vector((x, y), {"met": event["met"], "phi": event["met_phi"]})
    if name == "mht":
        jets = [_vector(o).p for o in event["jet"]]
        x, y = (0.0 - math.fsum(p[i] for p in jets) for i in (0, 1))  # 0, not −0, without jets
        return Vector((x, y), {"met": math.hypot(x, y), "phi": math.atan2(y, x)})
    if name == "ht":
        return np.float64(math.fsum(o["pt"] for o in event["jet"]))
    if name.startswith("n_") and isinstance(event.get(name[2:]), list):
        return np.float64(len(event[name[2:]]))
    if isinstance(event.get(name), float):
        return np.float64(event[name])
    raise UnknownError


def _vector(o: dict[str, float]) -> Vector:
    pt, eta, phi = o["pt"], o["eta"], o["phi"]
    return Vector((pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta), pt * math.cosh(eta)), o)


def _call(function: str, given: list[Any]) -> Any:
    if function == "abs":
        return abs(_number(given[0]))
    if function == "m":
        p = [math.fsum(v.p[i] for v in given) for i in range(4)] if len(given) > 1 else given[0].p
        return np.sqrt(max(0.0, p[3] ** 2 - p[0] ** 2 - p[1] ** 2 - p[2] ** 2)) if p[0] == p[0] else math.nan
    if function in ("pt", "eta", "phi"):
        return _component(function, given[0])
    first, second = given
    if function == "dphi":
        return math.remainder(_component("phi", first) - _component("phi", second), 2 * math.pi)
    deta = _component("eta", first) - _component("eta", second)
    if function == "deta":
        return deta
    return math.hypot(deta, math.remainder(_component("phi", first) - _component("phi", second), 2 * math.pi))


def _component(name: str, v: Vector) -> float:
    x, y = v.p[:2]
    if x != x:
        return math.nan
    if name == "pt":
        return math.hypot(x, y)
    if name == "phi":
        return float(v.of["phi"]) if v.of else math.atan2(y, x)
    return float(v.of["eta"]) if v.of else math.asinh(v.p[2] / math.hypot(x, y))
