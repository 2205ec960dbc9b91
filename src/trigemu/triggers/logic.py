"""Kinds that compute nothing of events: `random` (crossings at a fixed rate), `stored` and `external` (a
decision or a bit of the sample), `logic` (a Boolean expression over raw decisions, as in a `seed`):

    expression = "J100 and not (G30 or 'HLT-with-signs')"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.observables.expressions import Constant, Relation, Scalar, joined
from trigemu.observables.language import parse_tree, quoting
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import BitKind, Compiled, Context, Kind

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
    """The trigger kind `logic`: it fires if the expression is true."""

    #: Names of triggers joined by `and`, `or` and `not`, with brackets. It uses their raw decisions, before
    #: their prescales.
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


class Random(BitKind, frozen=True):
    """The trigger kind `random`: it fires in every event, with a prescale of the crossing rate over
    `rate_hz`."""

    rate_hz: Annotated[float, msgspec.Meta(gt=0)]  #: The rate in Hz, before its prescale.

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        return np.ones(n, np.bool_)

    def own_prescale(self, crossing_rate_hz: float) -> float:
        return crossing_rate_hz / self.rate_hz


class Stored(Kind, frozen=True):
    """The trigger kind `stored`: it fires if a decision that is stored in the sample is true."""

    decision: Annotated[str, msgspec.Meta(min_length=1)]  #: The name of the stored decision.

    def compile(self, context: Context) -> CompiledStored:
        return CompiledStored(context.stored(self.decision))


@dataclass(frozen=True)
class CompiledStored(Compiled):
    """A compiled trigger that repeats a decision recorded in the sample."""

    column: str  # Of decisions, 0 or 1
    threshold: None = None

    @property
    def condition(self) -> Relation:
        return Relation("!=", Scalar(self.column), Constant(0.0))

    def evaluate(self, work: Workspace) -> BoolArray:
        return self.condition.evaluate(work)


class External(Kind, frozen=True):
    """The trigger kind `external`: it fires if a bit that is stored in the sample is set."""

    bit: Annotated[int, msgspec.Meta(ge=0)]  #: The number of the bit.
    #: The crossing of the bit, relative to that of the event: −2 to 2.
    crossing: Annotated[int, msgspec.Meta(ge=-2, le=2)] = 0
    #: The name of the columns that hold the bits, without their number.
    word: Annotated[str, msgspec.Meta(min_length=1)] = "external"

    def compile(self, context: Context) -> CompiledExternal:
        column = context.scalar(f"{self.word}_{self.bit // 64}")
        return CompiledExternal(column, self.bit % 64, self.crossing)


@dataclass(frozen=True)
class CompiledExternal(Compiled):
    """A compiled trigger that fires if a bit of a word in the sample is set."""

    column: str  # Of words, with one value per event
    bit: int
    crossing: int  # Relative to that of the event
    threshold: None = None

    @property
    def margin(self) -> int:
        return abs(self.crossing)

    def evaluate(self, work: Workspace) -> BoolArray:
        is_set = (work.scalar(self.column).astype(np.int64, copy=False) >> self.bit & 1).astype(np.bool_)
        nearby = np.arange(len(is_set)) + self.crossing
        exists = (nearby >= 0) & (nearby < len(is_set))
        return exists & is_set.take(nearby, mode="clip")
