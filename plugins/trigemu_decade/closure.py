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
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

from .events import ScoredEvents

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

    value: float  # NaN if no bin has enough events
    ndf: int


@dataclass(frozen=True)
class Acceptance:
    """Accepted fractions at a threshold: on y' if corrected, else on y, with the same overall fraction."""

    corrected: bool
    at_zero: bool  # Whether the corrected one of the pair is at y' = 0, not at the threshold of the trigger
    threshold: float
    overall: float
    overall_error: float
    value: tuple[float, ...]  # Of each bin, NaN if it is empty
    error: tuple[float, ...]  # That expected for the overall fraction, if all or no events pass
    against_q: ChiSquare  # For the hypothesis q everywhere


@dataclass(frozen=True)
class Closure:
    """Acceptances in the bins of one axis, or in the cells of two, with a row for each bin of the first."""

    axes: tuple[Axis, ...]
    events: tuple[int, ...]
    effective_events: tuple[float, ...]
    tested: tuple[bool, ...]
    acceptances: tuple[Acceptance, ...]  # With and without the correction at t = 0, then at the threshold


def closures(events: ScoredEvents) -> tuple[Closure, ...]:
    """Return the closure in each observable, then in the plane of the first two."""
    weight, x, y, q = events.weight, events.x, events.y, events.q
    selections: list[_Selection] = []
    for at_zero, cut in ((True, 0.0), (False, events.threshold)):
        passing = events.corrected > cut
        rejected = float(np.sum(weight[~passing]) / weight.sum())
        constant = float(np.quantile(y, rejected, weights=weight, method="inverted_cdf"))
        selections += [(True, at_zero, cut, passing), (False, at_zero, constant, y > constant)]
    need = MIN_EXPECTED / min(q, 1.0 - q)
    partitions: list[tuple[Axis, ...]] = [(make_axis(name, x[name], weight, need, MAX_BINS),) for name in x]
    if len(x) > 1:
        plane = need * MAX_PLANE_BINS
        two = (make_axis(name, x[name], weight, plane, MAX_PLANE_BINS) for name in list(x)[:2])
        partitions.append(tuple(two))
    found = []
    for axes in partitions:
        cell, cells = np.zeros(len(weight), np.int64), 1
        for axis in axes:
            cell, cells = cell * axis.bins + bin_numbers(axis, x[axis.observable]), cells * axis.bins
        rate, square = (np.bincount(cell, weight**k, cells).astype(np.float64) for k in (1, 2))
        effective = np.divide(rate**2, square, out=np.zeros(cells), where=square > 0)
        tested = effective >= need
        together = squares_by_cell(weight, events.interaction, cell, cells) - square
        sums = _Cells(cell, rate, square, together, tested)
        acceptances = tuple(_acceptance(events, selection, sums) for selection in selections)
        number = tuple(np.bincount(cell, minlength=cells).tolist())
        found.append(Closure(axes, number, tuple(effective.tolist()), tuple(tested.tolist()), acceptances))
    return tuple(found)


def squares(terms: FloatArray, interaction: IntArray) -> float:
    """Return Σ over interactions of (Σ terms)²; terms: float64[n]; interaction: int64[n], counted from 0."""
    return float(np.sum(np.bincount(interaction, terms) ** 2))


def squares_by_cell(terms: FloatArray, interaction: IntArray, cell: IntArray, cells: int) -> FloatArray:
    """Return the same within each cell, float64[cells]; cell: int64[n], the cell of each event."""
    pairs, pair = np.unique(cell * (interaction.max(initial=0) + 1) + interaction, return_inverse=True)
    number_of = np.empty(len(pairs), np.int64)
    number_of[pair] = cell
    return np.bincount(number_of, np.bincount(pair, terms) ** 2, cells).astype(np.float64)


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


#: As in `Acceptance`: whether it is corrected, at 0; its threshold; and the events that pass, bool[n].
_Selection = tuple[bool, bool, float, BoolArray]


class _Cells(NamedTuple):
    """The cells of a closure, with sums of weights."""

    cell: IntArray  # int64[n], the cell of each event
    rate: FloatArray  # float64[cells], Σw
    square: FloatArray  # float64[cells], Σw²
    together: FloatArray  # float64[cells], Σ over interactions of (Σw)², less Σw²
    tested: BoolArray  # bool[cells]


def _acceptance(events: ScoredEvents, selection: _Selection, cells: _Cells) -> Acceptance:
    """Return the accepted fractions of a selection."""
    corrected, at_zero, threshold, passing = selection
    cell, rate, square, together, tested = cells
    weight, interaction = events.weight, events.interaction
    overall = float(weight[passing].sum() / weight.sum())
    terms = weight * (passing - overall)
    variation = squares(terms, interaction)
    error = math.sqrt(variation) / float(weight.sum())
    # The correlation of decisions on events from one interaction
    most = overall * (1 - overall) * (squares(weight, interaction) - float(square.sum()))
    pairs = variation - float(np.sum(terms**2))
    correlation = max(pairs / most, 0.0) if most > 0 else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.bincount(cell[passing], weight[passing], len(rate)) / rate
        scatter = weight * (passing - value[cell])
        variance = squares_by_cell(scatter, interaction, cell, len(rate)) / rate**2
        effective = rate**2 / (square + correlation * together)
    certain = (value == 0) | (value == 1)
    errors = np.sqrt(np.where(certain, overall * (1 - overall) / effective, variance))
    pulls = (value - events.q)[tested] ** 2 * effective[tested] / (events.q * (1 - events.q))
    chi_square = ChiSquare(float(pulls.sum()) if len(pulls) else math.nan, len(pulls))
    fractions, their_errors = tuple(value.tolist()), tuple(errors.tolist())
    return Acceptance(corrected, at_zero, threshold, overall, error, fractions, their_errors, chi_square)
