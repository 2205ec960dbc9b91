"""Parser of the expressions in YAML menus of the CMS Phase-2 tools: text → alternatives of windows. Nothing
is executed.

    cuts of objects   abs({eta}) < 2.4    ({eleId} == 1) | ({pt} < 25)    ({hwQual}>>1)&1 == 1
    thresholds        offline_pt >= 36.0    leg1.offline_pt >= 112.0
    cross masks       leg1.deltaR(leg2) > 0.5    abs(leg2.z0-leg1.z0) < 1    leg1.charge*leg2.charge < 0.0
                      abs(leg2.eta) < 2.4    abs(leg5.eta-leg4.eta) < 1.6    (leg1+leg2).mass > 7.0
                      abs(leg2.zvtx-leg1['']) < 1    leg2.btagScore + leg3.btagScore > 1.1

The precedence is as in Python with arrays: & | ~ join conditions, and & binds more tightly than <.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from trigemu.base.errors import TrigemuError, excerpt
from trigemu.observables.language import parse_tree, quoting
from trigemu.observables.selections import Window

from .phase2_windows import Z0, Alternatives, OfLeg, OfPair, OfSum, Quantity, both, possible

#: The largest number of a float32, the type of the columns.
MAX_NUMBER = float(np.finfo(np.float32).max)
_OPERATIONS: dict[type[ast.cmpop], str] = {
    **{ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}
}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}
_NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
_LIMITS = {">": "above", ">=": "min", "<": "below", "<=": "max"}
#: Methods of one leg with another: the quantity of the pair, and whether it has a sign and needs abs(…).
_METHODS = {"deltaR": ("dr", False), "deltaeta": ("deta", True), "deltaphi": ("dphi", True)}
_ALLOWED = (
    "a condition is a column, abs(column), legA.deltaR(legB), abs(legA.z0 - legB.z0), "
    "abs(legA.eta - legB.eta), abs(legA.deltaphi(legB)), (legA + legB).mass, legA.charge*legB.charge or "
    "legA.column + legB.column + …, compared with a number, or bits of a column, (column>>k)&m == m; "
    "conditions in parentheses are joined by & | ~"
)
_LEG_IN_NAME = re.compile(r"leg\d")


def parse_cut(text: str) -> Alternatives:
    """Parse a cut on an object, with columns in braces, as one on leg 0; or TrigemuError."""
    with quoting(text):
        plain = re.sub(r"\{(\w+)\}", r" \1 ", text)
        if "{" in plain or "}" in plain:
            raise TrigemuError("columns are written {name}")
        return _Reader({}, 0).condition(parse_tree(plain))


def parse_condition(text: str, legs: Mapping[str, int], own_leg: str = "") -> Alternatives:
    """Parse a condition on legs by name; columns without a name are of `own_leg`."""
    with quoting(text):
        return _Reader(legs, legs.get(own_leg)).condition(parse_tree(text))


class _Reader:
    """Reads an expression on legs by name; columns without a name are of `own_leg`."""

    def __init__(self, legs: Mapping[str, int], own_leg: int | None) -> None:
        self._legs, self._own = legs, own_leg
        self._read: dict[tuple[ast.expr, bool], Alternatives] = {}

    def condition(self, node: ast.expr, negated: bool = False) -> Alternatives:
        """Return the alternatives of a condition, or of its negation; each is read only once."""
        if (node, negated) not in self._read:
            self._read[node, negated] = self._condition(node, negated)
        return self._read[node, negated]

    def _condition(self, node: ast.expr, negated: bool) -> Alternatives:
        match node:
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.condition(operand, not negated)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
                first, second = self.condition(left, negated), self.condition(right, negated)
                return both(first, second) if isinstance(op, ast.BitAnd) != negated else (*first, *second)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATIONS:
                return self._comparison(left, _OPERATIONS[type(op)], right, negated)
            case ast.Compare(ops=[_, _, *_]):
                raise TrigemuError(
                    f"{_text(node)!r} compares more than two: & binds closer than comparisons, put "
                    f"each of them in parentheses"
                )
        raise TrigemuError(f"{_text(node)!r} is outside of the grammar: {_ALLOWED}")

    def _comparison(self, left: ast.expr, operation: str, right: ast.expr, negated: bool) -> Alternatives:
        if _number(left) is not None and _number(right) is None:
            return self._comparison(right, _MIRRORED[operation], left, negated)
        match right:
            # `x < 1 & (condition)` is x < 1 where the condition holds, x < 0 elsewhere.
            case ast.BinOp(left=ast.Constant(value=int() as limit), op=ast.BitAnd(), right=inner):
                where = self.condition(inner)
                elsewhere = self.condition(inner, negated=True)
                where_held = both(where, self._compared(left, operation, limit & 1, negated))
                return (*where_held, *both(elsewhere, self._compared(left, operation, 0, negated)))
        number = _number(right)
        if number is None:
            raise TrigemuError(f"{_text(right)!r} is not a number: {_ALLOWED}")
        return self._compared(left, operation, number, negated)

    def _compared(self, left: ast.expr, operation: str, limit: float, negated: bool) -> Alternatives:
        match left:
            case ast.BinOp(left=of, op=ast.BitAnd(), right=ast.Constant(value=int() as mask)):
                column, shift = _unshifted(of)
                if not 0 <= shift < 63 or mask >> 63 - shift:
                    raise TrigemuError(f"{_text(left)!r}: a column has 63 bits")
                if operation != "==" or negated or limit != mask or mask <= 0:
                    raise TrigemuError(
                        "a cut on bits of a column must be written (column>>k)&m == m, with all of them set"
                    )
                return ({self._column(column): Window(bits=mask << shift)},)
        quantity, absolute = self._quantity(left)
        operation = _NEGATED[operation] if negated else operation
        charge = isinstance(quantity, OfPair) and quantity.quantity == "charge"
        if charge and (limit or operation not in "<>"):
            raise TrigemuError("charges are compared as legA.charge*legB.charge < 0 or > 0")
        whole = isinstance(quantity, OfLeg) and not absolute and limit == int(limit)
        operations = "<>" if operation == "!=" else (operation,)
        windows = [_window(op, limit, absolute, whole) for op in operations]
        lowest = 0.0 if isinstance(quantity, OfPair) and not charge else -math.inf
        return tuple({quantity: w} for w in windows if possible(w) and w.span()[1] >= lowest)

    def _quantity(self, node: ast.expr) -> tuple[Quantity, bool]:
        """Return a quantity, and whether its absolute value, implied for pairs, is compared."""
        match node:
            case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
                if pair := self._signed(inner):
                    return pair, False
                quantity, _ = self._quantity(inner)
                if isinstance(quantity, OfSum) or getattr(quantity, "quantity", "") == "charge":
                    raise TrigemuError(f"{_text(node)!r} is outside of the grammar: {_ALLOWED}")
                return quantity, isinstance(quantity, OfLeg)
            case ast.Call(func=ast.Attribute(value=first, attr="deltaR"), args=[second], keywords=[]):
                return self._pair(first, second, "dr"), False
            case ast.Attribute(value=ast.BinOp(left=first, op=ast.Add(), right=second), attr="mass"):
                return self._pair(first, second, "mass"), False
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._of_columns(left, right, "charge", "charge"), False
            case ast.BinOp(op=ast.Add()):
                return self._sum(node), False
        return self._column(node), False

    def _sum(self, node: ast.expr) -> OfSum:
        terms = [*self._terms(node)]
        legs, columns = sorted(term.leg for term in terms), {term.column for term in terms}
        if len(columns) > 1 or len({*legs}) < len(legs):
            raise TrigemuError(f"{_text(node)!r}: a sum must be of one column of different legs")
        return OfSum(tuple(legs), *columns)

    def _terms(self, node: ast.expr) -> Iterator[OfLeg]:
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from (*self._terms(left), *self._terms(right))
            case _:
                yield self._column(node)

    def _signed(self, node: ast.expr) -> OfPair | None:
        """Return the quantity of a pair whose value has a sign, or None."""
        match node:
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                columns = {self._column(left).column, self._column(right).column}
                if columns == {"eta"}:
                    return self._of_columns(left, right, "deta", "eta")
                if not columns & {"eta", "phi"}:
                    return self._of_columns(left, right, "dz0", Z0)
            case ast.Call(func=ast.Attribute(value=first, attr=name), args=[second], keywords=[]):
                quantity, signed = _METHODS.get(name, ("", False))
                return self._pair(first, second, quantity) if signed else None
        return None

    def _column(self, node: ast.expr) -> OfLeg:
        match node:
            case ast.Name(id=name) if self._own is not None and name not in self._legs:
                if not _LEG_IN_NAME.match(name):
                    return OfLeg(self._own, name)
            case ast.Attribute(value=ast.Name() as leg, attr=name):
                return OfLeg(self._leg(leg), name)
            case ast.Subscript(value=ast.Name() as leg, slice=ast.Constant(value=str() as name)):
                return OfLeg(self._leg(leg), name or Z0)
        raise TrigemuError(f"{_text(node)!r} is outside of the grammar: {_ALLOWED}")

    def _pair(self, first: ast.expr, second: ast.expr, quantity: str) -> OfPair:
        legs = sorted((self._leg(first), self._leg(second)))
        if legs[0] == legs[1]:
            raise TrigemuError(f"{_text(first)} is compared with itself")
        return OfPair((legs[0], legs[1]), quantity)

    def _of_columns(self, left: ast.expr, right: ast.expr, quantity: str, usual: str) -> OfPair:
        """Return a quantity of a column of each of two legs, which has usually the same name."""
        first, second = sorted((self._column(left), self._column(right)), key=lambda column: column.leg)
        if first.leg == second.leg:
            raise TrigemuError(f"{_text(left)} and {_text(right)} are of the same object: {_ALLOWED}")
        columns = first.column, second.column
        return OfPair((first.leg, second.leg), quantity, () if set(columns) == {usual} else columns)

    def _leg(self, node: ast.expr) -> int:
        if isinstance(node, ast.Name) and node.id in self._legs:
            return self._legs[node.id]
        legs = f" (there are: {', '.join(self._legs)})" if self._legs else ""
        raise TrigemuError(f"{_text(node)!r} is not a leg{legs}")


def _text(node: ast.expr) -> str:
    return excerpt(ast.unparse(node))


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            pass
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            value = -value
        case _:
            return None
    if not abs(value) <= MAX_NUMBER:
        raise TrigemuError(f"{_text(node)!r} is too large: the largest number is {MAX_NUMBER:g}")
    return value


def _unshifted(node: ast.expr) -> tuple[ast.expr, int]:
    """Return a column, and the number of bits by which it is shifted to the right."""
    match node:
        case ast.BinOp(left=column, op=ast.RShift(), right=ast.Constant(value=int() as shift)):
            return column, shift
    return node, 0


def _window(operation: str, limit: float, absolute: bool, whole: bool) -> Window:
    if operation == "==" and whole:
        return Window(any_of=(int(limit),))
    names = ("min", "max") if operation == "==" else (_LIMITS[operation],)
    return msgspec.convert({("abs_" if absolute else "") + name: float(limit) for name in names}, Window)
