"""Cuts of a combination on several objects: on pairs, and on all of them.

Each is a quantity, a mode, and numbers that define its limits, so kernels do not depend on menus. The search
for a choice of objects applies a cut as soon as its objects are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import inner, kernel
from trigemu.base.plugins import providers
from trigemu.base.toml import TomlTable
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.selections import Range
from trigemu.observables.workspace import delta_phi

#: Columns of an object that kernels read, after its row, in this order.
COLUMNS = ("pt", "eta", "phi", "z0", "charge", "upt", "summed")
(_ROW, _PT, _ETA, _PHI, _Z0, _CHARGE, _UPT, _SUMMED) = range(8)

# Quantities of a pair. PLUGIN: one that a plugin computes.
(SAME, OPPOSITE, DETA, DPHI, DZ0, DR, TRANSVERSE, PAIR_PT, MASS, MASS_UPT, MASS_OVER_DR, PLUGIN) = range(12)
# Modes of the limits on a quantity of a pair.
(INSIDE, OUTSIDE, OUTSIDE_EVERY) = range(3)
# Quantities of all objects, evaluated when the last one is chosen.
OF_ALL = 32
(NOT_ALL_SAME, MASS3, SUM, PLUGIN3) = range(OF_ALL, OF_ALL + 4)


Charge = Literal["opposite", "same"]


class Pair(TomlTable, frozen=True):
    """Cuts on two legs."""

    legs: tuple[int, int]  #: The numbers of the two legs, from 0.
    mass: Range | None = None  #: The mass of the pair, in GeV.
    mass_upt: Range | None = None  #: The same with the column `upt` in place of pT.
    mass_over_dr: Range | None = None  #: The mass divided by the distance in (η, φ), in GeV.
    transverse_mass: Range | None = None  #: The transverse mass, in GeV.
    pair_pt: Range | None = None  #: The pT of the pair, in GeV.
    dr: Range | None = None  #: The distance in (η, φ).
    deta: Range | None = None  #: |Δη|.
    dphi: Range | None = None  #: |Δφ| in radians.
    dz0: Range | None = None  #: |Δz0|, in the unit of the column.
    outside_dr: Range | None = None  #: A range that the distance must not be in.
    outside_deta: Range | None = None  #: A range that |Δη| must not be in.
    outside_dphi: Range | None = None  #: A range that |Δφ| must not be in.
    charge: Charge | None = None  #: The signs of the two.
    #: Whether the `outside_…` ranges apply to every object that could fill the later leg, not only to the
    #: chosen one: any overlapping object vetoes.
    every: bool = False


class LegSum(Range, frozen=True, kw_only=True):
    """A range of the sum of a column over several legs."""

    legs: tuple[int, ...]  #: The numbers of the legs, from 0.
    column: str  #: The column.


#: Quantities of a pair, and one of three objects, the cheapest first, and the columns that they read.
QUANTITIES: dict[str, tuple[int, tuple[str, ...]]] = {
    "deta": (DETA, ("eta",)),
    "dphi": (DPHI, ("phi",)),
    "dz0": (DZ0, ("z0",)),
    "dr": (DR, ("eta", "phi")),
    "transverse_mass": (TRANSVERSE, ("pt", "phi")),
    "pair_pt": (PAIR_PT, ("pt", "phi")),
    "mass": (MASS, ("pt", "eta", "phi")),
    "mass_upt": (MASS_UPT, ("upt", "eta", "phi")),
    "mass_over_dr": (MASS_OVER_DR, ("pt", "eta", "phi")),
    "mass3": (MASS3, ("pt", "eta", "phi")),
}
SIGNS = {"same": SAME, "opposite": OPPOSITE}


def ranges_of(pair: Pair) -> Iterator[tuple[str, str, Range]]:
    """Yield the key of each range, its quantity, and the range."""
    for name in QUANTITIES:
        for key in (name, f"outside_{name}"):
            if window := getattr(pair, key, None):
                yield key, name, window


#: The cuts that a plugin computes, for menus with a table [integer]: a function of the quantity, such as
#: "mass", the collections of the objects, the scales and the window. It returns the numbers of the cut, or
#: raises TrigemuError if the quantity cannot be computed. The first number is the address of a C function of
#: six integers: the address of the candidates, float64[1 + `COLUMNS`, n]; n; the positions of two or three
#: objects in them; and the address of the other numbers. It returns 1 if the quantity is in the window, 0 if
#: it is not, and −1 if it has no value, so that the cut fails.
Arithmetic = Callable[[str, tuple[str, ...], Integers, Range], tuple[float, ...]]


#: A quantity that kernels compute, and numbers: its limits first.
Cut = tuple[int, tuple[float, ...]]


def cut_on(name: str, bases: Sequence[str], integers: Integers | None, window: Range, where: str) -> Cut:
    """Return the quantity that kernels compute for a cut on objects of some collections, and its numbers;
    raise TrigemuError, with the place of the cut, if integers should be used but cannot be."""
    without = [base for base in bases if not (integers and integers.scale(base))]
    if integers is None or name == "dz0" or len(without) == len(bases):
        return QUANTITIES[name][0], window.span()
    if without:
        scaled = next(base for base in bases if base not in without)
        raise TrigemuError(f"{where}: [integer] has {scaled!r} but not {without[0]!r}")
    try:
        return PLUGIN if len(bases) == 2 else PLUGIN3, _arithmetic()(name, tuple(bases), integers, window)
    except TrigemuError as error:
        raise TrigemuError(f"{where}: {error}") from None


@cache
def _arithmetic() -> Arithmetic:
    provider = providers("arithmetic", None).get("integer")
    if provider is None:
        raise TrigemuError("no installed plugin computes cuts of [integer]: trigemu_cms does")
    arithmetic: Arithmetic = provider.found().part("arithmetic", "integer")
    return arithmetic


# ------------------------------------------------------------------------------------------ kernels


@kernel
def delta_r(eta1: float, phi1: float, eta2: float, phi2: float) -> float:
    return math.hypot(eta1 - eta2, delta_phi(phi1, phi2))


@kernel
def pair_mass(pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float) -> float:
    """Return the invariant mass of two massless objects: m² = 2 pT1 pT2 (cosh Δη − cos Δφ)."""
    square = 2.0 * pt1 * pt2 * (math.cosh(eta1 - eta2) - math.cos(phi1 - phi2))
    return 0.0 if square < 0.0 else math.sqrt(square)


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing: Any, function: Any, objects: Any, n: Any, i: Any, j: Any, k: Any, numbers: Any) -> Any:
    """Call the C function of an `Arithmetic`, at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, *values = arguments
        kind = ir.FunctionType(address.type, [address.type] * 6)
        return builder.call(builder.inttoptr(address, kind.as_pointer()), values)

    return types.intp(*[types.intp] * 7), generate


@inner
def _computed(o: FloatArray, i: int, j: int, k: int, r: FloatArray, start: int) -> int:
    """Call the function of a plugin for the numbers that begin at r[start]."""
    numbers = r.ctypes.data + 8 * (start + 1)
    return _call(int(r[start]), o.ctypes.data, o.shape[1], i, j, k, numbers)  # type: ignore[no-any-return]


@inner
def passes(quantity: int, mode: int, o: FloatArray, i: int, j: int, r: FloatArray, start: int) -> bool:
    """Whether candidates i and j pass a cut. o: rows and `COLUMNS` of candidates, as lines; r[start]: the
    first number of the cut."""
    if quantity <= OPPOSITE:
        product = o[_CHARGE, i] * o[_CHARGE, j]
        return bool(product > 0) if quantity == SAME else bool(product < 0)
    if quantity == PLUGIN:
        return _computed(o, i, j, j, r, start) == (mode == INSIDE)
    pt, eta = _UPT if quantity == MASS_UPT else _PT, _Z0 if quantity == DZ0 else _ETA
    pt1, eta1, phi1, pt2, eta2, phi2 = o[pt, i], o[eta, i], o[_PHI, i], o[pt, j], o[eta, j], o[_PHI, j]
    if quantity == DPHI:
        value = abs(delta_phi(phi1, phi2))
    elif quantity <= DZ0:
        value = abs(eta1 - eta2)
    elif quantity == DR:
        value = delta_r(eta1, phi1, eta2, phi2)
    elif quantity == TRANSVERSE:
        value = math.sqrt(2.0 * pt1 * pt2 * (1.0 - math.cos(phi1 - phi2)))
    elif quantity == PAIR_PT:
        x = pt1 * math.cos(phi1) + pt2 * math.cos(phi2)
        value = math.hypot(x, pt1 * math.sin(phi1) + pt2 * math.sin(phi2))
    else:
        value = pair_mass(pt1, eta1, phi1, pt2, eta2, phi2)
        if quantity == MASS_OVER_DR:
            distance = delta_r(eta1, phi1, eta2, phi2)
            value = value / distance if distance > 0.0 else math.sqrt(pt1 * pt2)  # the limit at 0
    return bool(r[start] <= value <= r[start + 1]) == (mode == INSIDE)


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
    if quantity == PLUGIN3:
        return _computed(o, chosen[0], chosen[1], chosen[2], r, start) == 1
    square = 0.0
    for k in range(3):  # pairs (0, 1), (0, 2), (1, 2)
        i, j = chosen[k // 2], chosen[1 + (k + 1) // 2]
        mass = pair_mass(o[_PT, i], o[_ETA, i], o[_PHI, i], o[_PT, j], o[_ETA, j], o[_PHI, j])
        square += mass * mass
    return bool(r[start] <= math.sqrt(square) <= r[start + 1])
