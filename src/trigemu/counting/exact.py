"""Exact sums of floats, which do not depend on order, chunks or workers.

A sum is a fixed-point number of 256 bits, the least significant being 2⁻¹⁶⁰, in eight int64 limbs. Each limb
holds 32 bits; its other bits allow 2³⁰ additions between two calls of `carry`. Each value, not the sum, is
truncated below 2⁻¹⁶⁰, so truncation does not depend on the order either. The largest value is 2⁸¹ (a squared
weight). Larger weights are refused (`exponents`) and never added: compiled loops do not check indices.
"""

from __future__ import annotations

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import inlined, kernel

LIMBS = 8
LOWEST_BIT = -160
#: A sum times a fraction needs 14 limbs, from 2⁻²⁸⁸.
FRACTION_BIT = -128
WIDE = 14
#: Adding more values than this between two carries could overflow a limb.
ADDITIONS = 2**30

#: Values with at least this exponent are not truncated, nor are their squares.
WHOLE_EXPONENT = (1023 + 1075 + LOWEST_BIT + 1) // 2
#: Weights must be below this, so that the limbs can hold their squares.
WEIGHT_LIMIT = 2.0**42

_WEIGHT_EXPONENT = 1023 + 42
#: The highest positions of the lowest bit of a mantissa that fits into the limbs.
_LAST_POSITION = 32 * (LIMBS - 2) - 1
_LAST_WIDE_POSITION = 32 * (WIDE - LIMBS - 2) - 1

_MANTISSA = np.uint64(2**52 - 1)
_IMPLICIT = np.uint64(2**52)
_LOW = np.uint64(2**32 - 1)
_SIZE = np.uint64(2**63 - 1)
_ALL_BUT_SIGN = 2**63 - 1
_32 = np.uint64(32)
_52 = np.uint64(52)


@kernel
def add(limbs: IntArray, value: float) -> None:
    """Add one float to int64[LIMBS]; ignore it if it is 2⁸⁴ or more."""
    bits = np.float64(value).view(np.uint64)
    exponent = np.int64((bits >> _52) & np.uint64(0x7FF))
    if exponent == 0:  # zero, or below the least significant bit
        return
    mantissa = (bits & _MANTISSA) | _IMPLICIT
    position = exponent - 1075 - LOWEST_BIT
    if position < 0:
        if position <= -53:
            return
        mantissa >>= np.uint64(-position)
        position = np.int64(0)
    if position > _LAST_POSITION:  # `exponents` refuses it: raising here would slow down every addition
        return
    limb = position >> 5
    shift = np.uint64(position & 31)
    low = (mantissa & _LOW) << shift
    high = (mantissa >> _32) << shift
    sign = np.int64(1) - np.int64(2) * np.int64(bits >> np.uint64(63))
    limbs[limb] += sign * np.int64(low & _LOW)
    limbs[limb + 1] += sign * np.int64((low >> _32) + (high & _LOW))
    limbs[limb + 2] += sign * np.int64(high >> _32)


def exponents(values: FloatArray) -> tuple[int, int]:
    """Return the lowest and the highest exponent of weights, as encoded in float64; zero has the exponent 0.

    Raises TrigemuError for a weight that is too large or NaN.
    """
    if not len(values):
        return 0x7FF, 0
    smallest, largest = _sizes(values.view(np.int64))
    lowest, highest = smallest >> 52, largest >> 52
    if highest >= _WEIGHT_EXPONENT:
        weight = values[(values.view(np.int64) & _ALL_BUT_SIGN).argmax()]
        raise TrigemuError(
            f"a weight of {weight:g} Hz cannot be summed: expected less than {WEIGHT_LIMIT:g} Hz"
        )
    return lowest, highest


@kernel
def _sizes(bits: IntArray) -> tuple[int, int]:
    """Return the bits of the smallest and the largest |value|, which are in the order of the values."""
    smallest, largest = _ALL_BUT_SIGN, 0
    for i in range(len(bits)):
        size = bits[i] & _ALL_BUT_SIGN
        smallest, largest = min(smallest, size), max(largest, size)
    return smallest, largest


@kernel
def add_to_cells(cells: IntArray, lowest: int, entry: IntArray, values: FloatArray) -> None:
    """Add values and their squares to the cells of their entries, int64[m, exponents, 8].

    The sums of one exponent are integers without shifts. A cell holds the sums of both halves of the
    mantissas, the same for the squares with each of their two possible exponents, the number of values and
    the largest |value|.
    """
    flat = cells.ravel()
    exponents = np.uint64(cells.shape[1])
    for row in range(len(entry)):
        value = values[row]
        bits = np.float64(value).view(np.uint64)
        square = np.float64(value * value).view(np.uint64)
        exponent = (bits >> _52) & np.uint64(0x7FF)
        bit = (np.uint64(entry[row]) * exponents + exponent - np.uint64(lowest)) * np.uint64(8)
        of_square = bit + np.uint64(2) * ((square >> _52) + np.uint64(1023) - np.uint64(2) * exponent)
        mantissa = np.int64((bits & _MANTISSA) | _IMPLICIT)
        if value < 0:
            mantissa = -mantissa
        flat[bit] += mantissa & 0xFFFFFFFF
        flat[bit + np.uint64(1)] += mantissa >> 32
        mantissa = np.int64((square & _MANTISSA) | _IMPLICIT)
        flat[of_square + np.uint64(2)] += mantissa & 0xFFFFFFFF
        flat[of_square + np.uint64(3)] += mantissa >> 32
        flat[bit + np.uint64(6)] += 1
        size = np.int64(bits & _SIZE)
        if size > flat[bit + np.uint64(7)]:  # floats of one sign are in the order of their bits
            flat[bit + np.uint64(7)] = size


@kernel
def from_cells(
    cells: IntArray, lowest: int, n: IntArray, largest: FloatArray, sums: IntArray, squares: IntArray
) -> None:
    """Add the contents of the cells to the numbers, largest |value|s and sums of their entries."""
    for entry in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            cell = cells[entry, i]
            if cell[6] == 0:
                continue
            n[entry] += cell[6]
            largest[entry] = max(largest[entry], np.int64(cell[7]).view(np.float64))
            position = lowest + i - 1075 - LOWEST_BIT
            of_square = 2 * (lowest + i) - 1023 - 1075 - LOWEST_BIT
            for part in range(6):  # one inlined call, to compile it once
                offset = position if part < 2 else of_square + (part >> 2)
                _add_shifted(
                    sums[entry] if part < 2 else squares[entry], cell[part], offset + 32 * (part & 1)
                )


@inlined
def _add_shifted(limbs: IntArray, value: np.int64, position: int) -> None:
    """Add value × 2^position in units of the lowest bit."""
    limb, shift = position >> 5, position & 31
    low, high = (value & 0xFFFFFFFF) << shift, (value >> 32) << shift
    limbs[limb] += low & 0xFFFFFFFF
    if limb + 2 < LIMBS:
        limbs[limb + 1] += (low >> 32) + (high & 0xFFFFFFFF)
        limbs[limb + 2] += high >> 32
    else:  # the last limb holds the overflow
        limbs[limb + 1] += (low >> 32) + high


@kernel
def carry(limbs: IntArray) -> None:
    """Convert int64[m, …] to the unique form of each value: all limbs but the last in 0 … 2³² − 1."""
    for row in range(limbs.shape[0]):
        for i in range(limbs.shape[1] - 1):
            limbs[row, i + 1] += limbs[row, i] >> 32
            limbs[row, i] &= 0xFFFFFFFF


@kernel
def add_scaled(wide: IntArray, limbs: IntArray, fraction: float) -> None:
    """Add fraction × the sum in int64[LIMBS], carried, to int64[WIDE]; −1 ≤ fraction ≤ 1.

    A fraction is truncated below 2⁻¹²⁸. Otherwise the product is exact, so Σ w f does not depend on how
    events with the same f are divided into sums.
    """
    bits = np.float64(fraction).view(np.uint64)
    position = np.int64((bits >> _52) & np.uint64(0x7FF)) - 1075 - FRACTION_BIT
    if position <= -53:
        return
    mantissa = (bits & _MANTISSA) | _IMPLICIT
    if position < 0:
        mantissa >>= np.uint64(-position)
        position = np.int64(0)
    if position > _LAST_WIDE_POSITION:
        raise OverflowError("a fraction of an exact sum is above 1")
    first, shift = position >> 5, np.uint64(position & 31)
    low = (mantissa & _LOW) << shift
    high = (mantissa >> _32) << shift
    parts = (low & _LOW, (low >> _32) + (high & _LOW), high >> _32)
    sign = np.int64(1) - np.int64(2) * np.int64(bits >> np.uint64(63))
    for k in range(3):
        part = parts[k]
        if part == np.uint64(0):
            continue
        for i in range(LIMBS - 1):
            if limbs[i] == 0:
                continue
            product = np.uint64(limbs[i]) * part
            wide[first + k + i] += sign * np.int64(product & _LOW)
            wide[first + k + i + 1] += sign * np.int64(product >> _32)
        top = sign * limbs[LIMBS - 1] * np.int64(part)
        wide[first + k + LIMBS - 1] += top & 0xFFFFFFFF
        wide[first + k + LIMBS] += top >> 32


@kernel
def _add_columns(wide: IntArray, limbs: IntArray, fractions: FloatArray) -> None:
    for row in range(fractions.shape[0]):
        for column in range(fractions.shape[1]):
            if fractions[row, column] != 0.0:
                add_scaled(wide[column], limbs[row], fractions[row, column])


def to_float(limbs: IntArray) -> FloatArray:
    """Convert carried int64[m, LIMBS] or int64[m, WIDE] to float64[m], correctly rounded."""
    lowest = LOWEST_BIT if limbs.shape[-1] == LIMBS else LOWEST_BIT + FRACTION_BIT
    scale = 1 << -lowest
    floats = np.zeros(len(limbs))
    filled = np.flatnonzero(limbs.any(axis=1))
    low = limbs[filled, :-1].astype("<u4").view(np.uint8)
    digits = np.hstack([low, np.ascontiguousarray(limbs[filled, -1:], "<i8").view(np.uint8)])
    for row, number in zip(filled, digits, strict=True):
        floats[row] = int.from_bytes(number.tobytes(), "little", signed=True) / scale
    return floats


def approximate(limbs: IntArray) -> FloatArray:
    """Convert int64[m, LIMBS] to float64[m], rounded in each limb: much faster than `to_float`."""
    floats: FloatArray = limbs @ 2.0 ** (LOWEST_BIT + 32 * np.arange(LIMBS))
    return floats


class ColumnSums:
    """Σ over entries of fraction × sum, for many columns of fractions, exact until `result`."""

    def __init__(self, columns: int) -> None:
        self._wide = np.zeros((columns, WIDE), np.int64)

    def add(self, limbs: IntArray, fractions: FloatArray) -> None:
        """Add entries. limbs: int64[m, LIMBS], carried. fractions: float64[m, columns], m below 2²⁶."""
        _add_columns(self._wide, limbs, fractions)
        carry(self._wide)

    def result(self) -> FloatArray:
        """Return the sums, float64[columns]."""
        return to_float(self._wide)
