"""The live fraction of rules and a filling scheme at a rate of accepts, if crossings are independent.

This is what a menu of any composition loses, except for effects of its prescale counters: its accepts are one
in so many filled crossings, and crossings follow each other at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.base.errors import TrigemuError

from .beam import uniform
from .filling import ORBIT, Filling
from .rules import Rules, apply_rules, new_state, rule_table

#: Accepts before the rules that are drawn for one rate, and the batches from which the error follows.
ATTEMPTS, BATCHES = 1_000_000, 50


@dataclass(frozen=True)
class LiveFraction:
    """The fraction of accepts that rules allow."""

    input_rate_hz: float  #: The rate of accepts before the rules in Hz
    value: float  #: The fraction
    error: float  #: Its statistical uncertainty


@dataclass(frozen=True)
class LiveCurve:
    """The live fraction at several rates."""

    rules: Rules  #: The rules
    filling: Filling  #: The filling scheme
    points: tuple[LiveFraction, ...]  #: The points, in the order of rates

    def at(self, input_rate_hz: float) -> float:
        """Return the live fraction L at a rate, from a parabola through 1 / L at the nearest points: for
        simple dead time, and for a bucket that is always full, 1 / L is a straight line."""
        rates = np.array([point.input_rate_hz for point in self.points])
        inverse = 1.0 / np.array([max(point.value, 1e-9) for point in self.points])
        near = np.argsort(np.abs(rates - input_rate_hz), kind="stable")[:3]
        value = 0.0
        for i in near:  # Lagrange's form
            others = [j for j in near if j != i]
            value += inverse[i] * np.prod((input_rate_hz - rates[others]) / (rates[i] - rates[others]))
        return min(1.0, 1.0 / value) if value > 0 else 1.0


def live_fraction(
    rules: Rules, filling: Filling, input_rate_hz: float, *, attempts: int = ATTEMPTS, seed: int = 1
) -> LiveFraction:
    """Return the fraction of accepts that rules allow at a rate, if crossings are independent.

    input_rate_hz: of accepts before the rules, up to the crossing rate of the scheme. attempts: how many of
    these are drawn. With the same seed, fractions at different rates are strongly correlated. Prefiring is
    left out. Raises TrigemuError if the rules veto every filled slot.

    >>> live = live_fraction(read_rules("cms"), read_filling("lhc-2018-2544"), 100e3)
    >>> f"{100 * live.value:.1f} %"
    '98.9 %'
    """
    table = rule_table(rules, filling)
    chance = input_rate_hz / filling.crossing_rate_hz
    if not 0 < chance <= 1:
        raise TrigemuError(
            f"input rate {input_rate_hz:g} Hz: expected a rate above 0, up to the crossing rate of "
            f"{filling.crossing_rate_hz:g} Hz"
        )
    luminosity = np.ones(len(filling.slots)) if filling.luminosity is None else filling.luminosity
    largest = min(1.0, chance * float(luminosity.max()))
    kept = np.minimum(chance * luminosity, 1.0) / largest
    idle = math.log1p(-largest) if largest < 1.0 else -math.inf
    random = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    state, y, live, used = new_state(table), -1, np.zeros(0, np.bool_), 0
    while (missing := attempts // BATCHES * BATCHES - len(live)) > 0:
        drawn = uniform(random, used, 2 * max(missing, 1000))
        used += len(drawn)
        after = y + np.cumsum(1 + (np.log(1.0 - drawn[::2]) / idle).astype(np.int64))
        orbit, bunch = np.divmod(after, len(filling.slots))
        attempted = np.flatnonzero(drawn[1::2] < kept[bunch])[:missing]
        crossing, y = (orbit * ORBIT + filling.slots[bunch])[attempted], int(after[-1])
        cause, blocker, accepts = np.empty((3, len(crossing)), np.int64)
        apply_rules(table, state, crossing, np.zeros(len(crossing), np.bool_), cause, blocker, accepts)
        live = np.append(live, cause < 0)
    in_batches = live.reshape(BATCHES, -1).sum(axis=1) / (len(live) // BATCHES)
    error = float(np.std(in_batches, ddof=1) / math.sqrt(BATCHES))
    return LiveFraction(float(input_rate_hz), float(live.sum() / len(live)), error)


def live_curve(
    rules: Rules,
    filling: Filling,
    rates_hz: Sequence[float],
    *,
    attempts: int = ATTEMPTS,
    seed: int = 1,
) -> LiveCurve:
    """Return the live fraction at several rates, as `live_fraction` does."""
    points = (live_fraction(rules, filling, rate, attempts=attempts, seed=seed) for rate in rates_hz)
    return LiveCurve(rules, filling, tuple(points))


def largest_input_rate(
    rules: Rules, filling: Filling, live: float, *, attempts: int = 400_000, seed: int = 1
) -> float:
    """Return the largest rate of accepts before the rules at which at least a fraction of them is live.

    The rate, in Hz, is about 1 % from the exact one with the default number of attempts; it is the crossing
    rate if the fraction is never smaller. Raises TrigemuError if no rate has such a live fraction, because of
    vetoed slots.

    >>> rate = largest_input_rate(read_rules("cms"), read_filling("lhc-2018-2544"), 0.95)
    >>> 200e3 < rate < 230e3
    True
    """
    if not 0 < live < 1:
        raise TrigemuError(f"live fraction {live:g}: expected a number between 0 and 1")

    def reached(rate: float) -> bool:
        return live_fraction(rules, filling, rate, attempts=attempts, seed=seed).value >= live

    high = filling.crossing_rate_hz
    low = high * 1e-9
    if reached(high):
        return high
    if not reached(low):
        raise TrigemuError(f"rules {rules.name!r}: no rate has a live fraction of {live:g}: slots are vetoed")
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if reached(middle) else (low, middle)
    return low
