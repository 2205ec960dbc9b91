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
    """Bring int64[m, LIMBS] into the one form a value has: all limbs but the last in 0 … 2³² − 1."""
    for row in range(limbs.shape[0]):
        for i in range(LIMBS - 1):
            limbs[row, i + 1] += limbs[row, i] >> 32
            limbs[row, i] &= 0xFFFFFFFF


def to_float(limbs: IntArray) -> FloatArray:
    """int64[m, LIMBS] → float64[m], each correctly rounded once."""
    scale = 1 << -LOWEST_BIT
    return np.array(
        [sum(limb << (32 * i) for i, limb in enumerate(row)) / scale for row in limbs.tolist()],
        np.float64,
    )


@kernel
def _add_columns(limbs: IntArray, values: FloatArray) -> None:
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            if values[row, column] != 0.0:
                add(limbs[column], values[row, column])


class ColumnSums:
    """Running exact sums of the columns of float64[m, n] blocks."""

    def __init__(self, columns: int) -> None:
        self._limbs = np.zeros((columns, LIMBS), np.int64)

    def add(self, values: FloatArray) -> None:
        _add_columns(self._limbs, values)
        carry(self._limbs)

    def result(self) -> FloatArray:
        return to_float(self._limbs)
