"""Per-event numbers and conditions, and their evaluation; `language.py` parses them from text.

An observable is a tree of frozen nodes that compare by content, so a `Workspace` evaluates equal nodes once.
Objects are massless and counted from 0 in descending pT; Δφ is signed, in (−π, π]. The value of a missing
object is NaN, and any comparison with it is false. Derived quantities are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import reduce
from typing import Generic, TypeVar, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, column_needs
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Need

T = TypeVar("T")


@dataclass(frozen=True)
class Node(Generic[T]):
    """A part of an expression; two nodes with equal content are equal."""

    def evaluate(self, work: Workspace) -> T:
        """Return the value of each event of `work`. Each workspace computes it once."""
        return work.once(self, lambda: self._evaluate(work))

    def _evaluate(self, work: Workspace) -> T:
        raise NotImplementedError

    def needs(self) -> Iterator[Need]:
        """Yield the columns of the sample that it reads."""
        for field in fields(self):
            value = getattr(self, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Node | ObjectSelection):
                    yield from part.needs()


@dataclass(frozen=True)
class Number(Node[FloatArray]):
    """A number per event, float64[n], NaN if an event has none, as a node of an expression."""


@dataclass(frozen=True)
class Constant(Number):
    """A number that is the same for every event."""

    value: float

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.full(len(work.events), self.value)


@dataclass(frozen=True)
class Scalar(Number):
    """A column of the sample with one value per event."""

    name: str

    def _evaluate(self, work: Workspace) -> FloatArray:
        return work.scalar(self.name).astype(np.float64, copy=False)

    def needs(self) -> Iterator[Need]:
        yield "", self.name


@dataclass(frozen=True)
class Count(Number):
    """The number of objects of a collection."""

    selection: ObjectSelection

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.diff(work.objects(self.selection).offsets).astype(np.float64)


@dataclass(frozen=True)
class Element(Number):
    """A column of one object of a collection."""

    selection: ObjectSelection
    index: int  # The number of the object, counted from 0 in descending pT
    column: Column  # The column

    def _evaluate(self, work: Workspace) -> FloatArray:
        objects = work.objects(self.selection)
        column = work.base_column(self.selection.base, self.column)
        n = len(objects.offsets) - 1
        if not objects.offsets[-1]:
            return np.full(n, math.nan)
        bits = np.empty(n, np.int64)
        _element(column, objects.offsets, _ALL if objects.rows is None else objects.rows, self.index, bits)
        return bits.view(np.float64)

    def needs(self) -> Iterator[Need]:
        yield from column_needs(self.selection.base, self.column)
        yield from super().needs()


@dataclass(frozen=True)
class ScalarSum(Number):
    """The scalar sum of pT over all objects of some collections, in GeV: HT."""

    selections: tuple[ObjectSelection, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        total = np.zeros(len(work.events))
        for selection in self.selections:
            total += work.sums(selection, work.column(selection, "pt"))
        return total


@dataclass(frozen=True)
class Arithmetic(Number):
    """An operation on one or two numbers; `max` and `min` of all of several numbers that have a value."""

    operation: str  # "+", "-", "*", "/", "negative", "abs", "max" or "min"
    operands: tuple[Number, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = [operand.evaluate(work) for operand in self.operands]
            return cast(FloatArray, _ARITHMETIC[self.operation](*values))


@dataclass(frozen=True)
class Condition(Node[BoolArray]):
    """A condition on an event, bool[n], as a node of an expression."""


@dataclass(frozen=True)
class Relation(Condition):
    """A comparison of two numbers; false if one of them has no value."""

    operation: str  # ">", ">=", "<", "<=", "==" or "!="
    left: Number
    right: Number

    def _evaluate(self, work: Workspace) -> BoolArray:
        left, right = self.left.evaluate(work), self.right.evaluate(work)
        result = cast(BoolArray, _COMPARISONS[self.operation](left, right))
        if self.operation == "!=":  # the only comparison with NaN that is true in IEEE arithmetic
            result &= ~(np.isnan(left) | np.isnan(right))
        return result


@dataclass(frozen=True)
class Junction(Condition):
    """Conditions joined by `and` or `or`, or `not` of one."""

    operation: str  # "and", "or" or "not"
    operands: tuple[Condition, ...]

    def _evaluate(self, work: Workspace) -> BoolArray:
        values = [operand.evaluate(work) for operand in self.operands]
        if self.operation == "not":
            return ~values[0]
        joined = np.logical_and if self.operation == "and" else np.logical_or
        return cast(BoolArray, joined.reduce(values))


# If both are equal, return the first, as for single events: the sign of zeros matters.
def _larger(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.where((a >= b) | np.isnan(b), a, b)


def _smaller(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.where((a <= b) | np.isnan(b), a, b)


_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "negative": np.negative,
    "abs": np.abs,
    "max": lambda *values: reduce(_larger, values),
    "min": lambda *values: reduce(_smaller, values),
}
_COMPARISONS: dict[str, Callable[..., Array]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


#: Rows of a selection of all objects.
_ALL = np.zeros(0, np.int64)


@kernel
def _element(column: Array, offsets: IntArray, rows: IntArray, index: int, bits: IntArray) -> None:
    """Set the bits of element `index` of each event, float64[n], or of a NaN if it does not exist. The loop
    always reads some element, to avoid an unpredictable branch."""
    last = offsets[-1] - 1
    for event in range(len(bits)):
        place = offsets[event] + index
        row = min(place, last)
        if len(rows):
            row = rows[np.uint64(row)]
        value = np.float64(column[np.uint64(row)])
        bits[event] = value.view(np.int64) | -np.int64(place >= offsets[event + 1])
