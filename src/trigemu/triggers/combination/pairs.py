"""Cuts of a combination on several objects: on pairs, and on all of them.

Each becomes a `Cut`: a quantity, and the numbers that define it and its limits, so kernels do not depend on
menus. The search for a choice of objects applies a cut as soon as its objects are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import inner
from trigemu.base.toml import TomlTable
from trigemu.observables.hardware_scales import Integers, Scale
from trigemu.observables.momenta import delta_phi, delta_r, momentum_x, momentum_y, pair_mass
from trigemu.observables.windows import Range
from trigemu.triggers.combination import integer
from trigemu.triggers.combination.integer import (
    DETA,
    DPHI,
    DR,
    DZ0,
    MASS,
    MASS_OVER_DR,
    MASS_UPT,
    PAIR_PT,
    TRANSVERSE,
)

#: Columns of an object that kernels read, after its row, in this order.
COLUMNS = ("pt", "eta", "phi", "z0", "charge", "upt", "summed")
(_ROW, _PT, _ETA, _PHI, _Z0, _CHARGE, _UPT, _SUMMED) = range(8)

# Quantities of a pair.
(SAME, OPPOSITE) = range(2)
#: The quantities 3 to 11 are in `integer`; this offset marks those computed in integers.
_INTEGER = 64
# Modes of the limits on a quantity of a pair.
(INSIDE, OUTSIDE, OUTSIDE_EVERY) = range(3)
#: Prefix of the names of ranges that a quantity must not be in.
OUTSIDE_NAMES = "outside_"
# Quantities of all objects, evaluated when the last one is chosen.
OF_ALL = 32
(NOT_ALL_SAME, MASS3, SUM) = range(OF_ALL, OF_ALL + 3)


Charge = Literal["opposite", "same"]


class Pair(TomlTable, frozen=True):
    """Cuts on two legs.

    Attributes
    ----------
    legs : tuple of int
        The numbers of the two legs, from 0.
    mass : Range or None
        The mass of the pair, in GeV.
    mass_upt : Range or None
        The same with the column `upt` in place of pT.
    mass_over_dr : Range or None
        The mass divided by the distance in (η, φ), in GeV.
    transverse_mass : Range or None
        The transverse mass, in GeV.
    pair_pt : Range or None
        The pT of the pair, in GeV.
    dr : Range or None
        The distance in (η, φ).
    deta, dphi : Range or None
        |Δη|, and |Δφ| in radians.
    dz0 : Range or None
        |Δz0|, in the unit of the column.
    outside_dr, outside_deta, outside_dphi : Range or None
        A range that the quantity must not be in.
    charge : {"opposite", "same"} or None
        The signs of the two.
    every : bool
        Whether the `outside_…` ranges apply to every object that could fill the later leg, not only to the
        chosen one: any overlapping object vetoes.
    """

    legs: tuple[int, int]
    mass: Range | None = None
    mass_upt: Range | None = None
    mass_over_dr: Range | None = None
    transverse_mass: Range | None = None
    pair_pt: Range | None = None
    dr: Range | None = None
    deta: Range | None = None
    dphi: Range | None = None
    dz0: Range | None = None
    outside_dr: Range | None = None
    outside_deta: Range | None = None
    outside_dphi: Range | None = None
    charge: Charge | None = None
    every: bool = False

    @property
    def keeps_apart(self) -> bool:
        """Whether there is a range that a quantity must not be in."""
        return any(name.startswith(OUTSIDE_NAMES) for name, _ in _limited(self))


class LegSum(Range, frozen=True, kw_only=True):
    """A range of the sum of a column over several legs.

    Attributes
    ----------
    legs : tuple of int
        The numbers of the legs, from 0.
    column : str
        The column.
    """

    legs: tuple[int, ...]
    column: str


class _Quantity(NamedTuple):
    quantity: int
    columns: tuple[str, ...]


#: Quantities of a pair, in the order in which they are tested: the cheapest first.
_QUANTITIES = {
    "deta": _Quantity(DETA, ("eta",)),
    "dphi": _Quantity(DPHI, ("phi",)),
    "dz0": _Quantity(DZ0, ("z0",)),
    "outside_deta": _Quantity(DETA, ("eta",)),
    "outside_dphi": _Quantity(DPHI, ("phi",)),
    "dr": _Quantity(DR, ("eta", "phi")),
    "outside_dr": _Quantity(DR, ("eta", "phi")),
    "transverse_mass": _Quantity(TRANSVERSE, ("pt", "phi")),
    "pair_pt": _Quantity(PAIR_PT, ("pt", "phi")),
    "mass": _Quantity(MASS, ("pt", "eta", "phi")),
    "mass_upt": _Quantity(MASS_UPT, ("upt", "eta", "phi")),
    "mass_over_dr": _Quantity(MASS_OVER_DR, ("pt", "eta", "phi")),
}
_SIGNS = {"same": SAME, "opposite": OPPOSITE}
_OF_MASS = ("pt", "eta", "phi")


@dataclass(frozen=True)
class Cut:
    """A cut on two legs, the smaller index first, or on all legs up to the second. numbers: read by the
    kernel, beginning with the low and high limits. outside: the quantity must not be between the limits;
    every: also not for other objects that could fill the second leg."""

    legs: tuple[int, int]
    quantity: int
    numbers: tuple[float, ...] = (-math.inf, math.inf)
    outside: bool = False
    every: bool = False

    @property
    def mode(self) -> int:
        """Return INSIDE, OUTSIDE or OUTSIDE_EVERY, as kernels read it."""
        return OUTSIDE_EVERY if self.every else OUTSIDE if self.outside else INSIDE


@dataclass(frozen=True)
class Together:
    """The common requirements on legs: their collections, the cuts, and [integer] of the menu."""

    bases: tuple[str, ...]
    pairs: tuple[Pair, ...]
    charge: Charge | None
    mass3: Range | None
    sum: LegSum | None
    integers: Integers | None

    def scale(self, leg: int) -> Scale | None:
        """Return the hardware scale of a leg's objects; None if its pairs are computed in floating point."""
        return self.integers.scale(self.bases[leg]) if self.integers else None

    def columns(self) -> list[set[str]]:
        """Return the `COLUMNS` that are read for each leg."""
        of_all = {"charge"} if self.charge else set()
        read = [of_all | set(_OF_MASS if self.mass3 else ()) for _ in self.bases]
        for pair in self.pairs:
            needed = {column for name, _ in _limited(pair) for column in _QUANTITIES[name].columns}
            for leg in pair.legs:
                read[leg] |= needed | ({"charge"} if pair.charge else set())
        for leg in self.sum.legs if self.sum else ():
            read[leg].add("summed")
        return read

    def cuts(self) -> Iterator[Cut]:
        """Yield the cuts; raise TrigemuError if a pair cannot be computed in integers but should be."""
        for number, pair in enumerate(self.pairs):
            first, second = sorted(pair.legs)
            if pair.charge:
                yield Cut((first, second), _SIGNS[pair.charge])
            for name, window in _limited(pair):
                try:
                    yield self._cut((first, second), name, window, pair.every)
                except TrigemuError as error:
                    raise TrigemuError(f"pairs[{number}].{name}: {error}") from None
        last = len(self.bases) - 1
        if self.charge == "opposite" and last > 1:
            yield Cut((0, last), NOT_ALL_SAME)
        elif self.charge:
            yield from (Cut((0, leg), _SIGNS[self.charge]) for leg in range(1, last + 1))
        if self.mass3:
            try:
                yield self._mass3(self.mass3)
            except TrigemuError as error:
                raise TrigemuError(f"mass3: {error}") from None
        if self.sum:
            yield Cut((0, max(self.sum.legs)), SUM, (*self.sum.span(), len(self.sum.legs), *self.sum.legs))

    def _cut(self, legs: tuple[int, int], name: str, window: Range, every: bool) -> Cut:
        quantity, outside = _QUANTITIES[name].quantity, name.startswith(OUTSIDE_NAMES)
        if quantity == DZ0 or not self._in_integers(legs):
            return Cut(legs, quantity, window.span(), outside, outside and every)
        numbers = self._in_hardware(legs, window, quantity)
        return Cut(legs, quantity + _INTEGER, tuple(numbers), outside, outside and every)

    def _in_integers(self, legs: tuple[int, ...]) -> bool:
        named = [leg for leg in legs if self.scale(leg)]
        if named and len(named) < len(legs):
            without = next(leg for leg in legs if leg not in named)
            first, second = self.bases[named[0]], self.bases[without]
            raise TrigemuError(f"[integer] has {first!r} but not {second!r}")
        return bool(named)

    def _in_hardware(self, legs: tuple[int, int], window: Range, quantity: int) -> list[float]:
        """Return the limits, and the numbers that the integer kernels read."""
        assert self.integers
        bases = self.bases[legs[0]], self.bases[legs[1]]
        first, second = self.scale(legs[0]), self.scale(legs[1])
        assert first is not None
        assert second is not None
        digits = self.integers.of_pair(*bases)
        numbers = integer.pair_numbers(quantity, bases, (first, second), digits)
        if (window.above, window.below) != (None, None):
            raise TrigemuError("above and below: integer limits are inclusive, give min or max")
        limits = integer.limits(quantity, window.min, window.max, digits, numbers[integer.LIMIT])
        return [*limits, *numbers, *integer.tables(numbers)]

    def _mass3(self, window: Range) -> Cut:
        if not self._in_integers((0, 1, 2)):
            return Cut((0, 2), MASS3, window.span())
        low, high, *numbers = self._in_hardware((0, 1), window, MASS)
        for legs in ((0, 2), (1, 2)):
            numbers += self._in_hardware(legs, window, MASS)[2:]
        return Cut((0, 2), MASS3 + _INTEGER, (low, high, *numbers))


def _limited(pair: Pair) -> Iterator[tuple[str, Range]]:
    yield from ((name, window) for name in _QUANTITIES if (window := getattr(pair, name)))


# ------------------------------------------------------------------------------------------ kernels


@inner
def passes(quantity: int, mode: int, o: FloatArray, i: int, j: int, r: FloatArray, start: int) -> bool:
    """Whether candidates i and j pass a cut. o: rows and `COLUMNS` of candidates, as lines; r[start]: the
    first number of the cut."""
    if quantity <= OPPOSITE:
        product = o[_CHARGE, i] * o[_CHARGE, j]
        return bool(product > 0) if quantity == SAME else bool(product < 0)
    number = quantity & (_INTEGER - 1)
    pt = _UPT if number == MASS_UPT else _PT
    eta = _Z0 if number == DZ0 else _ETA
    of_both = o[pt, i], o[eta, i], o[_PHI, i], o[pt, j], o[eta, j], o[_PHI, j]
    if quantity < _INTEGER:
        inside = bool(r[start] <= _quantity(number, *of_both) <= r[start + 1])
        return inside == (mode == INSIDE)
    value = integer.pair_quantity(number, *of_both, r, start + 2)
    if value < 0 and (number >= MASS or number == TRANSVERSE):
        return False  # from a pT below 0, in the lowest bin of some scales
    return integer.within(value, r, start) == (mode == INSIDE)


@inner
def _quantity(
    quantity: int, pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float
) -> float:
    if quantity == DPHI:
        return abs(delta_phi(phi1, phi2))
    if quantity <= DZ0:
        return abs(eta1 - eta2)
    if quantity == TRANSVERSE:
        return math.sqrt(2.0 * pt1 * pt2 * (1.0 - math.cos(phi1 - phi2)))
    if quantity == PAIR_PT:
        x = momentum_x(pt1, phi1) + momentum_x(pt2, phi2)
        return math.hypot(x, momentum_y(pt1, phi1) + momentum_y(pt2, phi2))
    if quantity == DR:
        return delta_r(eta1, phi1, eta2, phi2)
    mass = pair_mass(pt1, eta1, phi1, pt2, eta2, phi2)
    if quantity != MASS_OVER_DR:
        return mass
    distance = delta_r(eta1, phi1, eta2, phi2)
    return mass / distance if distance > 0.0 else math.sqrt(pt1 * pt2)  # the limit at 0


@inner
def all_pass(quantity: int, o: FloatArray, chosen: IntArray, legs: int, r: FloatArray, start: int) -> bool:
    """Whether the candidates chosen for all legs pass a cut."""
    if quantity == SUM:
        summed = 0.0
        for k in range(start + 3, start + 3 + int(r[start + 2])):
            summed += o[_SUMMED, chosen[int(r[k])]]
        return bool(r[start] <= summed <= r[start + 1])
    if quantity == NOT_ALL_SAME:
        positive = negative = 0
        for leg in range(legs):
            charge = o[_CHARGE, chosen[leg]]
            positive += charge > 0
            negative += charge < 0
        return positive > 0 and negative > 0 and positive + negative == legs
    square, total, pair = 0.0, np.int64(0), start + 2
    for k in range(3):  # pairs (0, 1), (0, 2), (1, 2)
        i, j = chosen[k // 2], chosen[1 + (k + 1) // 2]
        of_both = o[_PT, i], o[_ETA, i], o[_PHI, i], o[_PT, j], o[_ETA, j], o[_PHI, j]
        if quantity == MASS3:
            mass = pair_mass(*of_both)
            square += mass * mass
        else:
            total += integer.pair_quantity(MASS, *of_both, r, pair)
            pair += integer.NUMBERS + int(r[pair + integer.COSHES] + r[pair + integer.COSINES])
    if quantity == MASS3:
        return bool(r[start] <= math.sqrt(square) <= r[start + 1])
    return bool(total >= 0 and integer.within(total, r, start))
