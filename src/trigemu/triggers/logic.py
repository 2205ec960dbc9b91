"""`logic`: a Boolean expression over the raw decisions of other triggers, before their prescales.

    expression = "J100 and not (G30 or 'HLT-with-signs')"

The same expressions are used for the `seed` of any trigger.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.observables.expressions import joined
from trigemu.observables.language import parse_tree, quoting
from trigemu.triggers.base import BitKind

#: The longest text of an expression: the names of several thousand triggers.
MAX_CHARACTERS = 100_000


@dataclass(frozen=True)
class Expression:
    """A Boolean expression over trigger decisions."""

    operation: str  # "and", "or", "not", or empty for the decision of a trigger
    operands: tuple[Expression, ...] = ()
    name: str = ""  # The trigger, if the operation is empty

    def names(self) -> tuple[str, ...]:
        """Return the names of its triggers, each once, in order of appearance."""
        inner = (name for operand in self.operands for name in operand.names())
        return tuple(dict.fromkeys((self.name,) if self.name else inner))

    @property
    def negates(self) -> bool:
        """Whether it has a `not`."""
        return self.operation == "not" or any(operand.negates for operand in self.operands)

    @property
    def text(self) -> str:
        """The expression as written in a menu, with brackets around nested `and` and `or`."""
        if not self.operation:
            return self.name if self.name.isidentifier() else repr(self.name)
        parts = [f"({part.text})" if len(part.operands) > 1 else part.text for part in self.operands]
        return f"not {parts[0]}" if self.operation == "not" else f" {self.operation} ".join(parts)

    def evaluate(self, raw: Mapping[str, BoolArray]) -> BoolArray:
        """Return the decisions bool[n], given those of its triggers by name, `raw`."""
        if not self.operation:
            return raw[self.name]
        return joined(self.operation, [operand.evaluate(raw) for operand in self.operands])


def parse_expression(text: str) -> Expression:
    """Parse trigger names joined by and, or, not: "J100 and not G30"; raise TrigemuError for other texts."""
    with quoting(text):
        return _read(parse_tree(text, MAX_CHARACTERS))


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
        f"{excerpt(ast.unparse(node))!r} is not a trigger name joined by and, or, not; "
        f"quote names with other characters"
    )


class Logic(BitKind, frozen=True):
    """The trigger kind `logic`: it fires if the expression is true.

    Attributes
    ----------
    expression : str
        Names of triggers joined by `and`, `or` and `not`, with brackets. It uses their raw decisions, before
        their prescales.
    """

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
