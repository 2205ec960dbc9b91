"""Closure: does the trigger accept the same fraction of background at every x?

Bins are made from all events, never from accepted ones. With n_eff = (Σw)² / Σw² in a bin, its accepted
fraction under the hypothesis a = p has the variance p (1 − p) / n_eff. χ² uses this expected variance: the
observed one is smallest if few events are accepted by chance, which biases χ² at low statistics. Without
weights it is Pearson's χ². The variance assumes that, at given x, passing does not depend on the weight.

Decisions on events made from one interaction are correlated. All such pairs measure the correlation ρ; in the
variance of a bin, Σw² becomes Σw² + ρ (Σ over interactions of (Σw)² − Σw²).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray


def squares(terms: FloatArray, interaction: IntArray) -> float:
    """Return Σ over interactions of (Σ terms)²; terms: float64[n]; interaction: int64[n], counted from 0."""
    return float(np.sum(np.bincount(interaction, terms) ** 2))


def squares_by_cell(terms: FloatArray, interaction: IntArray, cell: IntArray, cells: int) -> FloatArray:
    """Return the same within each cell, float64[cells]; cell: int64[n], the cell of each event."""
    pairs, pair = np.unique(cell * (interaction.max(initial=0) + 1) + interaction, return_inverse=True)
    number_of = np.empty(len(pairs), np.int64)
    number_of[pair] = cell
    return np.bincount(number_of, np.bincount(pair, terms) ** 2, cells).astype(np.float64)


#: χ² uses bins in which at least this many effective events are expected to be accepted, and rejected.
MIN_EXPECTED = 5.0
MAX_BINS = 20
#: Maximum number of bins on each axis of the plane of two observables.
MAX_PLANE_BINS = 6


@dataclass(frozen=True)
class Axis:
    """Bins of an observable: first, if `missing`, one for events without it (x = 0); then those between the
    edges, low ≤ x < high, the last one including its upper edge."""

    observable: str
    missing: bool
    edges: tuple[float, ...]

    @property
    def bins(self) -> int:
        return self.missing + max(len(self.edges) - 1, 0)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The edges of each bin, NaN of the one for events without the observable."""
        return [(np.nan, np.nan)] * self.missing + [*pairwise(self.edges)]


@dataclass(frozen=True)
class ChiSquare:
    """A χ² of accepted fractions."""

    value: float | None  # None if no bin has enough events, or all or none of them pass
    ndf: int
    p: float | None  # The hypothesis, a fraction


@dataclass(frozen=True)
class Acceptance:
    """Accepted fractions at a threshold: on y' if corrected, else on y, with the same overall fraction."""

    corrected: bool
    at_zero: bool  # Whether the corrected one of the pair is at y' = 0, not at the threshold of the trigger
    threshold: float
    overall: float
    overall_error: float
    value: tuple[float | None, ...]  # Of each bin, None if it is empty
    error: tuple[float | None, ...]  # That expected for the overall fraction, if all or no events pass
    against_q: ChiSquare  # For the hypothesis q everywhere
    against_flat: ChiSquare  # For the same fitted fraction everywhere, which costs one degree of freedom


@dataclass(frozen=True)
class Closure:
    """Acceptances in the bins of one axis, or in the cells of two, with a row for each bin of the first."""

    axes: tuple[Axis, ...]
    events: tuple[int, ...]
    effective_events: tuple[float, ...]
    tested: tuple[bool, ...]
    acceptances: tuple[Acceptance, ...]  # With and without the correction at t = 0, then at the threshold


def closures(
    weight: FloatArray,
    interaction: IntArray,
    x: Mapping[str, FloatArray],
    y: FloatArray,
    corrected: FloatArray,
    q: float,
    threshold: float,
) -> tuple[Closure, ...]:
    """Return the closure in each observable, then in the plane of two. corrected: y'."""
    selections = []
    for at_zero, cut in ((True, 0.0), (False, threshold)):
        passing = corrected > cut
        rejected = float(np.sum(weight[~passing]) / weight.sum())
        constant = float(np.quantile(y, rejected, weights=weight, method="inverted_cdf"))
        selections.append(_Selection(True, at_zero, cut, passing))
        selections.append(_Selection(False, at_zero, constant, y > constant))
    need = MIN_EXPECTED / min(q, 1.0 - q)
    partitions: list[tuple[Axis, ...]] = [(make_axis(name, x[name], weight, need, MAX_BINS),) for name in x]
    if len(x) > 1:
        plane = need * MAX_PLANE_BINS
        partitions.append(
            tuple(make_axis(name, x[name], weight, plane, MAX_PLANE_BINS) for name in list(x)[:2])
        )
    found = []
    for axes in partitions:
        cell, cells = np.zeros(len(weight), np.int64), 1
        for axis in axes:
            cell, cells = cell * axis.bins + bin_numbers(axis, x[axis.observable]), cells * axis.bins
        sums = _Sums(weight, interaction, cell, cells)
        tested = sums.effective >= need
        acceptances = tuple(_acceptance(selection, sums, tested, q) for selection in selections)
        events = tuple(np.bincount(cell, minlength=cells).tolist())
        effective = tuple(sums.effective.tolist())
        found.append(Closure(axes, events, effective, tuple(tested.tolist()), acceptances))
    return tuple(found)


class _Selection(NamedTuple):
    """The events that pass, bool[n]; the rest as in `Acceptance`."""

    corrected: bool
    at_zero: bool
    threshold: float
    passing: BoolArray


def make_axis(name: str, x: FloatArray, weight: FloatArray, need: float, most: int) -> Axis:
    """Make at most `most` bins, each with `need` effective events if possible. They divide the number of
    events, not the rate, more finely towards the tail, where most deviations occur."""
    present = x != 0
    missing = not present.all()
    if not present.any():
        return Axis(name, missing, ())
    levels = 1 - np.linspace(1, 0, most + 1) ** 1.5
    edges = np.quantile(x[present], levels, method="inverted_cdf")
    edges = np.unique(edges) if edges[0] < edges[-1] else edges[[0, -1]]
    fine = np.searchsorted(edges[1:-1], x[present], "right")
    rate, square = (np.bincount(fine, weight[present] ** k, len(edges) - 1) for k in (1, 2))
    upper, low = [], 0
    for high in range(1, len(edges)):
        if rate[low:high].sum() ** 2 >= need * square[low:high].sum():
            upper.append(float(edges[high]))
            low = high
    # The last of `upper` is the end of the axis, or begins a bin with too few events.
    return Axis(name, missing, (float(edges[0]), *upper[:-1], float(edges[-1])))


def bin_numbers(axis: Axis, x: FloatArray) -> IntArray:
    """Return the bin of each event, int64[n]."""
    present = np.searchsorted(np.asarray(axis.edges[1:-1]), x, "right") + axis.missing
    return np.where(x == 0, 0, present)


class _Sums:
    """Sums of weights in cells. weight, interaction, cell: of the n events; rate, square: float64[cells], Σw
    and Σw²; together: Σ over interactions of (Σw)², minus Σw²; effective: (Σw)² / Σw²."""

    def __init__(self, weight: FloatArray, interaction: IntArray, cell: IntArray, cells: int) -> None:
        self.weight, self.interaction, self.cell = weight, interaction, cell
        self.rate, self.square = (np.bincount(cell, weight**k, cells).astype(np.float64) for k in (1, 2))
        self.together = self.squares(weight) - self.square
        self.effective = np.divide(self.rate**2, self.square, out=np.zeros(cells), where=self.square > 0)

    def squares(self, terms: FloatArray) -> FloatArray:
        return squares_by_cell(terms, self.interaction, self.cell, len(self.rate))

    def correlation(self, passing: BoolArray, overall: float) -> float:
        """Return ρ, the correlation between decisions on events from one interaction; at least 0."""
        terms = self.weight * (passing - overall)
        pairs = squares(terms, self.interaction) - float(np.sum(terms**2))
        most = overall * (1 - overall)
        most *= squares(self.weight, self.interaction) - float(self.square.sum())
        return max(pairs / most, 0.0) if most > 0 else 0.0


def _acceptance(selection: _Selection, sums: _Sums, tested: BoolArray, q: float) -> Acceptance:
    weight, passing = sums.weight, selection.passing
    overall = float(weight[passing].sum() / weight.sum())
    overall_error = math.sqrt(squares(weight * (passing - overall), sums.interaction)) / float(weight.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.bincount(sums.cell[passing], weight[passing], len(sums.rate)) / sums.rate
        variance = sums.squares(weight * (passing - value[sums.cell])) / sums.rate**2
        square = sums.square + sums.correlation(passing, overall) * sums.together
        effective = sums.rate**2 / square
    certain = (value == 0) | (value == 1)
    error = np.sqrt(np.where(certain, overall * (1 - overall) / effective, variance))
    return Acceptance(
        *selection[:3],
        overall,
        overall_error,
        _plain(value),
        _plain(error),
        _chi_square(value[tested], effective[tested], q),
        _chi_square(value[tested], effective[tested], None),
    )


def _chi_square(value: FloatArray, effective: FloatArray, p: float | None) -> ChiSquare:
    """Return the χ² against p; if p is None, against the best fit, the mean weighted by effective events.
    (The overall acceptance is not the best fit: its error is dominated by the largest weights.)"""
    if not len(value):
        return ChiSquare(None, 0, p)
    fitted = float(np.average(value, weights=effective)) if p is None else p
    ndf = len(value) - (p is None)
    if not 0 < fitted < 1:
        return ChiSquare(None, ndf, fitted)
    pulls = (value - fitted) ** 2 * effective / (fitted * (1 - fitted))
    return ChiSquare(float(pulls.sum()), ndf, fitted)


def _plain(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)
