"""Numbers that are known but for rounding: an interval holds every number that a correct program may give.

Whatever is read or computed by one operation of IEEE is one number; a sum of vectors, a mass, an angle is as
exact as what cancels in it. A comparison is true, false, or None where rounding decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

#: Of any computation, relative to the numbers that go into it.
ROUNDING = 1e-12
TINY = 1e-300
Truth = bool | None


@dataclass(frozen=True)
class Interval:
    """From low to high; both are NaN where a number is missing."""

    low: float
    high: float

    @property
    def missing(self) -> bool:
        return self.low != self.low

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    @property
    def is_open(self) -> bool:
        """Whether it was divided by what may be 0, so that it may be missing, too."""
        return not self.is_point and (math.isinf(self.low) or math.isinf(self.high))

    def holds(self, found: float) -> bool:
        if found != found:
            return self.missing or self.is_open
        return self.low <= found <= self.high

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __abs__(self) -> Interval:
        if self.missing or self.low >= 0 or self.high <= 0:
            return Interval(*sorted((abs(self.low), abs(self.high))))
        return Interval(0.0, max(-self.low, self.high))


ANYTHING = Interval(-math.inf, math.inf)
MISSING = Interval(math.nan, math.nan)


def point(value: float) -> Interval:
    return Interval(float(value), float(value))


def around(value: float, error: float) -> Interval:
    return Interval(value - error, value + error)


def combined(operation: Callable[[Any, Any], Any], a: Interval, b: Interval) -> Interval:
    """Return the sum, difference, product or quotient, one of NumPy's functions."""
    if a.missing or b.missing:
        return MISSING
    if a.is_point and b.is_point:
        return point(operation(a.low, b.low))
    if a.is_open or b.is_open or (operation is np.divide and b.low <= 0 <= b.high):
        return ANYTHING
    corners = [float(operation(x, y)) for x, y in product((a.low, a.high), (b.low, b.high))]
    if not all(map(math.isfinite, corners)):
        return ANYTHING
    low, high = min(corners), max(corners)
    # The sign of a zero is not known, and decides what a division by it gives.
    return Interval(low - ROUNDING * abs(low) - TINY, high + ROUNDING * abs(high) + TINY)


def is_above(a: Interval, b: Interval) -> Truth:
    if a.missing or b.missing:
        return False
    if a.is_open or b.is_open:
        return None
    return True if a.low > b.high else None if a.high > b.low else False


def is_equal(a: Interval, b: Interval) -> Truth:
    if a.missing or b.missing:
        return False
    if a.is_point and b.is_point:
        return a.low == b.low
    return None if a.is_open or b.is_open or (a.low <= b.high and b.low <= a.high) else False


def opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


def every(truths: list[Truth]) -> Truth:
    return False if False in truths else None if None in truths else True


def some(truths: list[Truth]) -> Truth:
    return True if True in truths else None if None in truths else False


def angle(value: Interval) -> Interval:
    """Bring a difference of two angles to −π to π; both ends where rounding decides between them."""
    if value.missing:
        return MISSING
    error = (value.high - value.low) / 2 + ROUNDING
    at = math.remainder((value.low + value.high) / 2, 2 * math.pi)
    return around(at, error) if abs(at) + error < math.pi else Interval(-math.pi, math.pi)
