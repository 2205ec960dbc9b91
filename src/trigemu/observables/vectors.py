"""Vectors of objects and of missing momentum, and the observables derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from trigemu.base.arrays import Array, FloatArray, IntArray
from trigemu.base.kernels import kernel
from trigemu.observables.expressions import Arithmetic, Constant, Element, Number, Scalar, ScalarSum
from trigemu.observables.momenta import (
    delta_phi,
    delta_r,
    energy,
    mass,
    momentum_x,
    momentum_y,
    momentum_z,
    pair_mass,
    pseudorapidity,
)
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Need


@dataclass(frozen=True)
class Vector:
    """A vector per event, as a node of an expression; two nodes with equal content are equal."""

    def components(self, work: Workspace) -> tuple[FloatArray, ...]:
        """Return px, py, pz, E of each event of `work` in GeV, float64[n] each; only px, py of a transverse
        vector."""
        return work.once(self, lambda: self._components(work))

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        raise NotImplementedError

    def needs(self) -> Iterator[Need]:
        """Yield the columns of the sample that the vector reads."""
        raise NotImplementedError

    @property
    def transverse(self) -> bool:
        """Whether it has no longitudinal component."""
        return False


@dataclass(frozen=True)
class ObjectVector(Vector):
    """The momentum of one object of a collection."""

    of: ObjectSelection  # The collection
    index: int  # The number of the object, counted from 0 in descending pT

    def element(self, column: str) -> Element:
        """Return a `column` of the object, by its name."""
        return Element(self.of, self.index, self.of.column(column))

    def _components(self, work: Workspace) -> tuple[FloatArray, ...]:
        pt, eta, phi = (self.element(c).evaluate(work) for c in ("pt", "eta", "phi"))
        return (*_transverse(pt, phi), *_longitudinal(pt, eta))

    def needs(self) -> Iterator[Need]:
        for column in ("pt", "eta", "phi"):
            yield from self.element(column).needs()


@dataclass(frozen=True)
class VectorSum(Vector):
    """The sum of vectors."""

    parts: tuple[Vector, ...]  # The vectors

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
    """The negative vector sum of pT over all objects of some collections: MHT."""

    of: tuple[ObjectSelection, ...]  # The collections

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
        return _transverse(met, phi)

    def needs(self) -> Iterator[Need]:
        yield from (("", "met"), ("", "met_phi"))

    @property
    def transverse(self) -> bool:
        return True


@dataclass(frozen=True)
class OfVectors(Number):
    """A number that belongs to one vector or to two."""

    function: str  # "pt", "eta", "phi" or "m" of one vector; "dr", "deta", "dphi" or "m" of two
    vectors: tuple[Vector, ...]  # The vectors

    def _evaluate(self, work: Workspace) -> FloatArray:
        first = self.vectors[0]
        if self.function == "m" and len(self.vectors) == 2:
            return self._pair_mass(work)
        if len(self.vectors) == 1 and isinstance(first, ObjectVector):
            if self.function == "m":  # objects are massless, where there is one
                return 0.0 * first.element("pt").evaluate(work)
            return first.element(self.function).evaluate(work)
        if len(self.vectors) == 1:
            return _of_components(self.function, first.components(work))
        (eta1, phi1), (eta2, phi2) = (self._direction(v, work) for v in self.vectors)
        if self.function == "dphi":
            return _delta_phis(phi1, phi2)
        if self.function == "deta":
            return eta1 - eta2
        return _delta_rs(eta1, phi1, eta2, phi2)

    def _pair_mass(self, work: Workspace) -> FloatArray:
        """Return the mass of two objects from their own columns, which avoids cancellation."""
        objects = cast("tuple[ObjectVector, ...]", self.vectors)
        return _pair_masses(*(o.element(c).evaluate(work) for o in objects for c in ("pt", "eta", "phi")))

    def _direction(self, vector: Vector, work: Workspace) -> tuple[FloatArray, FloatArray]:
        phi = OfVectors("phi", (vector,)).evaluate(work)
        eta = phi if vector.transverse else OfVectors("eta", (vector,)).evaluate(work)
        return eta, phi

    def needs(self) -> Iterator[Need]:
        for vector in self.vectors:
            yield from vector.needs()


def _of_components(function: str, components: tuple[FloatArray, ...]) -> FloatArray:
    if function == "pt":
        return _pts(*components[:2])
    if function == "phi":
        return _phis(*components[:2])
    return _etas(*components[:3]) if function == "eta" else _masses(*components)


@kernel
def _subtract_momentum(pt: Array, phi: Array, offsets: IntArray, px: FloatArray, py: FloatArray) -> None:
    for event in range(len(offsets) - 1):
        for i in range(offsets[event], offsets[event + 1]):
            px[event] -= momentum_x(np.float64(pt[i]), np.float64(phi[i]))
            py[event] -= momentum_y(np.float64(pt[i]), np.float64(phi[i]))


@kernel
def _transverse(pt: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    px, py = np.empty_like(pt), np.empty_like(pt)
    for i in range(len(pt)):
        px[i], py[i] = momentum_x(pt[i], phi[i]), momentum_y(pt[i], phi[i])
    return px, py


@kernel
def _longitudinal(pt: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    pz, e = np.empty_like(pt), np.empty_like(pt)
    for i in range(len(pt)):
        pz[i], e[i] = momentum_z(pt[i], eta[i]), energy(pt[i], eta[i])
    return pz, e


@kernel
def _pts(px: FloatArray, py: FloatArray) -> FloatArray:
    values = np.empty_like(px)
    for i in range(len(px)):
        values[i] = math.hypot(px[i], py[i])
    return values


@kernel
def _phis(px: FloatArray, py: FloatArray) -> FloatArray:
    values = np.empty_like(px)
    for i in range(len(px)):
        values[i] = math.atan2(py[i], px[i])
    return values


@kernel
def _etas(px: FloatArray, py: FloatArray, pz: FloatArray) -> FloatArray:
    values = np.empty_like(px)
    for i in range(len(px)):
        values[i] = pseudorapidity(px[i], py[i], pz[i])
    return values


@kernel
def _masses(px: FloatArray, py: FloatArray, pz: FloatArray, e: FloatArray) -> FloatArray:
    values = np.empty_like(px)
    for i in range(len(px)):
        values[i] = mass(px[i], py[i], pz[i], e[i])
    return values


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
