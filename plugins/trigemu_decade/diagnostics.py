"""Diagnostics of the decorrelation: numbers from plain arrays, for `figures.py` and for JSON.

An event passes if y' = y − Y(x) > t. At t = 0 the fraction q of the background passes at every x; at other t
the fraction may vary, even for an exact Y. Counts of interactions are Poisson: an event changes any result r
by its weight times the influence ∂r/∂w, so the variance of r is Σ (Σ w ∂r/∂w)², the inner sum over the events
made from one interaction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

from .closure import Closure, closures, squares
from .events import ScoredEvents


@dataclass(frozen=True)
class Estimate:
    """value ± error, both NaN if there are no events."""

    value: float
    error: float


@dataclass(frozen=True)
class Overlap:
    """The overlap of a trigger with others; rates in Hz."""

    total: Estimate
    unique: Estimate
    not_unique: Estimate  # total − unique
    primary: dict[str, Estimate]  # The rate shared with each other trigger
    share: Estimate  # unique / total
    # The fraction of the events selected by `requires` that fail all other triggers, which is the share of
    # any decision that is independent of theirs.
    ceiling: Estimate
    pull: float  # (share − ceiling) / its error; NaN if no event or every event is accepted


@dataclass(frozen=True)
class Diagnostics:
    """All results except figures, ready for `dataclasses.asdict` and JSON."""

    q: float
    threshold: float  # On y'
    threshold_error: float | None
    events: int
    rate_hz: float
    closures: tuple[Closure, ...]  # In bins of each observable, then in the plane of the first two
    overlap: Overlap  # Of y' > threshold
    overlap_uncorrected: Overlap  # Of y > y_threshold
    overlap_at_zero: Overlap  # Of y' > 0


def diagnose(events: ScoredEvents) -> Diagnostics:
    return Diagnostics(
        q=events.q,
        threshold=events.threshold,
        threshold_error=events.threshold_error,
        events=len(events.weight),
        rate_hz=float(events.weight.sum()),
        closures=closures(events),
        overlap=overlap(events, events.corrected > events.threshold),
        overlap_uncorrected=overlap(events, events.y > events.y_threshold),
        overlap_at_zero=overlap(events, events.corrected > 0),
    )


def overlap(events: ScoredEvents, accepted: BoolArray) -> Overlap:
    """Return the overlap of the trigger with these decisions, bool[n]. The share is a ratio of dependent
    sums, S = Σ w u / Σ w over accepted events, where u is the probability that no other trigger accepts; so
    is the ceiling C, over all events, which include the accepted ones. With the total weights T of accepted
    and R of all events, S − C is Σ w (s / T − 1 / R) (u − C) over all events, with s = 1 for accepted ones;
    this includes the correlation. For the pull, (u − C)² is replaced by its mean over all events, which is
    correct if S = C: the observed value is smallest if all events are unique by chance. In that case the mean
    also gives the error of the share."""
    weight, lost, interaction = events.weight, 1.0 - events.any_primary, events.interaction
    w, u, interactions = weight[accepted], lost[accepted], interaction[accepted]
    ceiling, share = _mean(lost, weight, interaction), _mean(u, w, interactions)
    pull = math.nan
    if w.sum() > 0:
        scatter = _error(weight * (lost - ceiling.value), interaction) / _error(weight, interaction)
        share = Estimate(share.value, share.error or scatter * _error(w, interactions) / float(w.sum()))
        error = scatter * _error(weight * (accepted / w.sum() - 1.0 / weight.sum()), interaction)
        pull = (share.value - ceiling.value) / error if error > 0 else math.nan
    both = {name: _rate(w * fraction[accepted], interactions) for name, fraction in events.primary.items()}
    not_unique = _rate(w * events.any_primary[accepted], interactions)
    return Overlap(_rate(w, interactions), _rate(w * u, interactions), not_unique, both, share, ceiling, pull)


def _rate(terms: FloatArray, interaction: IntArray) -> Estimate:
    return Estimate(float(terms.sum()), _error(terms, interaction))


def _mean(values: FloatArray, weight: FloatArray, interaction: IntArray) -> Estimate:
    """Return the weighted mean, and its error √(Σ (Σ w (v − mean))²) / Σ w, of dependent sums."""
    total = float(weight.sum())
    if not total > 0:
        return Estimate(math.nan, math.nan)
    mean = float(np.sum(weight * values)) / total
    return Estimate(mean, _error(weight * (values - mean), interaction) / total)


def _error(terms: FloatArray, interaction: IntArray) -> float:
    return math.sqrt(squares(terms, interaction))
