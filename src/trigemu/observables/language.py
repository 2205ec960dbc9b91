"""The observable language: per-event numbers and conditions from text.

    jet[0].pt    n_photon    ht    mht    met    m(photon[0], photon[1])    pt(photon[0] + photon[1])
    dr(jet[0], photon[0])    abs(dphi(jet[0], met)) > 0.4 and not (n_jet >= 2 or ht < 50)
    max(jet[0].pt / 100, photon[0].pt / 30)

Python's parser reads the text, which is never executed; only the constructs above are accepted. `+` of two
objects is the sum of their four-vectors; a name that is not an object is a scalar of the sample.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import cast

from trigemu.base.errors import TrigemuError, excerpt, nearest
from trigemu.observables.expressions import (
    Arithmetic,
    Condition,
    Constant,
    Count,
    Element,
    Junction,
    MissingEt,
    MissingMomentum,
    Number,
    ObjectVector,
    OfVectors,
    Relation,
    Scalar,
    ScalarSum,
    Vector,
    VectorSum,
)
from trigemu.observables.selections import Scope

#: The longest text: about a thousand comparisons, each of which needs a megabyte for the events of a chunk.
MAX_CHARACTERS = 20_000
#: The deepest nesting of an expression; each level needs up to five of Python's 1000 nested calls.
MAX_LEVELS = 100
#: Larger than the number of objects in any event.
MAX_INDEX = 9999
#: Function → the number of its arguments, which are vectors.
_VECTOR_FUNCTIONS = {"pt": 1, "eta": 1, "phi": 1, "m": 1, "dr": 2, "deta": 2, "dphi": 2}
_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}
#: Signs of other languages, and the words of this one.
_WORDS = {"&&": "and", "||": "or", "!(": "not ("}


def parse_observable(text: str, scope: Scope) -> Number:
    """Parse a number per event; raise TrigemuError that quotes a part outside of the language."""
    with quoting(text):
        return _Reader(_in_one(text), scope).number(parse_tree(text))


def parse_condition(text: str, scope: Scope) -> Condition:
    """Parse a condition; raise TrigemuError that quotes a part outside of the language."""
    with quoting(text):
        return _Reader(_in_one(text), scope).condition(parse_tree(text))


@contextmanager
def quoting(text: str) -> Iterator[None]:
    """Prefix the message of a TrigemuError within a block with the text that it refers to."""
    try:
        yield
    except TrigemuError as error:
        raise TrigemuError(f"{excerpt(text)!r}: {error}") from None


def parse_tree(text: str, longest: int = MAX_CHARACTERS) -> ast.expr:
    """Return the syntax tree of an expression on one or more lines."""
    if not text.strip():
        raise TrigemuError("is empty")
    if len(text) > longest:
        raise TrigemuError(f"has {len(text)} characters, at most {longest} are allowed")
    deep = f"nests more than {MAX_LEVELS} levels, such as parentheses or the terms of a sum"
    try:
        tree = ast.parse(_in_one(text), mode="eval").body
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None)
        where = f" at column {column}" if column else ""
        words = [f"write {word} for {sign}" for sign, word in _WORDS.items() if sign in text]
        reason = ", ".join(words) or str(getattr(error, "msg", error))
        raise TrigemuError(f"cannot be read{where}: {reason}") from None
    except (RecursionError, MemoryError):  # the stack of Python's parser is full
        raise TrigemuError(deep) from None
    level: list[ast.AST] = [tree]
    for _ in range(MAX_LEVELS):
        inner = [child for node in level for child in ast.iter_child_nodes(node)]
        level = [child for child in inner if isinstance(child, ast.expr)]
    if level:
        raise TrigemuError(deep)
    return tree


def _in_one(text: str) -> str:
    """Put a text of several lines into parentheses, so that Python accepts it."""
    text = text.strip()
    return f"({text}\n)" if "\n" in text else text


@dataclass
class _Reader:
    """Convert Python's syntax tree of a text to expression nodes, with all names resolved."""

    text: str
    scope: Scope

    def read(self, node: ast.expr) -> Number | Vector | Condition:
        """Return what a node means: the grammar of the language."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                with suppress(OverflowError):  # of an integer
                    if math.isfinite(value):
                        return Constant(float(value))
                raise TrigemuError(f"{self._source(node)!r} is too large: the largest number is 1.8e308")
            case ast.Name(id="ht"):
                return ScalarSum(self.scope.ht)
            case ast.Name(id="mht"):
                return MissingMomentum(self.scope.mht)
            case ast.Name(id="met"):
                return MissingEt()
            case ast.Name(id=name) if name.startswith("n_") and self.scope.has_object(name[2:]):
                return Count(self.scope.object(name[2:]))
            case ast.Name(id=name):
                if self.scope.has_object(name):
                    raise TrigemuError(f"{name!r} is a collection: write {name}[0].pt or n_{name}")
                return Scalar(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)) if (
                type(index) is int
            ):
                if index > MAX_INDEX:
                    raise TrigemuError(f"{self._source(node)!r}: the largest number is {MAX_INDEX}")
                return ObjectVector(self.scope.object(name), index)
            case ast.Subscript():
                raise TrigemuError(
                    f"{self._source(node)!r}: objects are written NAME[NUMBER], counted from 0"
                )
            case ast.Attribute(value=ast.Subscript() as element, attr=column):
                vector = cast(ObjectVector, self.read(element))
                return Element(vector.selection, vector.index, vector.selection.column(column))
            case ast.Attribute(value=ast.Name(id=name), attr=column) if not column.startswith("_"):
                raise TrigemuError(
                    f"{self._source(node)!r} has a number for each object: write {name}[0].{column} for the "
                    f"first one"
                )
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
                return self._call(function, arguments)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Arithmetic("negative", (self.number(operand),))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Junction("not", (self.condition(operand),))
            case ast.BoolOp(op=op, values=values):
                operation = "and" if isinstance(op, ast.And) else "or"
                return Junction(operation, tuple(self.condition(v) for v in values))
            case ast.BinOp(left=left, op=op, right=right):
                if (sign := _ARITHMETIC.get(type(op))) is None:
                    raise TrigemuError(f"the operator after {self._source(left)!r} is not + - * /")
                first, second = self.read(left), self.read(right)
                missing = all(isinstance(part, MissingEt | MissingMomentum) for part in (first, second))
                if sign == "+" and isinstance(first, Vector) and isinstance(second, Vector) and not missing:
                    parts = first.parts if isinstance(first, VectorSum) else (first,)
                    return VectorSum((*parts, second))
                return Arithmetic(sign, (self.number(left, first), self.number(right, second)))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                if any(type(op) not in _COMPARISONS for op in ops):
                    raise TrigemuError(f"expected one of the comparisons {' '.join(_COMPARISONS.values())}")
                numbers = [self.number(operand) for operand in (left, *rights)]
                signs = [_COMPARISONS[type(op)] for op in ops]
                relations = tuple(Relation(sign, *numbers[i : i + 2]) for i, sign in enumerate(signs))
                return relations[0] if len(relations) == 1 else Junction("and", relations)
        raise TrigemuError(f"{self._source(node)!r} is not part of the observable language")

    def _source(self, node: ast.expr) -> str:
        return excerpt(ast.get_source_segment(self.text, node) or self.text)

    def number(self, node: ast.expr, result: Number | Vector | Condition | None = None) -> Number:
        """Return the number that a node stands for; result: the node, if it has been read."""
        result = result or self.read(node)
        if isinstance(result, MissingEt):
            return Scalar("met")
        if isinstance(result, MissingMomentum):
            return OfVectors("pt", (result,))
        if isinstance(result, Condition):
            raise TrigemuError(
                f"{self._source(node)!r} is a condition, not a number per event: a trigger has the number as "
                f"its observable and the bound as above; further conditions are its requires"
            )
        if not isinstance(result, Number):
            raise TrigemuError(f"{self._source(node)!r} is not a number per event, such as jet[0].pt")
        return result

    def condition(self, node: ast.expr) -> Condition:
        result = self.read(node)
        if not isinstance(result, Condition):
            raise TrigemuError(f"{self._source(node)!r} is not a condition, such as n_photon >= 1")
        return result

    def _call(self, function: str, nodes: list[ast.expr]) -> Number:
        if function == "abs":
            if len(nodes) != 1:
                raise TrigemuError("abs(…) takes one number")
            return Arithmetic("abs", (self.number(nodes[0]),))
        if function in ("max", "min"):
            if not 2 <= len(nodes) <= MAX_LEVELS:
                raise TrigemuError(f"{function}(…) takes 2 to {MAX_LEVELS} numbers")
            return Arithmetic(function, tuple(self.number(node) for node in nodes))
        if function not in _VECTOR_FUNCTIONS:
            known = nearest(function, {*_VECTOR_FUNCTIONS, "max", "min", "abs"})
            raise TrigemuError(f"unknown function {function!r}{known}")
        arguments = [self.read(node) for node in nodes]
        vectors = tuple(a for a in arguments if isinstance(a, Vector))
        several = function == "m" and len(arguments) >= 1
        if len(vectors) != len(arguments) or not (several or len(vectors) == _VECTOR_FUNCTIONS[function]):
            expected = "objects" if function == "m" else f"{_VECTOR_FUNCTIONS[function]} object(s)"
            raise TrigemuError(f"{function}(…) takes {expected}, such as jet[0]")
        if function not in ("pt", "phi", "dphi") and not all(map(_has_eta, vectors)):
            raise TrigemuError(f"{function}(…) needs objects: met and mht have no η")
        pair = len(vectors) == 2 and all(isinstance(v, ObjectVector) for v in vectors)
        if function == "m" and len(vectors) > 1 and not pair:
            vectors = (VectorSum(vectors),)
        return OfVectors(function, vectors)


def _has_eta(vector: Vector) -> bool:
    parts = vector.parts if isinstance(vector, VectorSum) else ()
    return all(map(_has_eta, parts)) if parts else isinstance(vector, ObjectVector)
