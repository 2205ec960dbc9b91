"""Vectors of objects and of missing momentum, and the observables derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.observables.expressions import Arithmetic, Constant, Element, Node, Number, Scalar, ScalarSum
from trigemu.observables.momenta import OPPOSITE, PARALLEL
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Need


@dataclass(frozen=True)
class Vector(Node[tuple[FloatArray, ...]]):
    """A vector per event, as a node of an expression: px, py, pz, E in GeV, float64[n] each; only px, py of a
    transverse vector."""

    @property
    def transverse(self) -> bool:
        """Whether it has no longitudinal component."""
        return False


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
        for column in ("pt", "eta", "phi"):
            yield from self.element(column).needs()


@dataclass(frozen=True)
class VectorSum(Vector):
    """The sum of vectors."""

    parts: tuple[Vector, ...]

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        terms = zip(*(part.evaluate(work) for part in self.parts), strict=False)
        return tuple(cast(FloatArray, sum(term[1:], start=term[0])) for term in terms)

    @property
    def transverse(self) -> bool:
        return any(part.transverse for part in self.parts)


@dataclass(frozen=True)
class MissingMomentum(Vector):
    """The negative vector sum of pT over all objects of some collections: MHT."""

    selections: tuple[ObjectSelection, ...]

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
        return self.sums(work, exact=True)

    def sums(self, work: Workspace, exact: bool) -> tuple[FloatArray, FloatArray]:
        """Return px and py, from sines and cosines in float64 or in the precision of the columns."""
        px, py = np.zeros((2, len(work.events)))
        for selection in self.selections:
            pt, phi = (work.column(selection, name) for name in ("pt", "phi"))
            phi = phi.astype(np.float64, copy=False) if exact else phi
            px -= work.sums(selection, pt * np.cos(phi))
            py -= work.sums(selection, pt * np.sin(phi))
        return px, py

    def needs(self) -> Iterator[Need]:
        yield from super().needs()
        yield from ((selection.base, "phi") for selection in self.selections)

    @property
    def transverse(self) -> bool:
        return True


@dataclass(frozen=True)
class MissingEt(Vector):
    """The sample's own missing transverse momentum: the scalars `met` and `met_phi`."""

    def _evaluate(self, work: Workspace) -> tuple[FloatArray, ...]:
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
    """A number that belongs to one vector or to two."""

    function: str  # "pt", "eta", "phi" or "m" of one vector; "dr", "deta", "dphi" or "m" of two
    vectors: tuple[Vector, ...]

    def _evaluate(self, work: Workspace) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._values(work)

    def _values(self, work: Workspace) -> FloatArray:
        first = self.vectors[0]
        if self.function == "m" and len(self.vectors) == 2:
            return self._pair_mass(work)
        if len(self.vectors) == 1 and isinstance(first, ObjectVector):
            if self.function == "m":  # objects are massless, where there is one
                return 0.0 * first.element("pt").evaluate(work)
            return first.element(self.function).evaluate(work)
        if len(self.vectors) == 1:
            return _of_components(self.function, first.evaluate(work))
        (eta1, phi1), (eta2, phi2) = (self._direction(v, work) for v in self.vectors)
        d_phi = _delta_phi(phi1, phi2)
        if self.function == "dphi":
            return d_phi
        return eta1 - eta2 if self.function == "deta" else np.hypot(eta1 - eta2, d_phi)

    def _pair_mass(self, work: Workspace) -> FloatArray:
        """Return the mass of two objects from their own columns, which avoids cancellation."""
        objects = cast("tuple[ObjectVector, ...]", self.vectors)
        (pt1, eta1, phi1), (pt2, eta2, phi2) = (
            [vector.element(column).evaluate(work) for column in ("pt", "eta", "phi")] for vector in objects
        )
        square = 2.0 * pt1 * pt2 * (np.cosh(eta1 - eta2) - np.cos(phi1 - phi2))
        return np.sqrt(np.where(square < 0.0, 0.0, square))

    def _direction(self, vector: Vector, work: Workspace) -> tuple[FloatArray, FloatArray]:
        phi = OfVectors("phi", (vector,)).evaluate(work)
        eta = phi if vector.transverse else OfVectors("eta", (vector,)).evaluate(work)
        return eta, phi


# As in `momenta`, for arrays.


def _of_components(function: str, components: tuple[FloatArray, ...]) -> FloatArray:
    px, py, *others = components
    if function == "pt":
        return np.hypot(px, py)
    if function == "phi":
        return np.arctan2(py, px)
    if function == "eta":
        return np.arcsinh(others[0] / np.hypot(px, py))
    pz, e = others
    square = e * e - px * px - py * py - pz * pz
    return np.sqrt(np.where(square < PARALLEL * e * e, 0.0, square))


def _delta_phi(phi1: FloatArray, phi2: FloatArray) -> FloatArray:
    difference = phi1 - phi2
    difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    difference[difference < -OPPOSITE] = math.pi
    return difference


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
