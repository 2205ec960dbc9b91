"""Rounded values in plain Python."""

from __future__ import annotations

import math


def rounded(value: float, bits: int, centred: bool) -> float:
    """A positive number rounded to a mantissa of some bits after the first; or, centred, the middle of the
    step between two such numbers that it is in."""
    step = 2.0 ** (math.frexp(value)[1] - 1 - bits)
    return (math.floor(value / step) + 0.5) * step if centred else math.floor(value / step + 0.5) * step
