"""Per-event numbers, vectors and conditions, and their evaluation; `language.py` parses them from text.

An observable is a tree of frozen nodes that compare by content, so a `Workspace` evaluates equal nodes once.
Objects are massless and counted from 0 in descending pT; Δφ is signed, in (−π, π]. The value of a missing
object is NaN, and any comparison with it is false. Derived quantities are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, neg, sub, truediv
from typing import Any, Generic, TypeVar, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.observables.selections import Column, ObjectSelection
from trigemu.observables.workspace import OPPOSITE, Workspace
from trigemu.samples.events import Need

T = TypeVar("T")
#: A smaller m² / E² is what rounding leaves of objects in one direction, and is 0.
PARALLEL = 1e-14


@dataclass(frozen=True)
class Node(Generic[T]):
    """A part of an expression; two nodes with equal content are equal."""

    def evaluate(self, work: Workspace) -> T:
        """Return the value of each event of `work`. Each workspace computes it once."""
        return work.once(self, self._evaluate, work)

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
    column: Column

    def _evaluate(self, work: Workspace) -> FloatArray:
        objects = work.objects(self.selection)
        column = work.column(self.selection.all_objects, self.column)
        n = len(objects.offsets) - 1
        if not objects.offsets[-1]:
            return np.full(n, math.nan)
        bits, rows = np.empty(n, np.int64), np.empty(0, np.int64) if objects.rows is None else objects.rows
        _element(column, objects.offsets, rows, self.index, bits)
        return bits.view(np.float64)

    def needs(self) -> Iterator[Need]:
        yield from self.selection.needs(self.column)


@dataclass(frozen=True)
class ScalarSum(Number):
    """The scalar sum of pT over all objects of some collections, in GeV: HT."""

    selections: tuple[ObjectSelection, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        total = np.zeros(len(work.events))
        for selection in self.selections:
            _add_sums(work.objects(selection).offsets, work.column(selection, "pt").astype(np.float64), total)
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
class Vector(Node[tuple[FloatArray, ...]]):
    """A vector per event, as a node of an expression: px, py, pz, E in GeV, float64[n] each; only px, py of
    missing momentum and sums with it."""


@dataclass(frozen=True)
class ObjectVector(Vector):
    """The momentum of one object of a collection."""

    selection: ObjectSelection
    index: int  # The number of the object, counted from 0 in descending pT

    def element(self, column: str) -> Element:
        """Return a `column` of the object, by its name."""
        return Element(self.selection, self.index, self.selection.column(column))

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        pt, eta, phi = (self.element(c).evaluate(work) for c in ("pt", "eta", "phi"))
        return pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta), pt * np.cosh(eta)

    def needs(self) -> Iterator[Need]:
        yield from self.selection.needs(*map(self.selection.column, ("pt", "eta", "phi")))


@dataclass(frozen=True)
class VectorSum(Vector):
    """The sum of vectors."""

    parts: tuple[Vector, ...]

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        terms = zip(*(part.evaluate(work) for part in self.parts), strict=False)
        return tuple(cast(FloatArray, sum(term[1:], start=term[0])) for term in terms)


@dataclass(frozen=True)
class MissingMomentum(Vector):
    """The negative vector sum of pT over all objects of some collections: MHT."""

    selections: tuple[ObjectSelection, ...]

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        px, py = np.zeros((2, len(work.events)))
        for selection in self.selections:
            pt, phi = (work.column(selection, name).astype(np.float64) for name in ("pt", "phi"))
            _add_momenta(work.objects(selection).offsets, pt, phi, px, py)
        return 0.0 - px, 0.0 - py  # without negative zeros, which turn a direction around

    def needs(self) -> Iterator[Need]:
        for selection in self.selections:
            yield from selection.needs("phi")


@dataclass(frozen=True)
class MissingEt(Vector):
    """The sample's own missing transverse momentum."""

    met: Number = Scalar("met")
    phi: Number = Scalar("met_phi")

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        met, phi = self.met.evaluate(work), self.phi.evaluate(work)
        return met * np.cos(phi), met * np.sin(phi)


@dataclass(frozen=True)
class OfVectors(Number):
    """A number that belongs to one vector or to two."""

    function: str  # "pt", "eta", "phi" or "m" of one vector; "dr", "deta", "dphi" or "m" of two
    vectors: tuple[Vector, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._of_two(work) if len(self.vectors) == 2 else self._of_one(work)

    def _of_one(self, work: Workspace) -> FloatArray:
        (vector,) = self.vectors
        if isinstance(vector, ObjectVector):
            if self.function == "m":  # objects are massless, where there is one
                return 0.0 * vector.element("pt").evaluate(work)
            return vector.element(self.function).evaluate(work)
        px, py, *longitudinal = vector.evaluate(work)
        if self.function == "pt":
            return np.hypot(px, py)
        if self.function == "phi":
            return np.arctan2(py, px)
        pz, e = longitudinal
        if self.function == "eta":
            return np.arcsinh(pz / np.hypot(px, py))
        square = e * e - px * px - py * py - pz * pz
        return np.sqrt(np.where(square < PARALLEL * e * e, 0.0, square))

    def _of_two(self, work: Workspace) -> FloatArray:
        def of_each(function: str) -> list[FloatArray]:
            numbers = (OfVectors(function, (vector,)) for vector in self.vectors)
            return [number.evaluate(work) for number in numbers]

        phi1, phi2 = of_each("phi")
        if self.function == "m":  # of two objects, from their own columns, which avoids cancellation
            (pt1, pt2), (eta1, eta2) = of_each("pt"), of_each("eta")
            square = 2.0 * pt1 * pt2 * (np.cosh(eta1 - eta2) - np.cos(phi1 - phi2))
            return np.sqrt(np.where(square < 0.0, 0.0, square))
        d_phi = phi1 - phi2
        d_phi -= 2 * math.pi * np.rint(d_phi / (2 * math.pi))
        d_phi[d_phi < -OPPOSITE] = math.pi
        if self.function == "dphi":
            return d_phi
        eta1, eta2 = of_each("eta")
        return eta1 - eta2 if self.function == "deta" else np.hypot(eta1 - eta2, d_phi)


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
        return joined(self.operation, [operand.evaluate(work) for operand in self.operands])


def joined(operation: str, values: list[BoolArray]) -> BoolArray:
    """Join decisions bool[n] by "and" or "or", or negate a single one by "not"."""
    if operation == "not":
        return ~values[0]
    return cast(BoolArray, (np.logical_and if operation == "and" else np.logical_or).reduce(values))


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    **{"+": add, "-": sub, "*": mul, "/": truediv, "negative": neg, "abs": abs},
    # If both are equal, the first, as for single events: the sign of zeros matters.
    "max": lambda *values: reduce(lambda a, b: np.where((a >= b) | np.isnan(b), a, b), values),
    "min": lambda *values: reduce(lambda a, b: np.where((a <= b) | np.isnan(b), a, b), values),
}
_COMPARISONS: dict[str, Callable[..., Any]] = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


@kernel
def _element(column: Array, offsets: IntArray, rows: IntArray, index: int, bits: IntArray) -> None:
    """Set the bits of element `index` of each event, float64[n], or of a NaN if it does not exist. No `rows`:
    all. The loop always reads some element, to avoid an unpredictable branch."""
    last = offsets[-1] - 1
    for event in range(len(bits)):
        place = offsets[event] + index
        row = min(place, last)
        if len(rows):
            row = rows[np.uint64(row)]
        value = np.float64(column[np.uint64(row)])
        bits[event] = value.view(np.int64) | -np.int64(place >= offsets[event + 1])


@kernel
def _add_sums(offsets: IntArray, values: FloatArray, totals: FloatArray) -> None:
    """Add the sum of the values of each event; np.bincount would hold the GIL."""
    for event in range(len(totals)):
        total = 0.0
        for i in range(offsets[event], offsets[event + 1]):
            total += values[i]
        totals[event] += total


@kernel
def _add_momenta(offsets: IntArray, pt: FloatArray, phi: FloatArray, px: FloatArray, py: FloatArray) -> None:
    """Add the sums of pT cos φ and pT sin φ of each event."""
    for event in range(len(px)):
        x = y = 0.0
        for i in range(offsets[event], offsets[event + 1]):
            x += pt[i] * math.cos(phi[i])
            y += pt[i] * math.sin(phi[i])
        px[event] += x
        py[event] += y


def unit_of(number: Number) -> str:
    """Return the unit of a number; empty if it has none or an unknown one."""
    match number:
        case ScalarSum():
            return "GeV"
        case Element(column=name) | Scalar(name=name) | OfVectors(function=name):
            return "GeV" if name in ("pt", "mass", "m", "met") else ""
        case Arithmetic(operation="+" | "-" | "negative" | "abs" | "max" | "min", operands=operands):
            units = {unit_of(part) for part in operands if not isinstance(part, Constant)}
            return units.pop() if len(units) == 1 else ""
        case Arithmetic(operation="*", operands=(Constant(), other) | (other, Constant())):
            return unit_of(other)
        case Arithmetic(operation="/", operands=(other, Constant())):
            return unit_of(other)
    return ""
