"""Live fractions against closed forms: simple dead time, and the Markov chain of a bucket."""

from __future__ import annotations

import numpy as np
import pytest
from trigemu_live import every_slot, largest_input_rate, live_fraction, read_rules, spread
from trigemu_live.rules import Rule, Rules, live_at

from trigemu import TrigemuError

FULL = every_slot(40e6)


@pytest.mark.parametrize("dead", [1, 4, 20, 100, 1000])
@pytest.mark.parametrize("rate", [1e4, 1e5, 1e6, 1e7])
def test_simple_dead_time(dead: int, rate: float) -> None:
    """An accept with probability p is followed by τ dead crossings, and 1/p − 1 idle ones on average: of the
    accepts, 1 / (1 + p τ) are live."""
    rules = Rules("", (Rule(simple=dead),))
    live = live_fraction(rules, FULL, rate, attempts=300_000, seed=dead)
    expected = 1.0 / (1.0 + dead * rate / 40e6)
    error = max(live.error, np.sqrt(expected * (1 - expected) / 300_000) / 3)
    assert abs(live.value - expected) < 3 * error


def bucket_live(size: int, rate: int, p: float) -> float:
    """The stationary solution of the chain whose state is the number of crossings until the bucket is
    empty."""
    states = size * rate + 1
    chain = np.zeros((states, states))
    for work in range(states):
        allowed = work <= (size - 1) * rate
        idle = max(work - 1, 0)
        chain[work, idle] += 1.0 - p * allowed
        if allowed:
            chain[work, work + rate - 1] += p
    system = np.vstack([chain.T - np.eye(states), np.ones(states)])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)[0]
    return float(stationary[: (size - 1) * rate + 1].sum())


@pytest.mark.parametrize(("size", "rate", "p"), [(1, 5, 0.1), (2, 10, 0.05), (7, 41, 0.02), (3, 100, 0.01)])
def test_a_bucket_is_its_markov_chain(size: int, rate: int, p: float) -> None:
    rules = Rules("", (Rule(size=size, rate=rate),))
    live = live_fraction(rules, FULL, p * 40e6, attempts=400_000)
    assert abs(live.value - bucket_live(size, rate, p)) < 3 * live.error


def test_slots_that_are_vetoed() -> None:
    live = live_fraction(Rules("", (Rule(gap=[1, 891]),)), FULL, 1e6, attempts=200_000)
    assert abs(live.value - 0.75) < 4 * live.error


def test_the_largest_rate_is_the_inverse() -> None:
    rules = Rules("", (Rule(simple=40),))
    rate = largest_input_rate(rules, FULL, 0.9)
    assert rate == pytest.approx(40e6 * (1 / 0.9 - 1) / 40, rel=0.01)
    assert (
        largest_input_rate(Rules("", (Rule(at_most=2, crossings=3),)), spread(100), 0.9)
        == spread(100).crossing_rate_hz
    )


def test_rates_between_points_are_interpolated() -> None:
    rules = Rules("", (Rule(simple=40),))
    points = [live_fraction(rules, FULL, rate) for rate in (5e4, 1e5, 1.5e5, 2e5)]
    assert live_at(points, 1.25e5) == pytest.approx(1 / (1 + 40 * 1.25e5 / 40e6), abs=2e-3)


def test_impossible_requests() -> None:
    rules = read_rules("cms")
    for rate in (0.0, 50e6, float("nan")):
        with pytest.raises(TrigemuError, match="expected a rate above 0, up to the crossing rate"):
            live_fraction(rules, FULL, rate)
    with pytest.raises(TrigemuError, match="veto every filled slot"):
        live_fraction(Rules("", (Rule(gap=[1, 3564]),)), FULL, 1e5)
    with pytest.raises(TrigemuError, match=r"no rate has a live fraction of 0\.9"):
        largest_input_rate(Rules("", (Rule(gap=[1, 1782]),)), FULL, 0.9)
    with pytest.raises(TrigemuError, match="between 0 and 1"):
        largest_input_rate(rules, FULL, 1.5)
