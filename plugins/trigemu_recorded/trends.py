"""The rate of a trigger in the sections of a run against pile-up: a polynomial, and what departs from it.

The rate in a section is P(µ) times a ratio, which is 1 but in some parts of the run. A section of live time T has the
variance q R / T: with the rate R of the fit, since that of its own events is too small where they are few by chance,
and q = Σw²/Σw. With it, least squares in steps solve the equations of the Poisson likelihood.

The order of P and the parts are chosen together, in steps, each the one that improves the fit most: in a fill, the
pile-up falls with time, and a polynomial that is fitted alone takes up most of a change of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.polynomial import polyvander
from scipy import special

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

#: The largest order of a polynomial and number of parts; the level of the test for one order more.
MAX_ORDER, MAX_PARTS, LEVEL = 4, 20, 0.05
#: The smallest rate in a variance, as a fraction of the mean: a polynomial may become negative.
_FLOOR = 0.01
#: Parts begin and end between blocks: the least expected number of events in one, whose departure is then nearly
#: normal, and the largest number of blocks.
_BLOCK_EVENTS, _BLOCKS = 25.0, 500
#: The number of false alarms among the simulated runs that give the penalty.
_SIMULATED = 20


@dataclass(frozen=True)
class Series:
    """The rate of one trigger in s sections, in their order, each with live time and pile-up."""

    pileup: FloatArray  # float64[s], the mean in each section
    seconds: FloatArray  # float64[s], the live time
    rate: FloatArray  # float64[s], in Hz
    size: float  # Σw²/Σw of the accepted events; w: the number of events of the run that one stands for
    largest: float  # The largest w


@dataclass(frozen=True)
class Part:
    """Consecutive sections in which the rate departs from the polynomial."""

    start: int  #: start, stop: The positions of the first section, and of the one after the last
    stop: int
    ratio: float  #: The rate over the polynomial
    error: float  #: The statistical uncertainty of the ratio


@dataclass(frozen=True)
class Trend:
    """The fit of a rate against pile-up, and where the rate departs from it."""

    #: float64[order + 1]: Of the polynomial, in Hz per power of (pile-up − `centre`) / `width`
    coefficients: FloatArray
    covariance: FloatArray  #: float64[order + 1, order + 1]: Of these, with `scale`
    centre: float
    width: float
    chi2: float  #: Σ (rate − fit)² / variance
    dof: int  #: The degrees of freedom
    p_more: float | None  #: The p-value of the F test for one order more; None if there cannot be one
    parts: tuple[Part, ...]  #: Where the ratio is not 1, in the order of the sections
    outliers: IntArray  #: The positions of single sections that depart, which are not in the fit
    expected: FloatArray  #: float64[s]: The fitted rate in Hz

    @property
    def scale(self) -> float:
        """The factor on variances: χ² per degree of freedom, if the rate varies more than by its events."""
        return max(1.0, self.chi2 / self.dof)

    def at(self, pileup: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the rate in Hz at values of the pile-up, where the ratio is 1, and its error."""
        x = (np.asarray(pileup, np.float64) - self.centre) / self.width
        powers = polyvander(x, len(self.coefficients) - 1)
        variance = ((powers @ self.covariance) * powers).sum(axis=-1)
        return powers @ self.coefficients, np.sqrt(np.maximum(variance, 0.0))


def trend_of(series: Series, false_alarms: float, order: int | None = None) -> Trend:
    """Fit a rate, find outliers, and fit again without them.

    false_alarms: the probability of an outlier in a run without any, and that of a part. order: of the
    polynomial, in place of that of the test.
    """
    weight = np.ones(len(series.rate))
    fit = _chosen(_Fit(series, weight, order or 0, ()), false_alarms, order)
    outliers = np.flatnonzero(_outliers(series, fit, false_alarms))
    if len(outliers):
        weight[outliers] = 0.0
        fit = _chosen(_Fit(series, weight, order or 0, ()), false_alarms, order)
    n, covariance = fit.order + 1, fit.covariance * max(1.0, fit.chi2 / fit.dof)
    edges = np.unique([0, len(weight), *(edge for part in fit.parts for edge in part)])
    covers = _inside(fit.parts, edges[:-1])
    errors = np.sqrt(((covers @ covariance[n:, n:]) * covers).sum(axis=1)).tolist()
    parts = zip(edges.tolist(), edges[1:].tolist(), (1 + covers @ fit.solution[n:]).tolist(), errors, strict=False)
    return Trend(
        fit.solution[:n],
        covariance[:n, :n],
        fit.centre,
        fit.width,
        fit.chi2,
        fit.dof,
        fit.p_more,
        tuple(Part(*part) for part, departs in zip(parts, covers.any(axis=1), strict=True) if departs),
        outliers,
        fit.rate,
    )


class _Fit:
    """A polynomial of an `order` and the ratios in some `parts`, (start, stop) each, fitted to the sections of
    weight 1, others having 0."""

    def __init__(
        self, series: Series, weight: FloatArray, order: int, parts: tuple[tuple[int, int], ...]
    ) -> None:
        self.series, self.weight, self.order, self.parts = series, weight, order, parts
        low, high = series.pileup.min(), series.pileup.max()
        self.centre, self.width = float(low + high) / 2, float(high - low) / 2 or 1.0
        mean = np.average(series.rate, weights=weight)
        inside, level = _inside(parts, np.arange(len(weight))), np.ones(len(weight))
        powers = polyvander((series.pileup - self.centre) / self.width, order + 1)
        self.polynomial = mean * level
        for _ in range(12):
            self.rate = np.maximum(self.polynomial * level, _FLOOR * mean)
            root = np.sqrt(weight * series.seconds / (series.size * self.rate))
            columns = np.hstack([powers * level[:, None], self.polynomial[:, None] * inside]) * root[:, None]
            self.matrix, more = np.delete(columns, order + 1, axis=1), columns
            target = root * (series.rate + self.polynomial * (level - 1))
            self.solution = np.linalg.lstsq(self.matrix, target)[0]
            self.departure = target - self.matrix @ self.solution
            self.polynomial = powers[:, :-1] @ self.solution[: order + 1]
            level = 1 + inside @ self.solution[order + 1 :]
        self.column = self.polynomial * root
        self.covariance = np.linalg.pinv(self.matrix.T @ self.matrix)
        self.chi2, self.dof = float(self.departure @ self.departure), int(weight.sum()) - len(self.solution)
        #: Factor on variances from the differences of successive sections, in which changes have no part.
        self.noise = max(1.0, float(np.mean(np.diff(self.departure[weight > 0]) ** 2)) / 2)
        self.gain, self.p_more = 0.0, None
        if order < min(MAX_ORDER, len(np.unique(series.pileup[weight > 0])) - 1) and self.dof > 1:
            rest = self.departure - more @ np.linalg.lstsq(more, self.departure)[0]
            chi2 = float(rest @ rest)
            self.gain = max(0.0, self.chi2 - chi2)
            self.p_more = float(special.fdtrc(1, self.dof - 1, self.gain / max(1.0, chi2 / (self.dof - 1))))

    def with_parts(self, *parts: tuple[int, int]) -> _Fit:
        return _Fit(self.series, self.weight, self.order, parts)


def _inside(parts: tuple[tuple[int, int], ...], section: IntArray) -> FloatArray:
    """Return whether sections are in parts, float64[sections, parts]."""
    start, stop = np.array(parts, np.int64).reshape(-1, 2).T
    return ((section[:, None] >= start) & (section[:, None] < stop)).astype(np.float64)


def _chosen(fit: _Fit, false_alarms: float, order: int | None) -> _Fit:
    """Return a fit with the order and the parts that improve it significantly."""
    seen = set()
    while (choice := (fit.order, frozenset(fit.parts))) not in seen:
        seen.add(choice)
        part, excess = _best_part(fit, false_alarms)
        more = order is None and fit.p_more is not None and fit.p_more < LEVEL
        if part and len(fit.parts) < MAX_PARTS and not (more and fit.gain > excess):
            fit = fit.with_parts(*fit.parts, part)
        elif more:
            fit = _Fit(fit.series, fit.weight, fit.order + 1, fit.parts)
        for part in fit.parts:  # the others, or the polynomial, may have been in its place
            without = fit.with_parts(*(other for other in fit.parts if other != part))
            best, _ = _best_part(without, false_alarms)
            fit = without.with_parts(*without.parts, best) if best else without
    return fit


def _best_part(fit: _Fit, false_alarms: float) -> tuple[tuple[int, int] | None, float]:
    """Return the part whose own ratio improves a fit most, and by how much χ² falls beyond the penalty for each
    of its ends within the run; None if by less."""
    series, n = fit.series, len(fit.weight)
    events = fit.weight * fit.rate * series.seconds * series.size / max(series.largest, series.size) ** 2
    blocks = events.sum() / _BLOCK_EVENTS if n <= _BLOCKS else min(events.sum() / _BLOCK_EVENTS, _BLOCKS)
    block = ((np.cumsum(events) - events / 2) * blocks / events.sum()).astype(np.int64)
    edges = np.append(np.flatnonzero(np.diff(block, prepend=-1)), n)
    if len(edges) < 3:
        return None, 0.0
    products = fit.column[:, None] * np.column_stack([fit.departure, fit.column, fit.matrix])
    sums = np.vstack([np.zeros(products.shape[1]), np.cumsum(products, axis=0)])[edges]
    start, stop = np.triu_indices(len(edges), 1)
    inside = sums[stop] - sums[start]
    left = inside[:, 1] - ((inside[:, 2:] @ fit.covariance) * inside[:, 2:]).sum(axis=1)
    left[left <= 1e-6 * inside[:, 1]] = np.inf  # what the fit already describes
    penalty = _penalty(len(edges) - 1, false_alarms) * ((start > 0) * 1.0 + (stop < len(edges) - 1))
    excess = inside[:, 0] ** 2 / left / fit.noise - penalty
    best = int(np.argmax(excess))
    if excess[best] <= 0:
        return None, 0.0
    first, last = int(edges[start[best]]), int(edges[stop[best]])
    if last - first > n / 2 and (first == 0 or last == n):  # the ratio is 1 in the longer part
        first, last = (0, first) if first else (last, n)
    return (first, last), float(excess[best])


def _outliers(series: Series, fit: _Fit, false_alarms: float) -> BoolArray:
    """Return which sections have too improbable numbers of events. Above the mean, all count as of the largest
    size with the same variance: other weights do not have a higher tail (Bennett's inequality)."""
    size, number = series.size * fit.noise, fit.rate * series.seconds
    largest = max(series.largest, size)
    excess, variance = series.rate * series.seconds - number, number * size / largest**2
    above = special.gammainc(np.maximum(variance + excess / largest, 0.0), variance)  # of a Poisson distribution
    below = special.gammaincc((number + excess) / size + 1, number / size)
    limit = -np.expm1(np.log1p(-false_alarms) / len(number))
    return np.asarray(2 * np.minimum(above, below) < limit)


@lru_cache
def _penalty(n: int, false_alarms: float) -> float:
    """Return how much the best cut of n standard normal numbers lowers their sum of squares at most, but for a
    fraction of false alarms; from simulated runs."""
    random, before = np.random.default_rng(1), np.arange(1, n)
    gains = []
    for _ in range(int(np.ceil(_SIMULATED / false_alarms / 100))):
        sums = np.cumsum(random.normal(size=(100, n)), axis=1)
        bridge = sums[:, :-1] - sums[:, -1:] * before / n
        gains.append((bridge**2 * n / (before * (n - before))).max(axis=1))
    return float(np.quantile(np.concatenate(gains), 1 - false_alarms))
