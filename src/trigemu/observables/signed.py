"""Units of observables, and cuts on one sign of Δφ or Δη: both have a sign in the observable language, but
users often mean their size."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from trigemu.observables.expressions import Arithmetic, Constant, Element, Number, Scalar, ScalarSum
from trigemu.observables.language import parse_tree
from trigemu.observables.vectors import OfVectors

#: Columns, and functions of vectors, in GeV.
_GEV = ("pt", "mass", "m", "met")


def unit_of(number: Number) -> str:
    """Return the unit of a number; empty if it has none or an unknown one."""
    match number:
        case ScalarSum():
            return "GeV"
        case Element(column=name) | Scalar(name=name) | OfVectors(function=name):
            return "GeV" if name in _GEV else ""
        case Arithmetic(operation="+" | "-" | "negative" | "abs" | "max" | "min", operands=operands):
            units = {unit_of(part) for part in operands if not isinstance(part, Constant)}
            return units.pop() if len(units) == 1 else ""
        case Arithmetic(operation="*", operands=(Constant(), other) | (other, Constant())):
            return unit_of(other)
        case Arithmetic(operation="/", operands=(other, Constant())):
            return unit_of(other)
    return ""


#: The functions whose value has a sign.
SIGNED = ("dphi", "deta")
#: A condition, with None; or a number, with the threshold that it has to exceed.
Requirement = tuple[str, float | None]
#: Whether it is a lower limit, its sign, its size as text.
_Limit = tuple[bool, int, str]


def one_sided(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Return the texts of the differences dphi(…) and deta(…) that are limited on one side of 0 only.

    A difference counts if it is compared by itself or with a minus sign, not within a larger expression.
    Limits that are symmetric around 0 restrict its size, and a comparison with 0 its sign: neither counts.
    """
    limits: defaultdict[str, set[_Limit]] = defaultdict(set)
    for text, above in requirements:
        if any(function in text for function in SIGNED):
            tree = parse_tree(text)
            for number, is_lower, limit in _compared(tree) if above is None else _exceeds(tree, above):
                sign, difference = _sign_and_rest(number)
                limit_sign, size = _sign_and_size(limit)
                if _is_signed(difference) and size != "0.0":
                    sides = limits[ast.unparse(difference)]
                    sides.add((is_lower is (sign > 0), sign * limit_sign, size))
    return tuple(
        name
        for name, sides in limits.items()
        if any((not is_lower, -sign, size) not in sides for is_lower, sign, size in sides)
    )


def _exceeds(number: ast.expr, above: float) -> Iterator[tuple[ast.expr, bool, ast.expr]]:
    """Yield a number, that its limit is a lower one, and the limit."""
    yield (
        number,
        True,
        ast.Constant(abs(above)) if above >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-above)),
    )


def _compared(tree: ast.expr) -> Iterator[tuple[ast.expr, bool, ast.expr]]:
    """Yield each number in a condition, whether a limit on it is a lower one, and the limit."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
                if isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                    is_lower = isinstance(op, ast.Gt | ast.GtE)
                    yield left, is_lower, right
                    yield right, not is_lower, left


def _is_signed(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SIGNED


def _sign_and_rest(node: ast.expr) -> tuple[int, ast.expr]:
    """Return the sign in front of a number, 1 or −1, and the rest."""
    sign = 1
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -sign, node.operand
    return sign, node


def _sign_and_size(node: ast.expr) -> tuple[int, str]:
    """Return the sign of a limit, 1 or −1, as far as it is written, and the rest as text."""
    sign, rest = _sign_and_rest(node)
    match rest:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            (first, left_size), (second, right_size) = _sign_and_size(left), _sign_and_size(right)
            return sign * first * second, f"({left_size} {type(op).__name__} {right_size})"
        case ast.Constant(value=int() | float() as value):
            return sign, repr(float(value))
    return sign, ast.unparse(rest)
