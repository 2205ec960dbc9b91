"""Fits of turn-ons: ε(x) = plateau / 2 · (1 + erf((x − x50) / (√2 width)))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from trigemu.base.arrays import FloatArray

#: The largest plateau that is tried, which is taken as 1.
_FULL = 1.0 - 1e-9
#: The distance of the 95 % point from the 50 % point, in widths.
_Z95 = float(special.ndtri(0.95))


@dataclass(frozen=True)
class Fit:
    """A fitted turn-on, with the standard deviation of each number."""

    plateau: float  #: The efficiency far above the threshold
    plateau_error: float
    x50: float  #: The point of half the plateau
    x50_error: float
    width: float  #: The standard deviation of the error function: the resolution
    width_error: float
    x95: float  #: The point of 95 % of the plateau
    x95_error: float

    def at(self, x: FloatArray) -> FloatArray:
        """Return the efficiency at x."""
        return np.asarray(self.plateau * special.ndtr((x - self.x50) / self.width))


def fit_turnon(x: FloatArray, efficiency: FloatArray, effective: FloatArray) -> Fit | None:
    """Fit a turn-on by its binomial likelihood; return None if it has no rise that the bins resolve.

    x: float64[m], the centres of narrow bins, in each of which ε is taken as constant. efficiency, effective:
    float64[m], Σ w a / Σ w, and the effective number of entries, (Σ w)² / Σ w²: with these, the likelihood
    has the right errors, whatever the weights, if they do not depend on passing within a bin.
    """
    some = effective > 0
    x, passed, n = x[some], efficiency[some] * effective[some], effective[some]
    if not (passed.sum() > 0 and (n - passed).sum() > 0 and len(x) > 1):
        return None
    first, span = x[0], x[-1] - x[0]
    unit = (x - first) / span

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        logs, scores = (passed @ part[0] + (n - passed) @ part[1] for part in _likelihood(unit, values))
        return -logs / n.sum(), -scores / n.sum()

    lows, highs = np.array([(1e-6, _FULL), (0.0, 1.0), (np.diff(unit).min() / 4, 3.0)]).T
    bounds = optimize.Bounds(lows, highs)
    mean = np.clip(unit @ passed / passed.sum(), 0.0, 1.0)
    starts = [(0.9, middle, width) for middle in (mean / 2, mean) for width in (0.03, 0.2)]
    tries = [optimize.minimize(loss, s, jac=True, method="SLSQP", bounds=bounds, tol=1e-13) for s in starts]
    best = min(tries, key=lambda result: float(result.fun))
    values = best.x
    inside = (values[1:] - lows[1:] > 1e-6) & (highs[1:] - values[1:] > 1e-6)
    if not (best.success and inside.all()):
        return None
    free = slice(int(values[0] > 1 - 1e-6), 3)
    by_passed, by_failed = _likelihood(unit, values)[1]
    information = by_passed[:, free].T * n @ -by_failed[:, free]
    if not np.linalg.cond(information) < 1e12:  # a gap without probes, for example
        return None
    covariance = np.zeros((3, 3))
    covariance[free, free] = np.linalg.inv(information)
    if free.start:  # where the likelihood falls by 1/2
        covariance[0, 0], values[0] = (0.5 / n.sum() / loss(values)[1][0]) ** 2, 1.0
    points = np.array([[1, 0, 0], [0, span, 0], [0, 0, span], [0, span, span * _Z95]])
    numbers = points @ values + np.array([0.0, first, 0.0, first])
    errors = np.sqrt(np.diag(points @ covariance @ points.T))
    return Fit(*np.column_stack([numbers, errors]).ravel().tolist())


def _likelihood(x: FloatArray, values: FloatArray) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """Return ln ε and ln(1 − ε), float64[m], and the derivatives of both, float64[m, 3]."""
    plateau, middle, width = values
    t = (x - middle) / width
    rise = special.log_ndtr(t)
    failed = np.logaddexp(np.log1p(-plateau), np.log(plateau) + special.log_ndtr(-t))
    density = -(t**2) / 2 - np.log(width * np.sqrt(2 * np.pi))
    of_passed, of_failed = np.exp(density - rise), plateau * np.exp(density - failed)
    by_passed = np.array([np.full_like(x, 1 / plateau), -of_passed, -t * of_passed]).T
    by_failed = np.array([-np.exp(rise - failed), of_failed, t * of_failed]).T
    return (np.log(plateau) + rise, failed), (by_passed, by_failed)
