"""What one learns beyond the menu: slopes of rates, prices, the front, and how firm thresholds are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.api import FloatArray, IntArray

from .problem import Evaluation

#: Values of a variable between which slopes are taken, on each side.
_SIDE = 2


@dataclass(frozen=True)
class Slope:
    """What a change of one variable does, at the best point.

    Attributes
    ----------
    low, high : float
        The two values between which the slopes are taken.
    rate_hz : float
        The change of the rate of the menu from the higher to the lower value, in Hz.
    efficiencies : float64[channels]
        The change of the efficiencies.
    loss : float
        The decrease of the loss.
    """

    low: float
    high: float
    rate_hz: float
    efficiencies: FloatArray
    loss: float

    @property
    def rate_per_unit(self) -> float:
        """∂rate/∂threshold in Hz per unit of the threshold, negative."""
        return -self.rate_hz / (self.high - self.low) if self.high > self.low else 0.0


def slopes(evaluation: Evaluation, point: IntArray) -> tuple[Slope, ...]:
    """Return the slopes of each variable at a point."""
    problem, found = evaluation.problem, []
    for variable, values in enumerate(problem.values):
        rates, efficiencies = (of[:, :, 0] for of in evaluation.plane(point, variable))
        side = _SIDE if problem.thresholds[variable] else 1
        low = max(int(point[variable]) - side, 0)
        high = min(int(point[variable]) + side, len(values) - 1)
        loss = problem.loss(efficiencies)
        first, last = sorted((float(values[low]), float(values[high])))
        found.append(
            Slope(
                first,
                last,
                float(rates[0, low] - rates[0, high]),
                efficiencies[:, low] - efficiencies[:, high],
                float(loss[high] - loss[low]),
            )
        )
    return tuple(found)


def prices(found: tuple[Slope, ...]) -> FloatArray:
    """Return the efficiency that each channel gains per Hz at the margin, float64[channels]: of the variable
    that gives it most."""
    per_hz = [slope.efficiencies / slope.rate_hz for slope in found if slope.rate_hz > 0]
    return np.max(per_hz, axis=0) if per_hz else np.zeros(0)


def intervals(points: IntArray, values: tuple[FloatArray, ...]) -> tuple[tuple[float, float], ...]:
    """Return the central interval of 68 % of the values of each variable over replicas."""
    ends = []
    for variable, own in enumerate(values):
        low, high = np.quantile(own[points[:, variable]], [0.16, 0.84])
        ends.append((float(low), float(high)))
    return tuple(ends)


def correlations(points: IntArray, values: tuple[FloatArray, ...]) -> FloatArray:
    """Return the correlations of the values over replicas, float64[variables, variables]; 0 for a variable
    that does not move."""
    moved = np.array([own[points[:, variable]] for variable, own in enumerate(values)])
    centred = moved - moved.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    norm = np.outer(size, size)
    correlated: FloatArray = np.divide(centred @ centred.T, norm, out=np.zeros_like(norm), where=norm > 0)
    return correlated


def turning(points: IntArray) -> tuple[int, ...]:
    """Return the variables that become tighter anywhere as the cap rises. points: int64[caps, variables],
    caps ascending."""
    return tuple(np.flatnonzero((np.diff(points, axis=0) > 0).any(axis=0)).tolist())
