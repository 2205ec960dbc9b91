"""Sums of floats that are exact, so that no result depends on order, chunks or workers.

A sum is a fixed-point number of 256 bits, least significant 2⁻¹⁶⁰, in eight limbs: int64, each worth 32
bits, the rest being room for 2³⁰ additions between two `carry`s. What lies below 2⁻¹⁶⁰ is cut off each
value, not the sum, which is independent of order too; the largest value is 2⁸¹ (a squared weight).
"""

from __future__ import annotations

import numpy as np

from trigemu.events import FloatArray, IntArray
from trigemu.kernels import kernel

LIMBS = 8
LOWEST_BIT = -160
#: A sum times a fraction takes more: 14 limbs from 2⁻²⁸⁸.
FRACTION_BIT = -128
WIDE = 14
#: Adding more values than this between two carries could overflow a limb.
ADDITIONS = 2**30

_MANTISSA = np.uint64(2**52 - 1)
_IMPLICIT = np.uint64(2**52)
_LOW = np.uint64(2**32 - 1)
_32 = np.uint64(32)
_52 = np.uint64(52)


@kernel
def add(limbs: IntArray, value: float) -> None:
    """Add one float to int64[LIMBS]."""
    bits = np.float64(value).view(np.uint64)
    exponent = np.int64((bits >> _52) & np.uint64(0x7FF))
    if exponent == 0:  # zero, or so small that nothing of it is kept
        return
    mantissa = (bits & _MANTISSA) | _IMPLICIT
    position = exponent - 1075 - LOWEST_BIT
    if position < 0:
        if position <= -53:
            return
        mantissa >>= np.uint64(-position)
        position = np.int64(0)
    limb = position >> 5
    shift = np.uint64(position & 31)
    low = (mantissa & _LOW) << shift
    high = (mantissa >> _32) << shift
    sign = np.int64(1) - np.int64(2) * np.int64(bits >> np.uint64(63))
    limbs[limb] += sign * np.int64(low & _LOW)
    limbs[limb + 1] += sign * np.int64((low >> _32) + (high & _LOW))
    limbs[limb + 2] += sign * np.int64(high >> _32)


@kernel
def carry(limbs: IntArray) -> None:
    """Bring int64[m, …] into the one form a value has: all limbs but the last in 0 … 2³² − 1."""
    for row in range(limbs.shape[0]):
        for i in range(limbs.shape[1] - 1):
            limbs[row, i + 1] += limbs[row, i] >> 32
            limbs[row, i] &= 0xFFFFFFFF


@kernel
def add_scaled(wide: IntArray, limbs: IntArray, fraction: float) -> None:
    """Add fraction × the sum in int64[LIMBS], carried, to int64[WIDE]; 0 ≤ fraction ≤ 1.

    A fraction is cut off below 2⁻¹²⁸; apart from that the product is exact, so that Σ w f does not
    depend on how events with one f are split into sums.
    """
    bits = np.float64(fraction).view(np.uint64)
    position = np.int64((bits >> _52) & np.uint64(0x7FF)) - 1075 - FRACTION_BIT
    if position <= -53:
        return
    mantissa = (bits & _MANTISSA) | _IMPLICIT
    if position < 0:
        mantissa >>= np.uint64(-position)
        position = np.int64(0)
    first, shift = position >> 5, np.uint64(position & 31)
    low = (mantissa & _LOW) << shift
    high = (mantissa >> _32) << shift
    parts = (low & _LOW, (low >> _32) + (high & _LOW), high >> _32)
    for k in range(3):
        part = parts[k]
        if part == np.uint64(0):
            continue
        for i in range(LIMBS - 1):
            if limbs[i] == 0:
                continue
            product = np.uint64(limbs[i]) * part
            wide[first + k + i] += np.int64(product & _LOW)
            wide[first + k + i + 1] += np.int64(product >> _32)
        top = limbs[LIMBS - 1] * np.int64(part)
        wide[first + k + LIMBS - 1] += top & 0xFFFFFFFF
        wide[first + k + LIMBS] += top >> 32


@kernel
def _add_columns(wide: IntArray, limbs: IntArray, fractions: FloatArray) -> None:
    for row in range(fractions.shape[0]):
        for column in range(fractions.shape[1]):
            if fractions[row, column] != 0.0:
                add_scaled(wide[column], limbs[row], fractions[row, column])


def to_float(limbs: IntArray) -> FloatArray:
    """int64[m, LIMBS] or int64[m, WIDE], carried → float64[m], each correctly rounded once."""
    lowest = LOWEST_BIT if limbs.shape[-1] == LIMBS else LOWEST_BIT + FRACTION_BIT
    scale = 1 << -lowest
    floats = np.zeros(len(limbs))
    filled = np.flatnonzero(limbs.any(axis=1))
    low = limbs[filled, :-1].astype("<u4").view(np.uint8)
    digits = np.hstack([low, np.ascontiguousarray(limbs[filled, -1:], "<i8").view(np.uint8)])
    for row, number in zip(filled, digits, strict=True):
        floats[row] = int.from_bytes(number.tobytes(), "little", signed=True) / scale
    return floats


class ColumnSums:
    """Σ over entries of fraction × sum, for many columns of fractions, exact until `result`."""

    def __init__(self, columns: int) -> None:
        self._wide = np.zeros((columns, WIDE), np.int64)

    def add(self, limbs: IntArray, fractions: FloatArray) -> None:
        """limbs: int64[m, LIMBS], carried; fractions: float64[m, columns], m below 2²⁶."""
        _add_columns(self._wide, limbs, fractions)
        carry(self._wide)

    def result(self) -> FloatArray:
        return to_float(self._wide)
