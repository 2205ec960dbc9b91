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
    """value ± error, both None if there are no events."""

    value: float | None
    error: float | None


@dataclass(frozen=True)
class Pinball:
    """The mean pinball loss at τ = 1 − q."""

    quantile: float  # Of Y(x)
    constant: float  # Of the best constant, which is optimised on these events, where Y is not
    difference: Estimate  # With its error from pairs


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's ρ of an observable. The method does not aim at a small ρ: it decorrelates one quantile."""

    observable: str
    present: bool  # Over the events that have it, else over all
    before: Estimate  # With y
    after: Estimate  # With y'


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
    pull: float | None  # (share − ceiling) / its error; None if no event or every event is accepted


@dataclass(frozen=True)
class Diagnostics:
    """All results except figures, ready for `dataclasses.asdict` and JSON."""

    q: float
    threshold: float  # On y'
    threshold_error: float | None
    events: int
    rate_hz: float
    closures: tuple[Closure, ...]  # In bins of each observable, then in the plane of the first two
    pinball: Pinball
    rank_correlations: tuple[RankCorrelation, ...]
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
        pinball=pinball(events),
        rank_correlations=rank_correlations(events),
        overlap=overlap(events, events.corrected > events.threshold),
        overlap_uncorrected=overlap(events, events.y > events.y_threshold),
        overlap_at_zero=overlap(events, events.corrected > 0),
    )


def pinball(events: ScoredEvents) -> Pinball:
    tau, weight, interaction = 1.0 - events.q, events.weight, events.interaction
    best = np.quantile(events.y, tau, weights=weight, method="inverted_cdf")
    excesses = [events.y - guess for guess in (events.quantile, best)]
    losses = [np.maximum(tau * excess, (tau - 1.0) * excess) for excess in excesses]
    quantile, constant = (float(np.average(loss, weights=weight)) for loss in losses)
    return Pinball(quantile, constant, _mean(losses[0] - losses[1], weight, interaction))


def rank_correlations(events: ScoredEvents) -> tuple[RankCorrelation, ...]:
    """Return the correlation of each observable over all events, and over those that have it."""
    correlations = []
    for name, x in events.x.items():
        present = x != 0
        for rows in [present] if present.all() else [np.ones_like(present), present]:
            columns = events.weight[rows], events.interaction[rows]
            before = rank_correlation(x[rows], events.y[rows], *columns)
            after = rank_correlation(x[rows], events.corrected[rows], *columns)
            correlations.append(RankCorrelation(name, rows is present, before, after))
    return tuple(correlations)


def rank_correlation(a: FloatArray, b: FloatArray, weight: FloatArray, interaction: IntArray) -> Estimate:
    """Return Spearman's ρ of weighted events: the rank of an event is the weight of the events below it plus
    half the weight of its equals. ∂ρ/∂w has a term for its own ranks and one for those above it."""
    (a, order_a), (b, order_b) = (_centred_ranks(values, weight) for values in (a, b))
    cross, square_a, square_b = (float(np.sum(weight * product)) for product in (a * b, a * a, b * b))
    if not square_a * square_b > 0:
        return Estimate(None, None)
    rho = cross / np.sqrt(square_a * square_b)
    lift_a, lift_b = _below(weight * a, order_a), _below(weight * b, order_b)
    concordance = a * b - _below(weight * b, order_a) - _below(weight * a, order_b)
    influence = concordance / np.sqrt(square_a * square_b)
    influence -= 0.5 * rho * ((a * a - 2 * lift_a) / square_a + (b * b - 2 * lift_b) / square_b)
    return Estimate(float(rho), _error(weight * influence, interaction))


def _centred_ranks(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return ranks minus their mean, and int64[n], the index of each value among the distinct ones."""
    order = np.unique(values, return_inverse=True)[1]
    return _below(weight, order) - 0.5 * weight.sum(), order


def _below(terms: FloatArray, order: IntArray) -> FloatArray:
    """Return float64[n]: the sum of the terms of lower events plus half of the terms of equal events."""
    sums = np.bincount(order, terms)
    return (np.cumsum(sums) - 0.5 * sums)[order]


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
    pull = None
    if share.value is not None and ceiling.value is not None:
        excess = share.value - ceiling.value
        scatter = _error(weight * (lost - ceiling.value), interaction) / _error(weight, interaction)
        share = Estimate(share.value, share.error or scatter * _error(w, interactions) / float(w.sum()))
        error = scatter * _error(weight * (accepted / w.sum() - 1.0 / weight.sum()), interaction)
        pull = excess / error if error > 0 else None
    both = {name: _rate(w * fraction[accepted], interactions) for name, fraction in events.primary.items()}
    not_unique = _rate(w * events.any_primary[accepted], interactions)
    return Overlap(_rate(w, interactions), _rate(w * u, interactions), not_unique, both, share, ceiling, pull)


def _rate(terms: FloatArray, interaction: IntArray) -> Estimate:
    return Estimate(float(terms.sum()), _error(terms, interaction))


def _mean(values: FloatArray, weight: FloatArray, interaction: IntArray) -> Estimate:
    """Return the weighted mean, and its error √(Σ (Σ w (v − mean))²) / Σ w, of dependent sums."""
    total = float(weight.sum())
    if not total > 0:
        return Estimate(None, None)
    mean = float(np.sum(weight * values)) / total
    return Estimate(mean, _error(weight * (values - mean), interaction) / total)


def _error(terms: FloatArray, interaction: IntArray) -> float:
    return math.sqrt(squares(terms, interaction))
