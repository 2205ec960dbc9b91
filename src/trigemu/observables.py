"""Per-event numbers and conditions, evaluated; `language.py` makes them from text.

An observable is a tree of frozen nodes in which every object is a derivation, so equal content means equal
work and a `Workspace` evaluates each node once. Objects are massless and counted from 0 in falling pT; Δφ
is signed, in (−π, π]. A missing object has no value, which is NaN here: a comparison with it is false.
Derived quantities are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from trigemu.events import Array, BoolArray, FloatArray, IntArray
from trigemu.kernels import delta_phi, delta_r, kernel, pair_mass
from trigemu.objects import Derivation
from trigemu.workspace import Workspace

#: (collection, column) of the sample, or ("", scalar).
Need = tuple[str, str]


@dataclass(frozen=True)
class Number:
    """A number an event: `evaluate` gives float64[n], NaN where there is no value."""

    def evaluate(self, work: Workspace) -> FloatArray:
        return work.once(self, lambda: self._evaluate(work))

    def _evaluate(self, work: Workspace) -> FloatArray:
        raise NotImplementedError

    def needs(self) -> Iterator[Need]:
        return iter(())


@dataclass(frozen=True)
class Constant(Number):
    value: float

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.full(len(work.events), self.value)


@dataclass(frozen=True)
class Scalar(Number):
    """One of the sample's own columns with a value an event."""

    name: str

    def _evaluate(self, work: Workspace) -> FloatArray:
        return work.scalar(self.name).astype(np.float64, copy=False)

    def needs(self) -> Iterator[Need]:
        yield "", self.name


@dataclass(frozen=True)
class Count(Number):
    of: Derivation

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.diff(work.objects(self.of).offsets).astype(np.float64)

    def needs(self) -> Iterator[Need]:
        return self.of.needs()


@dataclass(frozen=True)
class Element(Number):
    """A column of the object that is number `index` in pT."""

    of: Derivation
    index: int
    column: str

    def _evaluate(self, work: Workspace) -> FloatArray:
        objects = work.objects(self.of)
        column = work.base_column(self.of.base, self.column)
        if objects.rows is None:
            return _element(column, objects.offsets, self.index)
        return _selected_element(column, objects.rows, objects.offsets, self.index)

    def needs(self) -> Iterator[Need]:
        yield self.of.base, self.column
        yield from self.of.needs()


@dataclass(frozen=True)
class ScalarSum(Number):
    """Σ pT of all objects of some collections."""

    of: tuple[Derivation, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        total = np.zeros(len(work.events))
        for d in self.of:
            _add_pt(work.column(d, "pt"), work.objects(d).offsets, total)
        return total

    def needs(self) -> Iterator[Need]:
        for derivation in self.of:
            yield from derivation.needs()


@dataclass(frozen=True)
class Vector:
    """A vector an event. `components` gives px, py, pz, E in GeV as float64[n], pz and E None if it is
    known in the transverse plane only."""

    def components(self, work: Workspace) -> tuple[FloatArray, ...]:
        return work.once(self, lambda: self._components(work))

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        raise NotImplementedError

    def needs(self) -> Iterator[Need]:
        raise NotImplementedError

    @property
    def transverse(self) -> bool:
        return False


@dataclass(frozen=True)
class ObjectVector(Vector):
    of: Derivation
    index: int

    def element(self, column: str) -> Element:
        return Element(self.of, self.index, column)

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        pt, eta, phi = (self.element(c).evaluate(work) for c in ("pt", "eta", "phi"))
        return pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta), pt * np.cosh(eta)

    def needs(self) -> Iterator[Need]:
        for column in ("pt", "eta", "phi"):
            yield from self.element(column).needs()


@dataclass(frozen=True)
class VectorSum(Vector):
    parts: tuple[Vector, ...]

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        terms = zip(*(part.components(work) for part in self.parts), strict=False)
        return tuple(cast(FloatArray, sum(term[1:], start=term[0])) for term in terms)

    def needs(self) -> Iterator[Need]:
        for part in self.parts:
            yield from part.needs()

    @property
    def transverse(self) -> bool:
        return any(part.transverse for part in self.parts)


@dataclass(frozen=True)
class MissingMomentum(Vector):
    """Minus the vector sum of pT of all objects of some collections: MHT."""

    of: tuple[Derivation, ...]

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        px, py = np.zeros(len(work.events)), np.zeros(len(work.events))
        for d in self.of:
            offsets = work.objects(d).offsets
            _subtract_momentum(work.column(d, "pt"), work.column(d, "phi"), offsets, px, py)
        return px, py

    def needs(self) -> Iterator[Need]:
        for d in self.of:
            yield from d.needs()
            yield d.base, "phi"

    @property
    def transverse(self) -> bool:
        return True


@dataclass(frozen=True)
class MissingEt(Vector):
    """The sample's own missing transverse momentum: the scalars `met` and `met_phi`."""

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        met = work.scalar("met").astype(np.float64, copy=False)
        phi = work.scalar("met_phi").astype(np.float64, copy=False)
        return met * np.cos(phi), met * np.sin(phi)

    def needs(self) -> Iterator[Need]:
        yield from (("", "met"), ("", "met_phi"))

    @property
    def transverse(self) -> bool:
        return True


@dataclass(frozen=True)
class OfVectors(Number):
    """pt, eta, phi, m of one vector; dr, deta, dphi of two."""

    function: str
    vectors: tuple[Vector, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        if all(isinstance(v, ObjectVector) for v in self.vectors):
            return self._of_objects(work)
        if len(self.vectors) == 1:
            return _of_components(self.function, self.vectors[0].components(work))
        (eta1, phi1), (eta2, phi2) = (self._direction(v, work) for v in self.vectors)
        if self.function == "dphi":
            return _delta_phis(phi1, phi2)
        if self.function == "deta":
            return eta1 - eta2
        return _delta_rs(eta1, phi1, eta2, phi2)

    def _of_objects(self, work: Workspace) -> FloatArray:
        """Of objects themselves, from their own columns: nothing is rounded on the way."""
        objects = cast("tuple[ObjectVector, ...]", self.vectors)
        columns = [[o.element(c).evaluate(work) for c in ("pt", "eta", "phi")] for o in objects]
        if len(objects) == 1:
            pt = columns[0][0]
            return {"pt": pt, "eta": columns[0][1], "phi": columns[0][2]}.get(self.function, 0.0 * pt)
        (pt1, eta1, phi1), (pt2, eta2, phi2) = columns
        if self.function == "m":
            return _pair_masses(pt1, eta1, phi1, pt2, eta2, phi2)
        if self.function == "dphi":
            return _delta_phis(phi1, phi2)
        if self.function == "deta":
            return eta1 - eta2
        return _delta_rs(eta1, phi1, eta2, phi2)

    def _direction(self, vector: Vector, work: Workspace) -> tuple[FloatArray, FloatArray]:
        phi = OfVectors("phi", (vector,)).evaluate(work)
        eta = phi if vector.transverse else OfVectors("eta", (vector,)).evaluate(work)
        return eta, phi

    def needs(self) -> Iterator[Need]:
        for vector in self.vectors:
            yield from vector.needs()


@dataclass(frozen=True)
class Arithmetic(Number):
    operation: str
    operands: tuple[Number, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = [operand.evaluate(work) for operand in self.operands]
            return cast(FloatArray, _ARITHMETIC[self.operation](*values))

    def needs(self) -> Iterator[Need]:
        for operand in self.operands:
            yield from operand.needs()


@dataclass(frozen=True)
class Condition:
    """Yes or no an event: `evaluate` gives bool[n]."""

    def evaluate(self, work: Workspace) -> BoolArray:
        return work.once(self, lambda: self._evaluate(work))

    def _evaluate(self, work: Workspace) -> BoolArray:
        raise NotImplementedError

    def needs(self) -> Iterator[Need]:
        raise NotImplementedError


@dataclass(frozen=True)
class Comparison(Condition):
    operation: str
    left: Number
    right: Number

    def _evaluate(self, work: Workspace) -> BoolArray:
        left, right = self.left.evaluate(work), self.right.evaluate(work)
        result = cast(BoolArray, _COMPARISONS[self.operation](left, right))
        if self.operation == "!=":  # the one comparison that IEEE makes true for a missing value
            result &= ~(np.isnan(left) | np.isnan(right))
        return result

    def needs(self) -> Iterator[Need]:
        yield from self.left.needs()
        yield from self.right.needs()


@dataclass(frozen=True)
class Junction(Condition):
    """`and`, `or` of any number of conditions, `not` of one."""

    operation: str
    operands: tuple[Condition, ...]

    def _evaluate(self, work: Workspace) -> BoolArray:
        values = [operand.evaluate(work) for operand in self.operands]
        if self.operation == "not":
            return ~values[0]
        joined = np.logical_and if self.operation == "and" else np.logical_or
        return cast(BoolArray, joined.reduce(values))

    def needs(self) -> Iterator[Need]:
        for operand in self.operands:
            yield from operand.needs()


_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "negative": np.negative,
    "abs": np.abs,
}
_COMPARISONS: dict[str, Callable[..., Array]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _of_components(function: str, components: tuple[FloatArray, ...]) -> FloatArray:
    px, py = components[:2]
    pt = np.hypot(px, py)
    if function == "pt":
        return pt
    if function == "phi":
        return np.arctan2(py, px)
    pz, energy = components[2:]
    if function == "eta":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.arcsinh(pz / pt)
    square = energy**2 - px**2 - py**2 - pz**2
    return np.sqrt(np.maximum(square, 0.0))


@kernel
def _element(column: Array, offsets: IntArray, index: int) -> FloatArray:
    n = len(offsets) - 1
    values = np.empty(n, np.float64)
    for event in range(n):
        at = offsets[event] + index
        values[event] = np.float64(column[at]) if at < offsets[event + 1] else math.nan
    return values


@kernel
def _selected_element(column: Array, rows: IntArray, offsets: IntArray, index: int) -> FloatArray:
    """The same of selected rows: a column of which one element is read need not be gathered."""
    n = len(offsets) - 1
    values = np.empty(n, np.float64)
    for event in range(n):
        at = offsets[event] + index
        values[event] = np.float64(column[rows[at]]) if at < offsets[event + 1] else math.nan
    return values


@kernel
def _add_pt(pt: Array, offsets: IntArray, total: FloatArray) -> None:
    for event in range(len(offsets) - 1):
        for i in range(offsets[event], offsets[event + 1]):
            total[event] += np.float64(pt[i])


@kernel
def _subtract_momentum(pt: Array, phi: Array, offsets: IntArray, px: FloatArray, py: FloatArray) -> None:
    for event in range(len(offsets) - 1):
        for i in range(offsets[event], offsets[event + 1]):
            px[event] -= np.float64(pt[i]) * math.cos(np.float64(phi[i]))
            py[event] -= np.float64(pt[i]) * math.sin(np.float64(phi[i]))


@kernel
def _delta_phis(phi1: FloatArray, phi2: FloatArray) -> FloatArray:
    values = np.empty_like(phi1)
    for i in range(len(phi1)):
        values[i] = delta_phi(phi1[i], phi2[i])
    return values


@kernel
def _delta_rs(eta1: FloatArray, phi1: FloatArray, eta2: FloatArray, phi2: FloatArray) -> FloatArray:
    values = np.empty_like(eta1)
    for i in range(len(eta1)):
        values[i] = delta_r(eta1[i], phi1[i], eta2[i], phi2[i])
    return values


@kernel
def _pair_masses(
    pt1: FloatArray,
    eta1: FloatArray,
    phi1: FloatArray,
    pt2: FloatArray,
    eta2: FloatArray,
    phi2: FloatArray,
) -> FloatArray:
    values = np.empty_like(pt1)
    for i in range(len(pt1)):
        values[i] = pair_mass(pt1[i], eta1[i], phi1[i], pt2[i], eta2[i], phi2[i])
    return values
