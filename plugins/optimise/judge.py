"""What a menu is worth on a half of the events: its rate and efficiencies with errors, and paired
differences.

Any menu of the same triggers can be judged, whatever its thresholds: events are decided one by one, by the
functions that give the rates of `trigemu run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trigemu.api import FloatArray, IntArray, Menu, acceptances, make_plan, members_by_level

from .problem import Problem
from .rows import Decisions, Group, Parents, distinct, summed
from .setup import Half, Setup

#: The relative step of numerical derivatives of the loss.
_STEP = 1e-6


@dataclass(frozen=True)
class Judged:
    """A menu on a half of the events.

    Attributes
    ----------
    rate_hz, rate_error_hz : float
        The rate of the menu and its statistical error, in Hz.
    efficiencies, errors : float64[channels]
        The efficiency of each channel, and its error.
    loss, loss_error : float
        The figure of merit, and its error.
    influence : float64[m]
        By how much each interaction moves the loss, to first order; the square root of the sum of its squares
        is the error.
    interactions : uint64[m]
        The interactions, ascending.
    """

    rate_hz: float
    rate_error_hz: float
    efficiencies: FloatArray
    errors: FloatArray
    loss: float
    loss_error: float
    influence: FloatArray
    interactions: Parents

    def less(self, other: Judged) -> tuple[float, float]:
        """Return the loss of another menu on the same events minus that of this one, with its paired
        error."""
        difference = other.influence - self.influence
        return other.loss - self.loss, float(np.sqrt((difference**2).sum()))


class Judge:
    """Judges menus on the events of a setup."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._decisions = Decisions(setup.menu, setup.scores, setup.tables)

    def accepted(self, menu: Menu, chosen: IntArray) -> FloatArray:
        """Return the probability that the last level of a menu accepts each of some events, float64[n]."""
        plan = make_plan([menu])
        names = list(plan.bits[0])
        decisions = [self._decisions.at(menu.trigger(name), chosen) for name in names]
        number, first = distinct(decisions, len(chosen))
        words = np.zeros((len(first), max(1, -(-len(names) // 64))), np.uint64)
        for bit, fired in enumerate(decisions):
            words[:, bit // 64] |= fired[first].astype(np.uint64) << np.uint64(bit % 64)
        accepted = acceptances(words, menu, {name: bit for bit, name in enumerate(names)})
        *_, members = members_by_level(menu).values()
        return accepted.either(members)[number]

    def rate(self, menu: Menu, half: Half) -> float:
        """Return the rate of a menu in a half, in Hz."""
        return float(half.background.weight @ self.accepted(menu, half.chosen[0]))

    def judged(self, menu: Menu, half: Half, problem: Problem) -> Judged:
        """Judge a menu on a half. problem: with the ceilings and weights of the channels."""
        fractions = self.accepted(menu, half.chosen[0])
        rate = half.background.weight * fractions
        of_channels = [
            (group, self.accepted(menu, chosen))
            for group, chosen in zip(half.channels, half.chosen[1:], strict=True)
        ]
        efficiencies = np.array([group.weight @ accepted for group, accepted in of_channels])
        moved = [
            group.weight * (accepted - efficiency)
            for (group, accepted), efficiency in zip(of_channels, efficiencies, strict=True)
        ]
        errors = [_error(group, of) for (group, _), of in zip(of_channels, moved, strict=True)]
        slopes = derivatives(problem.loss, efficiencies)
        interactions, influence = _by_interaction(
            np.concatenate([group.interaction for group, _ in of_channels]),
            np.concatenate([slope * of for slope, of in zip(slopes, moved, strict=True)]),
        )
        return Judged(
            float(rate.sum()),
            _error(half.background, rate),
            efficiencies,
            np.array(errors),
            float(problem.loss(efficiencies)),
            float(np.sqrt((influence**2).sum())),
            influence,
            interactions,
        )


def derivatives(loss: Callable[[FloatArray], FloatArray], efficiencies: FloatArray) -> FloatArray:
    """Return ∂loss/∂ε of each channel, float64[channels]."""
    steps = _STEP * np.maximum(efficiencies, _STEP)
    up = loss(efficiencies[:, None] + np.diag(steps))
    down = loss(efficiencies[:, None] - np.diag(steps))
    return (up - down) / (2.0 * steps)


def _error(group: Group, values: FloatArray) -> float:
    """Return √Σ over interactions of (Σ values)²."""
    return float(np.sqrt((_by_interaction(group.interaction, values)[1] ** 2).sum()))


def _by_interaction(interaction: Parents, values: FloatArray) -> tuple[Parents, FloatArray]:
    distinct_, number = np.unique(interaction, return_inverse=True)
    return distinct_, summed(number.ravel(), values, len(distinct_))
