"""`logic`: a Boolean expression over the raw decisions of other triggers, before their prescales.

    expression = "J100 and not (G30 or 'HLT-with-signs')"

The same expressions serve as the `seed` of any trigger.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trigemu.observables import parse_tree, quoting
from trigemu.support import BoolArray, TrigemuError
from trigemu.triggers.base import BitKind


@dataclass(frozen=True)
class Expression:
    """`operation` is "and", "or", "not" or, for a trigger's own decision, empty."""

    operation: str
    operands: tuple[Expression, ...] = ()
    name: str = ""

    def names(self) -> tuple[str, ...]:
        """The triggers in it, each once, in their order."""
        inner = (name for operand in self.operands for name in operand.names())
        return tuple(dict.fromkeys((self.name,) if self.name else inner))

    @property
    def text(self) -> str:
        """As a menu writes it, with brackets around every part that is joined."""
        if not self.operation:
            return self.name if self.name.isidentifier() else repr(self.name)
        parts = [f"({part.text})" if len(part.operands) > 1 else part.text for part in self.operands]
        return f"not {parts[0]}" if self.operation == "not" else f" {self.operation} ".join(parts)

    def evaluate(self, raw: Mapping[str, BoolArray]) -> BoolArray:
        """bool[n] from the decisions bool[n] of every name."""
        if not self.operation:
            return raw[self.name]
        values = [operand.evaluate(raw) for operand in self.operands]
        if self.operation == "not":
            return ~values[0]
        joined = np.logical_and if self.operation == "and" else np.logical_or
        result: BoolArray = joined.reduce(values)
        return result


def parse_expression(text: str) -> Expression:
    """TrigemuError where a text is not trigger names joined by and, or, not."""
    with quoting(text):
        return _read(parse_tree(text))


def _read(node: ast.expr) -> Expression:
    match node:
        case ast.Name(id=name) | ast.Constant(value=str() as name):
            return Expression("", name=name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Expression("not", (_read(operand),))
        case ast.BoolOp(op=op, values=values):
            operation = "and" if isinstance(op, ast.And) else "or"
            return Expression(operation, tuple(_read(value) for value in values))
    raise TrigemuError(
        f"{ast.unparse(node)!r} is not a trigger name, and, or, not; quote names with other signs"
    )


class Logic(BitKind, frozen=True):
    """A decision made of decisions."""

    expression: str

    def mistakes(self) -> Iterator[tuple[str, str]]:
        try:
            parse_expression(self.expression)
        except TrigemuError as error:
            yield "expression", str(error)

    def inputs(self) -> tuple[str, ...]:
        return parse_expression(self.expression).names()

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        return parse_expression(self.expression).evaluate(raw)
