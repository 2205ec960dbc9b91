"""Ratios of the efficiencies of a turn-on: scale factors.

The curves of a turn-on use the same events, so their errors are correlated, and a result has no covariances.
An error of the ratio r = ε/ε₀ is therefore an upper bound, by the triangle inequality of standard deviations:

- The gain g = ε − ε₀ has an error σ(g) that includes the correlation. As r = 1 + g/ε₀, σ(r) ≤ σ(g)/ε₀ +
  |g| σ(ε₀)/ε₀². This is close to σ(r) where the efficiencies are similar, and includes the errors of
  thresholds that rate budgets found.
- Other pairs of curves have no such gain: σ(r) ≤ σ(ε)/ε₀ + r σ(ε₀)/ε₀, whatever their correlation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trigemu.studies.efficiency import Turnon
from trigemu.studies.intervals import Curve
from trigemu.support import FloatArray


class Ratio(NamedTuple):
    """The ratio of an efficiency curve to a reference.

    Attributes
    ----------
    value : ndarray
        float64[bins], the ratio; NaN where the reference accepts no event.
    low, high : ndarray
        float64[bins], the ratio less and plus the bounds of its errors.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


def ratios_to(turnon: Turnon, reference: Curve) -> Iterator[tuple[Curve, Ratio]]:
    """Yield each curve of a turn-on with its ratio to one of them.

    Parameters
    ----------
    turnon : Turnon
        The curves.
    reference : Curve
        The curve in the denominator.

    Yields
    ------
    tuple of (Curve, Ratio)
        In the order of the turn-on; the ratio of the reference to itself is 1 without error.
    """
    for curve in turnon.curves:
        yield curve, _ratio(curve, reference, turnon.curves[0].menu)


def _ratio(curve: Curve, reference: Curve, first: str) -> Ratio:
    """Return the ratio of two curves. first: the menu that gains are relative to."""
    below = np.where(reference.value > 0, reference.value, np.nan)
    value = curve.value / below
    if curve is reference:
        return Ratio(value, value, value)
    gain_error = _gain_error(curve, reference, first)
    if gain_error is None:
        down = (curve.value - curve.low + value * (reference.high - reference.value)) / below
        up = (curve.high - curve.value + value * (reference.value - reference.low)) / below
    else:
        half = (reference.high - reference.low) / 2
        down = up = (gain_error + np.abs(value - 1) * half) / below
    return Ratio(value, np.maximum(value - down, np.minimum(value, 0.0)), value + up)


def _gain_error(curve: Curve, reference: Curve, first: str) -> FloatArray | None:
    """Return the error of the difference of two curves if one is the gain of the other, else None."""
    if curve.trigger != reference.trigger or curve.menu == reference.menu:
        return None
    if reference.menu == first:
        return curve.gain_error
    return reference.gain_error if curve.menu == first else None
