"""Events as columns, and the tools of stage two: random numbers, rounding, final thresholds.

Random numbers of an event depend only on the seed and the event's key, not on other events or on how they are
grouped. Tuning this stage does not re-run the generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.base.arrays import splitmix64

from . import detector
from .interactions import Columns, Objects

Array = NDArray[Any]

EVENT_BITS = 56  # bits of `parent` for the number of the interaction within its slice
MANTISSA_BITS = 12  # bits of momenta: steps of 1.2e-4 to 2.4e-4, a tenth of the best resolution
ANGLE_STEP = 1 / 2048  # step of η and φ: 5e-4, a fiftieth of a calorimeter cell


class EventColumns(Columns):
    """Events: scalars by their name in the file, objects by kind ("jet" …) in descending pT.

    `observed.observe` defines the columns of objects other than pt, eta and phi."""

    __slots__ = ()


def normal_pair(
    seed: int, parent: Array, radius_stream: Array | int, angle_stream: Array | int
) -> tuple[Array, Array]:
    """Return two normal numbers per event, float64[n] each (Box and Muller), from two uniform streams."""
    # 1 − u keeps the logarithm finite.
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(seed, parent, radius_stream)))
    angle = 2.0 * np.pi * uniform(seed, parent, angle_stream)
    return radius * np.cos(angle), radius * np.sin(angle)


def uniform(seed: int, parent: Array, stream: Array | int) -> Array:
    """Return uniform numbers in [0, 1), float64, a pure function of seed, parent (uint64) and stream."""
    start = np.asarray(parent, np.uint64) ^ splitmix64(np.array([seed], np.uint64))
    state = splitmix64(splitmix64(start) + np.asarray(stream, np.uint64))
    return (state >> np.uint64(11)) * 2.0**-53


def round_mantissa(values: Array, bits_kept: int = MANTISSA_BITS) -> Array:
    """Round to float32 with a number of mantissa bits, to compress well without loss of resolution."""
    drop = 23 - bits_kept
    bits = np.asarray(values, np.float32).view(np.uint32)
    half = np.uint32(1 << (drop - 1))
    return ((bits + half) & np.uint32(2**32 - (1 << drop))).view(np.float32)


def centred(values: Array, bits_kept: int = MANTISSA_BITS) -> Array:
    """Round to float32 in the middle of steps, which begin at numbers with `bits_kept` bits of mantissa.

    Thresholds are such numbers. If values were rounded to them, the rate of an entire step would lie exactly
    on the threshold, although half of it is below; with values in the middle of steps, a threshold decides as
    if they were not rounded. The bit that is always set takes no space in a compressed file."""
    half = np.uint32(1 << (22 - bits_kept))
    bits = np.asarray(values, np.float32).view(np.uint32)
    middle = (bits & ~(2 * half - np.uint32(1))) | half
    return np.where(bits == 0, bits, middle).view(np.float32)


def round_angle(values: Array, step: float = ANGLE_STEP) -> Array:
    """Round to multiples of a step, float32; an angle stays within (−π, π)."""
    last = np.floor(np.pi / step)
    steps = np.rint(np.asarray(values, np.float64) / step)
    return (np.clip(steps, -last, last) * step).astype(np.float32)


def rounded(objects: Objects, bits: int = MANTISSA_BITS, step: float = ANGLE_STEP) -> Objects:
    """Round pT to the middle of steps of `bits` bits of mantissa, η and φ to multiples of a step."""
    eta = np.rint(objects.columns["eta"].astype(np.float64) / step) * step
    columns = {
        **objects.columns,
        "pt": centred(objects.columns["pt"], bits),
        "eta": eta.astype(np.float32),
        "phi": round_angle(objects.columns["phi"], step),
    }
    return Objects(objects.counts, columns)


def final(kind: str, objects: Objects) -> Objects:
    """Return the objects above the final threshold."""
    return objects.where(objects.columns["pt"] > detector.FINAL_PT[kind])
