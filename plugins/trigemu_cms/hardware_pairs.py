"""Cuts on pairs of objects, computed in the integers of the trigger hardware.

Positions are counted in bins of the finer of the two scales; a coarser one is converted to the middle of its
bin. Derived quantities are rounded to d decimal digits and kept as integers, x(d) = ⌊10^d · x + ½⌋:

    Δη(delta), Δφ(delta), ΔR² = Δη(delta)² + Δφ(delta)²
    M²/2 = P1(pt) · P2(pt) · (cosh Δη(trigonometry) − cos Δφ(trigonometry)), P in the middle of its bin
    (M/ΔR)²/2 = ⌊M²/2 · I / 10^d⌋, I = (1/ΔR²)(d), d = inverse_dr
    pT² of both = (P1² + P2²) · 10^2q + 2 · P1 · P2 · (cos φ1(q) · cos φ2(q) + sin φ1(q) · sin φ2(q)),
                  P with two_body_pt digits, q = two_body_trigonometry

Limits are rounded outwards to their own number of digits, in double precision, as menu compilers do. Two
objects at the same (η, φ) have a mass of 0, which passes an upper limit. Their M/ΔR passes any limit, as in
the emulator of the global trigger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import carray, types

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import address_of, c_function, inner, pointer
from trigemu.observables.hardware_scales import Digits, HardwareScale, Integers, LinearScale
from trigemu.observables.selections import Range
from trigemu.triggers.pairs import COLUMNS

#: Quantities, of pairs but for the last.
QUANTITIES = (
    *("deta", "dphi", "dr", "transverse_mass", "pair_pt", "mass", "mass_upt", "mass_over_dr", "mass3"),
)
(DETA, DPHI, DR, TRANSVERSE, PAIR_PT, MASS, MASS_UPT, MASS_OVER_DR, MASS3) = range(len(QUANTITIES))

# The numbers that the kernels read for a pair. Converted positions are factor · index + offset.
(ETA_STEP, ETA_1, ETA_OFFSET_1, ETA_2, ETA_OFFSET_2) = range(5)
(PHI_STEP, PHI_BINS, PHI_1, PHI_OFFSET_1, PHI_2, PHI_OFFSET_2) = range(5, 11)
(PT_FIRST_1, PT_STEP_1, PT_BINS_1, PT_FIRST_2, PT_STEP_2, PT_BINS_2) = range(11, 17)
#: 10^digits of Δη and Δφ, or of 1/ΔR², of pT, of trigonometric functions, and of the factor on limits.
(DELTA, PT, TRIGONOMETRY, LIMIT) = range(17, 21)
#: Lengths of the tables of cosh and cos that follow, for masses.
(COSHES, COSINES) = range(21, 23)
NUMBERS = 23

#: Quantities and limits stay below this, well within int64.
_LARGEST = 2**62
#: A quantity that passes all limits.
_ANY = -(2**62)
#: Upper limit on Δη, beyond that of any two objects, where cosh Δη is 10⁵.
_MAX_DETA = 12.2
_COSH = 1e5


def cut_numbers(
    quantity: str, names: tuple[str, ...], integers: Integers, window: Range
) -> tuple[float, ...]:
    """Return the numbers of a cut as `Arithmetic` says: function, quantity, limits, each pair."""
    if (window.above, window.below) != (None, None):
        raise TrigemuError("above and below: integer limits are inclusive, give min or max")
    number = QUANTITIES.index(quantity)
    of_pair = MASS if number == MASS3 else number
    pairs = [(names[i], names[j]) for i in range(len(names)) for j in range(i + 1, len(names))]
    numbers: list[float] = []
    for pair in pairs:
        scales = [scale for scale in map(integers.scale, pair) if scale]
        numbers_of_pair = pair_numbers(of_pair, pair, scales, integers.of_pair(*pair))
        numbers += [*numbers_of_pair, *tables(numbers_of_pair)]
    digits, unit = integers.of_pair(*pairs[0]), numbers[LIMIT]
    return (_address(), number, *limits(of_pair, window.min, window.max, digits, unit), *numbers)


@cache
def _address() -> float:
    return float(address_of(_inside, types.intp(*[types.intp] * 6)))


def pair_numbers(
    quantity: int, names: tuple[str, str], scales: Sequence[HardwareScale], hardware_digits: Digits
) -> list[float]:
    """Return the numbers of a pair without tables; TrigemuError for missing keys of [integer]."""
    numbers = [0.0] * NUMBERS
    if quantity in (DETA, DR, MASS, MASS_UPT, MASS_OVER_DR):
        numbers[ETA_STEP : ETA_OFFSET_2 + 1] = _eta(names, scales)
    if quantity != DETA:
        numbers[PHI_STEP : PHI_OFFSET_2 + 1] = _phi(names, scales)
    delta = pt = trigonometry = limit = 0
    if quantity in (DETA, DPHI, DR):
        (delta,) = _needed(hardware_digits, names, "delta")
        limit = delta if quantity == DR else 0
    elif quantity == PAIR_PT:
        pt, trigonometry = _needed(hardware_digits, names, "two_body_pt", "two_body_trigonometry")
        limit = pt + 2 * trigonometry
    else:
        mass, pt, trigonometry = _needed(hardware_digits, names, "mass", "pt", "trigonometry")
        limit = 2 * pt + trigonometry - mass
        if quantity == MASS_OVER_DR:
            (delta,) = _needed(hardware_digits, names, "inverse_dr")
    numbers[DELTA : LIMIT + 1] = [10.0**digits for digits in (delta, pt, trigonometry, limit)]
    if quantity >= TRANSVERSE:
        of_pt = _columns(names, scales, "upt" if quantity == MASS_UPT else "pt")
        numbers[PT_FIRST_1 : PT_BINS_2 + 1] = [n for s in of_pt for n in (s.first, s.step, float(s.bins))]
        _check_size(quantity, names, of_pt, pt, trigonometry)
    if quantity >= TRANSVERSE and quantity != PAIR_PT:
        numbers[COSHES] = 1.0 if quantity == TRANSVERSE else 1.0 + _MAX_DETA // numbers[ETA_STEP]
        numbers[COSINES] = 1.0 + numbers[PHI_BINS] // 2
    if limit < 0:
        raise TrigemuError(
            f"[integer.digits] {'-'.join(names)}: mass has more digits than 2 pt + trigonometry"
        )
    return numbers


def tables(numbers: Sequence[float]) -> list[float]:
    """Return cosh by bins of Δη and cos by bins of Δφ, as integers, for the result of `pair_numbers`."""
    power = numbers[TRIGONOMETRY]
    coshes = [math.cosh(numbers[ETA_STEP] * bins) for bins in range(int(numbers[COSHES]))]
    cosines = [math.cos(numbers[PHI_STEP] * bins) for bins in range(int(numbers[COSINES]))]
    return [float(math.floor(value * power + 0.5)) for value in (*coshes, *cosines)]


def limits(
    quantity: int, low: float | None, high: float | None, hardware_digits: Digits, unit: float
) -> tuple[float, float]:
    """Return the limits on a quantity, in `unit`, with digits that `pair_numbers` has checked."""
    digits = (
        hardware_digits.delta
        if quantity <= DR
        else hardware_digits.two_body_pt
        if quantity == PAIR_PT
        else hardware_digits.mass
    )
    assert digits is not None
    most = float(_LARGEST // int(unit))

    def scaled(limit: float) -> float:
        if quantity in (DETA, DPHI):
            return limit
        return limit * limit if quantity in (DR, PAIR_PT) else limit * limit * 0.5

    # Do not simplify: division and multiplication in this order determine the last digit.
    power = 10.0**digits
    lowest = -math.inf if low is None else min(most, int(math.floor(scaled(low) * power) / power * power))
    highest = math.inf if high is None else min(most, int(math.ceil(scaled(high) * power) / power * power))
    return float(lowest), float(highest)


def _needed(digits: Digits, pair: tuple[str, str], *names: str) -> tuple[int, ...]:
    """Return the named digits of a pair; raise TrigemuError that lists the missing ones."""
    missing = [name for name in names if getattr(digits, name) is None]
    if missing:
        keys = ", ".join(f"{name} = …" for name in missing)
        raise TrigemuError(f"[integer.digits] lacks {'-'.join(pair)} = {{ {keys} }}")
    return tuple(getattr(digits, name) for name in names)


def _eta(names: tuple[str, str], scales: Sequence[HardwareScale]) -> list[float]:
    etas = _columns(names, scales, "eta")
    step = min(eta.step for eta in etas)
    numbers = [step]
    for eta in etas:
        ratio = round(eta.step / step)
        numbers += [float(ratio), 0.0 if eta.centred else float(ratio // 2)]
    return numbers


def _phi(names: tuple[str, str], scales: Sequence[HardwareScale]) -> list[float]:
    counts = [phi.bins for phi in _columns(names, scales, "phi")]
    bins = max(counts)
    ratios = [bins // count for count in counts]
    if any(bins % count for count in counts):
        raise TrigemuError(
            f"[integer.{names[0]}], [integer.{names[1]}]: {bins} bins of phi are not a multiple of "
            f"{min(counts)}"
        )
    return [2 * math.pi / bins, float(bins), *(n for r in ratios for n in (float(r), float(r // 2)))]


def _columns(names: tuple[str, str], scales: Sequence[HardwareScale], column: str) -> list[Any]:
    """Return the scales of a column of both objects."""
    for name, scale in zip(names, scales, strict=True):
        if getattr(scale, column) is None:
            raise TrigemuError(f"[integer.{name}] has no {column}")
    return [getattr(scale, column) for scale in scales]


def _check_size(
    quantity: int, names: tuple[str, str], of_pt: list[LinearScale], pt: int, trigonometry: int
) -> None:
    first, second = ((abs(s.first) + (s.bins + 1) * s.step) * 10.0**pt for s in of_pt)
    if quantity == PAIR_PT:
        largest = (first + second) ** 2 * 10.0 ** (2 * trigonometry)
    else:
        largest = first * second * _COSH * 10.0**trigonometry
    if largest > _LARGEST:
        raise TrigemuError(
            f"[integer.digits] {'-'.join(names)}: with this many digits, numbers exceed 64 bits"
        )


@inner
def _fixed(value: float, power: float) -> np.int64:
    return np.int64(math.floor(value * power + 0.5))


@inner
def _middle(index: float, r: FloatArray, scale: int) -> float:
    """Return the middle of a bin of pT, also of the one beyond the last bin."""
    bins = r[scale + 2]
    middle: float = r[scale] + (index + 0.5 if index < bins else bins + 1.0) * r[scale + 1]
    return middle


(_PT, _ETA, _PHI, _UPT) = (1 + COLUMNS.index(name) for name in ("pt", "eta", "phi", "upt"))


@c_function
def _inside(objects: int, n: int, i: int, j: int, k: int, numbers: int) -> int:
    """Whether objects pass a cut; −1 if one has a pT below 0, of the lowest bin of some scales."""
    o = carray(pointer(objects), (1 + len(COLUMNS), n), np.float64)
    r = carray(pointer(numbers), (1 << 20,), np.float64)
    quantity = int(r[0])
    if quantity == MASS3:
        value, pair = np.int64(0), 3
        for first, second in ((i, j), (i, k), (j, k)):
            value += _pair_quantity(MASS, o, first, second, r, pair)
            pair += NUMBERS + int(r[pair + COSHES] + r[pair + COSINES])
    else:
        value = _pair_quantity(quantity, o, i, j, r, 3)
    if value == _ANY:
        return 1
    if value < 0 and (quantity >= MASS or quantity == TRANSVERSE):
        return -1
    low, high, unit = r[1], r[2], np.int64(r[3 + LIMIT])
    if high < math.inf and value > np.int64(high) * unit:
        return 0
    return int(low == -math.inf or value >= np.int64(low) * unit)


@inner
def _pair_quantity(quantity: int, o: FloatArray, i: int, j: int, r: FloatArray, start: int) -> np.int64:
    """Compute a quantity from the integers of two objects; the numbers of the pair begin at r[start]."""
    pt = _UPT if quantity == MASS_UPT else _PT
    pt1, eta1, phi1, pt2, eta2, phi2 = o[pt, i], o[_ETA, i], o[_PHI, i], o[pt, j], o[_ETA, j], o[_PHI, j]
    eta1 = r[start + ETA_1] * eta1 + r[start + ETA_OFFSET_1]
    eta2 = r[start + ETA_2] * eta2 + r[start + ETA_OFFSET_2]
    phi1 = r[start + PHI_1] * phi1 + r[start + PHI_OFFSET_1]
    phi2 = r[start + PHI_2] * phi2 + r[start + PHI_OFFSET_2]
    d_eta, d_phi, turn = abs(eta1 - eta2), abs(phi1 - phi2), r[start + PHI_BINS]
    if d_phi >= turn // 2:
        d_phi = turn - d_phi
    eta_step, phi_step = r[start + ETA_STEP], r[start + PHI_STEP]
    if quantity <= DR:
        dd_eta = 0 if quantity == DPHI else _fixed(eta_step * d_eta, r[start + DELTA])
        dd_phi = 0 if quantity == DETA else _fixed(phi_step * d_phi, r[start + DELTA])
        return np.int64(dd_eta * dd_eta + dd_phi * dd_phi if quantity == DR else dd_eta + dd_phi)
    p1 = _fixed(_middle(pt1, r, start + PT_FIRST_1), r[start + PT])
    p2 = _fixed(_middle(pt2, r, start + PT_FIRST_2), r[start + PT])
    if quantity == PAIR_PT:
        power = r[start + TRIGONOMETRY]
        cos = _fixed(math.cos(phi_step * phi1), power) * _fixed(math.cos(phi_step * phi2), power)
        sin = _fixed(math.sin(phi_step * phi1), power) * _fixed(math.sin(phi_step * phi2), power)
        return (p1 * p1 + p2 * p2) * np.int64(power) * np.int64(power) + 2 * p1 * p2 * (cos + sin)
    last_cosh, last_cos = r[start + COSHES] - 1.0, r[start + COSINES] - 1.0
    cosh = r[start + NUMBERS + np.int64(0.0 if quantity == TRANSVERSE else min(d_eta, last_cosh))]
    cos_ = r[start + NUMBERS + np.int64(last_cosh + 1.0 + max(0.0, min(d_phi, last_cos)))]
    half_mass2 = p1 * p2 * np.int64(cosh - cos_)
    if quantity != MASS_OVER_DR:
        return half_mass2
    if d_eta == 0 and d_phi == 0:
        return np.int64(_ANY)
    dr2 = (eta_step * d_eta) ** 2 + (phi_step * d_phi) ** 2
    inverse, unit = np.int64(math.floor(r[start + DELTA] / dr2 + 0.5)), np.int64(r[start + DELTA])
    return half_mass2 // unit * inverse + half_mass2 % unit * inverse // unit  # the product may overflow
