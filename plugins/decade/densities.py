"""Rates in the plane of an observable and the score, before and after the correction, for figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.api import BoolArray, FloatArray

from .diagnostics import ScoredEvents

BINS = 60
#: Fraction of events at each end of the score that are counted in the first or last bin.
CUT_OFF = 1e-4


@dataclass(frozen=True)
class Density:
    """Rates in m bins of an observable x and k bins of y, or of y' if corrected.

    x_edges: float64[m + 1], in a geometric series if is_log. y_edges: float64[k + 1]. rate: float64[1 + m,
    k], Hz in each bin; the first row is for events without the observable. threshold: float64[1 + m, 3], the
    16, 50 and 84 % quantiles, over the events of a row, of the threshold of the corrected trigger: Y(x) + t
    before the correction, t after it; NaN if the row is empty. constant: the threshold of the uncorrected
    trigger; None after the correction.
    """

    observable: str
    corrected: bool
    is_log: bool
    x_edges: FloatArray
    y_edges: FloatArray
    rate: FloatArray
    threshold: FloatArray
    constant: float | None


def densities(events: ScoredEvents) -> list[Density]:
    """Return the densities before and after the correction, for each observable that occurs."""
    t = events.threshold
    threshold = events.quantile + t
    result = []
    for name, x in events.x.items():
        if (x != 0).any():
            result.append(_density(name, x, events.y, threshold, events.weight, events.y_threshold))
            result.append(
                _density(name, x, events.corrected, np.full_like(threshold, t), events.weight, None)
            )
    return result


def _density(
    name: str,
    x: FloatArray,
    score: FloatArray,
    threshold: FloatArray,
    weight: FloatArray,
    constant: float | None,
) -> Density:
    low, high = x[x != 0].min(), x.max()
    is_log = bool(low > 0 and high > 5 * low)
    x_edges = np.geomspace(low, high, BINS + 1) if is_log else _edges(low, high)
    y_edges = _edges(*np.quantile(score, [CUT_OFF, 1 - CUT_OFF]))
    row = np.where(x == 0, 0, np.clip(np.searchsorted(x_edges, x, "right"), 1, BINS))
    column = np.clip(np.searchsorted(y_edges, score, "right") - 1, 0, BINS - 1)
    flat = np.bincount(row * BINS + column, weight, (1 + BINS) * BINS)
    rate = flat.astype(np.float64).reshape(1 + BINS, BINS)
    spreads = np.array([_spread(threshold, weight, row == number) for number in range(1 + BINS)])
    return Density(name, constant is None, is_log, x_edges, y_edges, rate, spreads, constant)


def _edges(low: float, high: float) -> FloatArray:
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _spread(values: FloatArray, weight: FloatArray, rows: BoolArray) -> FloatArray:
    if not rows.any():
        return np.full(3, np.nan)
    return np.quantile(values[rows], [0.16, 0.5, 0.84], weights=weight[rows], method="inverted_cdf")
