"""The rate of a trigger in the sections of a run against pile-up: a polynomial, and what departs from it.

The rate in a section is P(µ) times a ratio, which is 1 but in some parts of the run. A section of live time T
has the variance q R / T: with the rate R of the fit, since that of its own events is too small where they are
few by chance, and q = Σw²/Σw. With it, least squares in steps solve the equations of the Poisson likelihood.

The order of P and the parts are chosen together, in steps, each the one that improves the fit most: in a
fill, the pile-up falls with time, and a polynomial that is fitted alone takes up most of a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.polynomial import polyvander
from scipy import special

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

#: The largest order of a polynomial and number of parts; the level of the test for one order more.
MAX_ORDER, MAX_PARTS, LEVEL = 4, 8, 0.05
#: Fewest sections of a fit.
LEAST = 3
#: The smallest rate in a variance, as a fraction of the mean: a polynomial may become negative.
_FLOOR = 0.01
#: Parts begin and end between blocks: the least expected number of events in one, whose departure is then
#: nearly normal, and the largest number of blocks.
_BLOCK_EVENTS, _BLOCKS = 25.0, 500
#: The median of the square of a standard normal number.
_MEDIAN = 0.4549
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


class Part(NamedTuple):
    """Consecutive sections in which the rate departs from the polynomial."""

    start: int  #: start, stop: The positions of the first section, and of the one after the last
    stop: int
    ratio: float  #: The rate over the polynomial
    error: float  #: The statistical uncertainty of the ratio


class Trend:
    """A polynomial in the pile-up, and ratios to it in parts of the run, fitted to some sections.

    Attributes
    ----------
    order, p_more : int, float or None
        The order, and the p-value of the F test for one order more; None if there cannot be one.
    chi2, dof, scale : float, int, float
        Σ (rate − fit)² / variance, the degrees of freedom, and the factor on variances: their ratio above 1.
    expected : float64[s]
        The fitted rate in Hz in each section.
    outliers : int64[m]
        The positions of single sections that depart, which are not in the fit.
    """

    def __init__(
        self, series: Series, used: BoolArray, order: int, ranges: tuple[tuple[int, int], ...] = ()
    ) -> None:
        self.series, self.used, self.order, self.ranges = series, used, order, ranges
        low, high = series.pileup.min(), series.pileup.max()
        self._centre, self._width = (low + high) / 2, (high - low) / 2 or 1.0
        inside, level = _inside(ranges, np.arange(len(used))), np.ones(len(used))
        powers, mean = self._powers(series.pileup, order + 1), series.rate[used].mean()
        self.polynomial = mean * level
        for _ in range(12):
            self.expected = np.maximum(self.polynomial * level, _FLOOR * mean)
            root = used * np.sqrt(series.seconds / (series.size * self.expected))
            more = np.hstack([powers * level[:, None], self.polynomial[:, None] * inside]) * root[:, None]
            self.matrix = np.delete(more, order + 1, axis=1)
            target = root * (series.rate + self.polynomial * (level - 1))
            self.solution = np.linalg.lstsq(self.matrix, target)[0]
            self.polynomial = powers[:, :-1] @ self.solution[: order + 1]
            level = 1 + inside @ self.solution[order + 1 :]
        self.column, self.departure = self.polynomial * root, target - self.matrix @ self.solution
        self.inverse = np.linalg.pinv(self.matrix.T @ self.matrix)
        self.chi2, self.dof = float(self.departure @ self.departure), int(used.sum()) - len(self.solution)
        self.scale = max(1.0, self.chi2 / self.dof)
        # The same factor from the differences of successive sections: changes are few of them.
        self.noise = max(1.0, float(np.median(np.diff(self.departure[used]) ** 2)) / 2 / _MEDIAN)
        self.p_more = None
        if order < len(np.unique(series.pileup[used])) - 1 and self.dof > 1:
            rest = self.departure - more @ np.linalg.lstsq(more, self.departure)[0]
            chi2, dof = float(rest @ rest), self.dof - 1
            gain = max(0.0, self.chi2 - chi2) / max(1.0, chi2 / dof)
            self.p_more = float(special.fdtrc(1, dof, gain))
        self.improves = self.p_more is not None and self.p_more < LEVEL
        self.ends = sum((start > 0) + (stop < len(used)) for start, stop in ranges)

    def with_ranges(self, *ranges: tuple[int, int]) -> Trend:
        return Trend(self.series, self.used, self.order, ranges)

    def _powers(self, pileup: FloatArray | float, order: int) -> FloatArray:
        x = (np.asarray(pileup) - self._centre) / self._width
        return polyvander(x, order).reshape(*x.shape, order + 1)  # also of one number

    def at(self, pileup: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the rate in Hz at values of the pile-up, where the ratio is 1, and its error."""
        powers, n = self._powers(pileup, self.order), self.order + 1
        variance = ((powers @ self.inverse[:n, :n]) * powers).sum(axis=-1) * self.scale
        return powers @ self.solution[:n], np.sqrt(np.maximum(variance, 0.0))

    @property
    def coefficients(self) -> tuple[FloatArray, FloatArray]:
        """The coefficients of the powers of the pile-up in Hz, float64[order + 1], and their covariance."""
        n, to = self.order + 1, Polynomial([-self._centre / self._width, 1 / self._width])
        convert = np.array([np.append((to**k).coef, np.zeros(n - 1 - k)) for k in range(n)])
        return self.solution[:n] @ convert, convert.T @ self.inverse[:n, :n] @ convert * self.scale

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts in which the ratio is not 1, in their order."""
        n, edges = (
            self.order + 1,
            sorted({0, len(self.used), *(edge for ends in self.ranges for edge in ends)}),
        )
        covers = _inside(self.ranges, np.array(edges[:-1]))
        ratios = 1 + covers @ self.solution[n:]
        errors = np.sqrt(((covers @ self.inverse[n:, n:]) * covers).sum(axis=1) * self.scale)
        parts = map(Part, edges[:-1], edges[1:], ratios.tolist(), errors.tolist())
        return tuple(part for part, some in zip(parts, covers, strict=True) if some.any())

    @property
    def outliers(self) -> IntArray:
        return np.flatnonzero(~self.used)


def trend_of(series: Series, false_alarms: float, order: int | None = None) -> Trend:
    """Fit a rate, find outliers, and fit again without them.

    false_alarms: the probability of an outlier in a run without any, and that of a part. order: of the
    polynomial, in place of that of the test.
    """
    penalty = _penalty(min(len(series.rate), _BLOCKS), false_alarms)
    fit = _chosen(series, np.ones(len(series.rate), np.bool_), order, penalty)
    used = ~_outliers(fit, false_alarms)
    used[[start for start, stop in fit.ranges if stop - start == 1]] = False
    if used.all() or used.sum() < LEAST or not series.rate[used].any():
        return fit
    return _chosen(series, used, order, penalty)


def _inside(ranges: tuple[tuple[int, int], ...], section: IntArray) -> FloatArray:
    """Return whether sections are in ranges, float64[sections, ranges]."""
    start, stop = np.array(ranges, np.int64).reshape(-1, 2).T
    return ((section[:, None] >= start) & (section[:, None] < stop)).astype(np.float64)


def _chosen(series: Series, used: BoolArray, order: int | None, penalty: float) -> Trend:
    """Return the fit of the lowest order that one order more, each with its own parts, does not improve."""
    if order is not None:
        order = min(order, max(len(np.unique(series.pileup[used])) - 2, 0))
        return _with_parts(Trend(series, used, order), MAX_PARTS, penalty)
    top = flat = Trend(series, used, 0)
    while top.improves and top.order < MAX_ORDER:  # without parts: high enough, for a part adds to it
        top = Trend(series, used, top.order + 1)
    fits, most = [], MAX_PARTS
    for each in range(top.order, int(flat.improves) - 1, -1):
        fits.append(_with_parts(Trend(series, used, each), most, penalty))
        most = min(most, len(fits[-1].ranges) + 1)  # a lower order alone does not pay for more
    fit = fits.pop()
    while fits or (fit.improves and fit.order < MAX_ORDER):
        more = fits.pop() if fits else _with_parts(Trend(series, used, fit.order + 1), MAX_PARTS, penalty)
        gain, ends = (fit.chi2 - more.chi2) / more.scale, more.ends - fit.ends
        if gain < special.fdtri(1, more.dof, 1 - LEVEL) + penalty * ends:
            break
        fit = more
    return fit


def _with_parts(fit: Trend, most: int, penalty: float) -> Trend:
    """Return a fit of the same order with the parts, `most` of them, that improve it by more than the penalty
    for each end."""
    while len(fit.ranges) < most and fit.dof > 2 and (part := _best_part(fit, penalty)):
        fit = fit.with_ranges(*fit.ranges, part)
    for part in fit.ranges:  # others may have been in its place
        without = fit.with_ranges(*(other for other in fit.ranges if other != part))
        best = _best_part(without, penalty)
        fit = without.with_ranges(*without.ranges, best) if best else without
    return fit


def _best_part(fit: Trend, penalty: float) -> tuple[int, int] | None:
    """Return the part whose own ratio lowers χ² most, if by more than the penalty for each of its ends."""
    series, n = fit.series, len(fit.used)
    events = fit.used * fit.expected * series.seconds * series.size / max(series.largest, series.size) ** 2
    blocks = min(events.sum() / _BLOCK_EVENTS, _BLOCKS if n > _BLOCKS else np.inf)
    block = ((np.cumsum(events) - events / 2) * blocks / events.sum()).astype(np.int64)
    edges = np.append(np.flatnonzero(np.diff(block, prepend=-1)), n)
    if len(edges) < 3:
        return None
    products = fit.column[:, None] * np.column_stack([fit.departure, fit.column, fit.matrix])
    sums = np.vstack([np.zeros(products.shape[1]), np.cumsum(products, axis=0)])[edges]
    start, stop = np.triu_indices(len(edges), 1)
    inside = sums[stop] - sums[start]
    left = inside[:, 1] - ((inside[:, 2:] @ fit.inverse) * inside[:, 2:]).sum(axis=1)
    left[left <= 1e-6 * inside[:, 1]] = np.inf  # what the fit already describes
    ends = (start > 0) * 1.0 + (stop < len(edges) - 1)
    excess = inside[:, 0] ** 2 / left / fit.noise - penalty * ends
    best = int(np.argmax(excess))
    first, last = int(edges[start[best]]), int(edges[stop[best]])
    if last - first > n / 2 and (first == 0 or last == n):  # the ratio is 1 in the longer part
        first, last = (0, first) if first else (last, n)
    return (first, last) if excess[best] > 0 else None


def _outliers(fit: Trend, false_alarms: float) -> BoolArray:
    """Return which sections have too improbable numbers of events. Above the mean, all count as of the
    largest size with the same variance: other weights do not have a higher tail (Bennett's inequality)."""
    size, number = fit.series.size * fit.noise, fit.expected * fit.series.seconds
    largest = max(fit.series.largest, size)
    excess, variance = fit.series.rate * fit.series.seconds - number, number * size / largest**2
    above = special.gammainc(np.maximum(variance + excess / largest, 0.0), variance)  # Poisson tails
    below = special.gammaincc((number + excess) / size + 1, number / size)
    limit = -np.expm1(np.log1p(-false_alarms) / len(number))
    return np.asarray(2 * np.minimum(above, below) < limit)


@lru_cache
def _penalty(n: int, false_alarms: float) -> float:
    """Return how much the best cut of n standard normal numbers lowers their sum of squares at most, but for
    a fraction of false alarms; from simulated runs."""
    random, before = np.random.default_rng(1), np.arange(1, n)
    gains = []
    for _ in range(int(np.ceil(_SIMULATED / false_alarms / 100))):
        sums = np.cumsum(random.normal(size=(100, n)), axis=1)
        bridge = sums[:, :-1] - sums[:, -1:] * before / n
        gains.append((bridge**2 * n / (before * (n - before))).max(axis=1))
    return float(np.quantile(np.concatenate(gains), 1 - false_alarms))
