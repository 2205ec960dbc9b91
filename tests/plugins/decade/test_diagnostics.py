from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from trigemu_decade.diagnostics import diagnose, overlap

Toy = Callable[..., Any]


def bootstrap(events: Any, statistic: Callable[[Any], float], seed: int, times: int = 400) -> float:
    """The spread of a number over Poisson-resampled weights."""
    rng = np.random.default_rng(seed)
    n = len(events.weight)
    return float(
        np.std([statistic(replace(events, weight=events.weight * rng.poisson(1.0, n))) for _ in range(times)])
    )


def test_overlaps_are_those_of_a_loop(toy: Toy) -> None:
    events = toy(1000, 7)
    accepted = events.y > events.y_threshold
    result = overlap(events, accepted)
    rows = [i for i in range(1000) if accepted[i]]

    def rate(fraction: Callable[[int], float]) -> tuple[float, float]:
        terms = [events.weight[i] * fraction(i) for i in rows]
        return sum(terms), sum(t * t for t in terms) ** 0.5

    def pair(estimate: Any) -> tuple[float, float]:
        return estimate.value, estimate.error

    assert pair(result.total) == pytest.approx(rate(lambda i: 1.0))
    assert pair(result.unique) == pytest.approx(rate(lambda i: 1 - events.any_primary[i]))
    assert pair(result.not_unique) == pytest.approx(rate(lambda i: events.any_primary[i]))
    for name, fraction in events.primary.items():
        assert pair(result.primary[name]) == pytest.approx(rate(lambda i, f=fraction: f[i]))
    assert result.share.value == pytest.approx(result.unique.value / result.total.value)
    passing = sum(w * (1 - f) for w, f in zip(events.weight, events.any_primary, strict=True))
    assert result.ceiling.value == pytest.approx(passing / sum(events.weight))


def test_errors_of_shares_are_those_of_a_bootstrap(toy: Toy) -> None:
    events = toy(4000, 8)
    accepted = events.y > events.y_threshold
    result = overlap(events, accepted)
    share = bootstrap(events, lambda e: overlap(e, accepted).share.value, 8)
    ceiling = bootstrap(events, lambda e: overlap(e, accepted).ceiling.value, 9)
    assert result.share.error == pytest.approx(share, rel=0.15)
    assert result.ceiling.error == pytest.approx(ceiling, rel=0.15)


@pytest.mark.parametrize("q", [0.02, 0.8])
def test_the_pull_of_an_independent_decision_is_a_normal_number(toy: Toy, q: float) -> None:
    """Of one that accepts few, and of one that accepts much: then most of the two errors is common."""
    samples = [toy(2000, seed, q=q) for seed in range(400)]
    pulls = [overlap(events, events.corrected > 0).pull for events in samples]
    assert np.mean(pulls) == pytest.approx(0, abs=0.15)
    assert np.std(pulls) == pytest.approx(1, abs=0.1)


def test_the_pull_of_a_decision_that_is_not_independent(toy: Toy) -> None:
    events = toy(4000, 11)
    assert overlap(events, events.y > events.y_threshold).pull < -5
    assert overlap(events, events.x["jet[0].pt"] == 0).pull > 5
    assert np.isnan(overlap(events, np.full(4000, True)).pull)


def test_a_share_of_one_has_an_error(toy: Toy) -> None:
    """That of a binomial number with the ceiling as its expectation, for weights without influence."""
    n = 1000
    events = replace(toy(n, 9), weight=np.full(n, 2.0), any_primary=(np.arange(n) % 10 == 0) * 1.0)
    result = overlap(events, np.arange(n) % 50 == 1)
    assert result.share.value == 1.0
    assert result.share.error == pytest.approx(np.sqrt(0.9 * 0.1 / 20))
    assert result.pull == pytest.approx(0.1 / np.sqrt(0.09 / 20 * (1 - 20 / n)))


def test_copies_of_events_do_not_lower_errors(toy: Toy) -> None:
    """Each event twice, with half the weight and the same interaction, is the event once."""
    events = toy(1500, 12)

    def twice(values: Any) -> Any:
        if isinstance(values, dict):
            return {key: twice(of) for key, of in values.items()}
        return np.repeat(values, 2)

    arrays = ("weight", "interaction", "x", "y", "quantile", "primary", "any_primary")
    copied = replace(events, **{name: twice(getattr(events, name)) for name in arrays})
    once, again = diagnose(events), diagnose(replace(copied, weight=copied.weight / 2))
    for of in ("overlap", "overlap_uncorrected", "overlap_at_zero"):
        result, expected = getattr(again, of), getattr(once, of)
        for case in ("total", "unique", "not_unique", "share", "ceiling"):
            assert getattr(result, case).error == pytest.approx(getattr(expected, case).error)
        assert result.pull == pytest.approx(expected.pull)
