"""Limits on the values of reconstructed objects, and checks of offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trigemu.samples.errors import SampleError
from trigemu.support import Array, IntArray

#: Collections of reconstructed objects, whose directions and momenta have limits. Others may have objects
#: without a direction: generator particles with pT 0 and η ±27392, sums, words of hardware.
OBJECTS = frozenset({"jet", "photon", "electron", "muon", "tau"})
#: Column → its lowest and highest value. η of 20 is beyond the beam at any energy; φ may begin at −π or at 0.
LIMITS = {"pt": (0.0, math.inf), "eta": (-20.0, 20.0), "phi": (-2 * math.pi, 2 * math.pi)}
ANY = (-math.inf, math.inf)
_ABOVE = ("at least", "above")
SCALAR_LIMITS = {"met": (0.0, math.inf), "met_phi": LIMITS["phi"]}


def impossible(sample: str, event: int, name: str, value: float, low: float, high: float) -> SampleError:
    if value != value:
        return SampleError(f"sample {sample!r}, event {event}: {name} is not a number (NaN)")
    allowed = (
        f"from {low:g} to {high:g}" if math.isfinite(high) else f"finite and {_ABOVE[name[-3:] == '.pt']} 0"
    )
    return SampleError(
        f"sample {sample!r}, event {event}: {name} = {value:g} is impossible: expected {allowed}; is the "
        f"file damaged, or its unit another one?"
    )


def outside(column: Array, low: float, high: float, open_: bool) -> int:
    """Return the first row that is NaN or outside of low to high, or −1. If one limit is finite, infinite
    values are outside. open_: a finite low limit is outside too."""
    values: Any = column
    if column.dtype.kind != "f":
        low, high = max(low, -(2.0**62)), min(high, 2.0**62)
        if -low == high == 2.0**62 or not len(column):
            return -1
        rows = np.flatnonzero((values < low) | (values > high) | (open_ & (values == low)))
        return int(rows[0]) if len(rows) else -1
    kind: Any = column.dtype.type
    if math.isfinite(low) or math.isfinite(high):
        low = np.nextafter(kind(low), kind(np.inf)) if open_ else low
        high = min(high, float(np.finfo(kind).max))
    low, high = kind(low), kind(high)
    if not len(column) or (values.min() >= low and values.max() <= high):  # NaN if any is
        return -1
    return int(np.argmin((values >= low) & (values <= high)))


def first_falling(offsets: IntArray) -> int:
    """Return the first event with negative or decreasing offsets, or −1."""
    falls = offsets[1:] < offsets[:-1]
    if offsets[0] >= 0 and not falls.any():
        return -1
    events = np.flatnonzero(falls | (offsets[:-1] < 0))
    return int(events[0]) if len(events) else len(offsets) - 2
