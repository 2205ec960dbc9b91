"""The tools of stage two: random numbers, rounding, final thresholds.

Random numbers of an event depend only on the seed and the event's key, not on other events or on how they are
grouped. Tuning this stage does not re-run the generator.
"""

from __future__ import annotations

import numpy as np

from trigemu.base.arrays import splitmix64

from . import detector
from .interactions import Array, Objects

EVENT_BITS = 56  # bits of `parent` for the number of the interaction within its slice
# Rounding of what is stored, a fraction of the resolution: bits of mantissa of pT, steps of η and φ. With
# fewer bits of missing momentum, a step would contain much of the steeply falling rate above a threshold.
PT_BITS = {"jet": 8, "photon": 9, "electron": 9, "muon": 9, "tau": 8, "met": 9}
ANGLE_STEPS = {
    "jet": 1 / 64, "photon": 1 / 128, "electron": 1 / 128, "muon": 1 / 256, "tau": 1 / 64, "met": 1 / 16,
}  # fmt: skip


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


def round_mantissa(values: Array, bits_kept: int) -> Array:
    """Round to float32 with a number of mantissa bits, to compress well without loss of resolution."""
    drop = 23 - bits_kept
    bits = np.asarray(values, np.float32).view(np.uint32)
    half = np.uint32(1 << (drop - 1))
    return ((bits + half) & np.uint32(2**32 - (1 << drop))).view(np.float32)


def centred(values: Array, bits_kept: int) -> Array:
    """Round to float32 in the middle of steps, which begin at numbers with `bits_kept` bits of mantissa.

    Thresholds are such numbers. If values were rounded to them, the rate of an entire step would lie exactly
    on the threshold, although half of it is below; with values in the middle of steps, a threshold decides as
    if they were not rounded. The bit that is always set takes no space in a compressed file."""
    half = np.uint32(1 << (22 - bits_kept))
    bits = np.asarray(values, np.float32).view(np.uint32)
    middle = (bits & ~(2 * half - np.uint32(1))) | half
    return np.where(bits == 0, bits, middle).view(np.float32)


def round_angle(values: Array, step: float) -> Array:
    """Round to multiples of a step, float32; an angle stays within (−π, π)."""
    last = np.floor(np.pi / step)
    steps = np.rint(np.asarray(values, np.float64) / step)
    return (np.clip(steps, -last, last) * step).astype(np.float32)


def rounded(kind: str, objects: Objects) -> Objects:
    """Round pT of a kind of object to the middle of steps, η and φ to multiples of a step."""
    step = ANGLE_STEPS[kind]
    eta = np.rint(objects.columns["eta"].astype(np.float64) / step) * step
    columns = {
        **objects.columns,
        "pt": centred(objects.columns["pt"], PT_BITS[kind]),
        "eta": eta.astype(np.float32),
        "phi": round_angle(objects.columns["phi"], step),
    }
    return Objects(objects.counts, columns)


def final(kind: str, objects: Objects) -> Objects:
    """Return the objects above the final threshold."""
    return objects.where(objects.columns["pt"] > detector.FINAL_PT[kind])
