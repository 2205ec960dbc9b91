"""Diagnostics of the decorrelation: numbers from plain arrays, for `figures.py` and for JSON.

An event passes if y' = y − Y(x) > t. At t = 0 the fraction q of the background passes at every x; at other t
the fraction may vary, even for an exact Y. Counts of interactions are Poisson: an event changes any result r
by its weight times the influence ∂r/∂w, so the variance of r is Σ (Σ w ∂r/∂w)², the inner sum over the events
made from one interaction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.emulation.budgets import threshold_for

from .closure import Closure, closures, squares


@dataclass(frozen=True)
class ScoredEvents:
    """The n events that `requires` selects.

    weight: float64[n], Hz. interaction: int64[n], the number of the interaction that each is made from. x:
    float64[n] of each primary observable, 0 if its object is missing. y, quantile: float64[n], the score and
    Y(x), its (1 − q) quantile. threshold: t, on y'; threshold_error: its error, None if t was given.
    y_threshold: the threshold on y of the trigger without the correction. primary: float64[n] for each other
    trigger, the probability that it accepts the event; any_primary: float64[n], that any of them does.
    """

    weight: FloatArray
    interaction: IntArray
    x: Mapping[str, FloatArray]
    y: FloatArray
    quantile: FloatArray
    q: float
    threshold: float
    threshold_error: float | None
    y_threshold: float
    primary: Mapping[str, FloatArray]
    any_primary: FloatArray

    @property
    def corrected(self) -> FloatArray:
        """y' = y − Y(x)."""
        return self.y - self.quantile


@dataclass(frozen=True)
class Estimate:
    """value ± error, both None if there are no events."""

    value: float | None
    error: float | None


@dataclass(frozen=True)
class Pinball:
    """The mean pinball loss at τ = 1 − q: of Y(x), of the best constant, and the difference of the two, with
    its error from pairs. The constant is optimised on these events, Y is not."""

    quantile: float
    constant: float
    difference: Estimate


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's ρ of an observable with y (before) and with y' (after), over all events or only those that
    have it (present). Only one quantile is decorrelated: the method does not aim at a small ρ."""

    observable: str
    present: bool
    before: Estimate
    after: Estimate


@dataclass(frozen=True)
class Overlap:
    """The overlap of a trigger with others.

    total, unique, not_unique = total − unique, and primary, the rate shared with each other trigger: in Hz.
    share: unique / total. ceiling: the fraction of the events selected by `requires` that fail all other
    triggers, which is the share of any decision that is independent of theirs. pull: (share − ceiling) / its
    error; None if no event or every event is accepted.
    """

    total: Estimate
    unique: Estimate
    not_unique: Estimate
    primary: dict[str, Estimate]
    share: Estimate
    ceiling: Estimate
    pull: float | None


@dataclass(frozen=True)
class Diagnostics:
    """All results except figures, ready for `dataclasses.asdict` and JSON.

    threshold, its error: of y'. closures: in bins of each observable, and last in the plane of the first two,
    if there are two. overlap: of y' > threshold; overlap_uncorrected: of y > y_threshold; overlap_at_zero: of
    y' > 0.
    """

    q: float
    threshold: float
    threshold_error: float | None
    events: int
    rate_hz: float
    closures: tuple[Closure, ...]
    pinball: Pinball
    rank_correlations: tuple[RankCorrelation, ...]
    overlap: Overlap
    overlap_uncorrected: Overlap
    overlap_at_zero: Overlap


def diagnose(events: ScoredEvents) -> Diagnostics:
    return Diagnostics(
        q=events.q,
        threshold=events.threshold,
        threshold_error=events.threshold_error,
        events=len(events.weight),
        rate_hz=float(events.weight.sum()),
        closures=closures(
            events.weight,
            events.interaction,
            events.x,
            events.y,
            events.corrected,
            events.q,
            events.threshold,
        ),
        pinball=pinball(events),
        rank_correlations=rank_correlations(events),
        overlap=overlap(events, events.corrected > events.threshold),
        overlap_uncorrected=overlap(events, events.y > events.y_threshold),
        overlap_at_zero=overlap(events, events.corrected > 0),
    )


def score_threshold(y: FloatArray, failing: FloatArray, unique: float) -> float:
    """Return the threshold on the score alone at a unique rate; infinite if no threshold gives that rate."""
    try:
        return threshold_for(y, failing, unique).threshold if unique > 0 else math.inf
    except ValueError:
        return math.inf


def pinball(events: ScoredEvents) -> Pinball:
    tau, weight, interaction = 1.0 - events.q, events.weight, events.interaction
    best = np.quantile(events.y, tau, weights=weight, method="inverted_cdf")
    losses = [_pinball_loss(events.y - guess, tau) for guess in (events.quantile, best)]
    quantile, constant = (float(np.average(loss, weights=weight)) for loss in losses)
    return Pinball(quantile, constant, _mean(losses[0] - losses[1], weight, interaction))


def _pinball_loss(excess: FloatArray, tau: float) -> FloatArray:
    return np.maximum(tau * excess, (tau - 1.0) * excess)


def rank_correlations(events: ScoredEvents) -> tuple[RankCorrelation, ...]:
    """Return the correlation of each observable over all events and, if some events lack it, over those that
    have it."""
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
    """Return Spearman's ρ of weighted events: the correlation of ranks, where the rank of an event is the
    weight of the events below it plus half the weight of its equals, including itself.

    Weights enter the ranks too: ∂ρ/∂w has a term for the event's own product of ranks and one for the ranks
    of all events above it.
    """
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
    """Return the overlap of the trigger with these decisions, bool[n].

    The share is a ratio of dependent sums, S = Σ w u / Σ w over accepted events, where u is the probability
    that no other trigger accepts; so is the ceiling C, over all events, which include the accepted ones. With
    the total weights T of accepted and R of all events, S − C is Σ w (s / T − 1 / R) (u − C) over all events,
    with s = 1 for accepted ones; this includes the correlation. For the pull, (u − C)² is replaced by its
    mean over all events, which is correct if S = C: the observed value is smallest if all events are unique
    by chance. In that case the mean also gives the error of the share.
    """
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
    """Return the weighted mean and its error, √(Σ (Σ w (v − mean))²) / Σ w, as of a ratio of dependent
    sums."""
    total = float(weight.sum())
    if not total > 0:
        return Estimate(None, None)
    mean = float(np.sum(weight * values)) / total
    return Estimate(mean, _error(weight * (values - mean), interaction) / total)


def _error(terms: FloatArray, interaction: IntArray) -> float:
    return math.sqrt(squares(terms, interaction))
