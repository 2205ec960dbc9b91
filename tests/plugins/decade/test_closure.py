from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare
from trigemu_decade.closure import Closure, bin_numbers, closures, make_axis
from trigemu_decade.events import ScoredEvents

Toy = Callable[..., Any]


def of(
    x: dict[str, np.ndarray], y: np.ndarray, quantile: float, q: float, interaction: np.ndarray | None = None
) -> tuple[Closure, ...]:
    """Of events of weight 1, by default none made from the same interaction, at the threshold 0."""
    n = len(y)
    interaction = np.arange(n) if interaction is None else interaction
    level = np.full(n, quantile)
    return closures(ScoredEvents(np.ones(n), interaction, x, y, level, q, 0.0, None, 0.0, {}, np.zeros(n)))


def plain_bins(axis: Any, x: np.ndarray) -> list[int]:
    """The bin of each event, by looking at every bin."""
    result = []
    for value in x:
        inside = [i for i, low in enumerate(axis.edges[:-1]) if low <= value < axis.edges[i + 1]]
        last = len(axis.edges) - 2
        number = inside[0] if inside else last
        result.append(0 if value == 0 else number + axis.missing)
        assert value == 0 or inside or value == axis.edges[-1]
    return result


@given(
    values=st.lists(st.sampled_from([0.0, 1.0, 2.5, 3.0, 7.0, 8.0, 100.0]), min_size=1, max_size=60),
    seed=st.integers(0, 99),
    need=st.sampled_from([1.0, 4.0, 15.0]),
)
def test_bins_are_disjoint_complete_and_full(values: list[float], seed: int, need: float) -> None:
    x = np.array(values)
    weight = np.random.default_rng(seed).lognormal(0, 1, len(x))
    axis = make_axis("x", x, weight, need, 8)
    number = bin_numbers(axis, x)
    assert number.tolist() == plain_bins(axis, x)
    assert axis.missing == (0.0 in values)
    assert axis.bins <= 8 + axis.missing
    full = [weight[number == i].sum() ** 2 / (weight[number == i] ** 2).sum() for i in set(number.tolist())]
    requested = full[axis.missing :]
    assert len(requested) <= 1 or min(requested) >= need * (1 - 1e-12)


def test_the_tail_is_divided_more_finely() -> None:
    x = np.arange(1.0, 10001.0)
    axis = make_axis("x", x, np.ones(len(x)), 1.0, 10)
    counts = np.bincount(bin_numbers(axis, x))
    assert len(counts) == 10
    assert (np.diff(counts) < 0).all()
    assert counts[-1] == pytest.approx(10000 * 0.1**1.5, abs=2)


@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_acceptances_are_those_of_a_loop(toy: Toy, which: int) -> None:
    events = toy(3000, 1)
    for closure in closures(events):
        acceptance = closure.acceptances[which]
        score = events.corrected if acceptance.corrected else events.y
        numbers = [plain_bins(axis, events.x[axis.observable]) for axis in closure.axes]
        cell = (
            numbers[0]
            if len(numbers) == 1
            else [i * closure.axes[1].bins + j for i, j in zip(*numbers, strict=True)]
        )
        for number in range(len(closure.events)):
            rows = [i for i in range(3000) if cell[i] == number]
            total = sum(events.weight[i] for i in rows)
            a = sum(events.weight[i] for i in rows if score[i] > acceptance.threshold) / total
            terms = [events.weight[i] * ((score[i] > acceptance.threshold) - a) for i in rows]
            assert closure.events[number] == len(rows)
            assert acceptance.value[number] == pytest.approx(a, rel=1e-9)
            if 0 < a < 1:
                error = sum(t * t for t in terms) ** 0.5 / total
            else:
                o = acceptance.overall
                error = (o * (1 - o) * sum(events.weight[i] ** 2 for i in rows)) ** 0.5 / total
            assert acceptance.error[number] == pytest.approx(error, rel=1e-6)


def test_cuts_with_and_without_the_correction_accept_the_same(toy: Toy) -> None:
    events = toy(3000, 2)
    largest = events.weight.max() / events.weight.sum()
    at_zero, at_t = closures(events)[0].acceptances[:2], closures(events)[0].acceptances[2:]
    for corrected, uncorrected in (at_zero, at_t):
        assert corrected.corrected
        assert not uncorrected.corrected
        assert uncorrected.overall == pytest.approx(corrected.overall, abs=largest)
    assert at_zero[0].threshold == 0.0
    assert at_t[0].threshold == events.threshold


def test_events_of_equal_weight_give_pearson(toy: Toy) -> None:
    events = replace(toy(20000, 3), weight=np.full(20000, 7.0))
    for closure in closures(events):
        tested = np.array(closure.tested)
        n = np.array(closure.events)[tested]
        for acceptance in closure.acceptances:
            passed = np.array(acceptance.value)[tested] * n
            pair = np.array([passed, n - passed])
            q = chisquare(pair, np.array([events.q * n, (1 - events.q) * n]), axis=0).statistic.sum()
            assert acceptance.against_q.value == pytest.approx(q)
            assert acceptance.against_q.ndf == len(n)


def test_the_exact_quantile_closes_and_a_constant_does_not(toy: Toy) -> None:
    """Mean χ² over 60 toys with spread weights: of a right variance and right degrees of freedom."""
    ratios = []
    for seed in range(60):
        for closure in closures(toy(4000, seed)):
            result = (acceptance.against_q for acceptance in closure.acceptances[:2])
            ratios.append([chi_square.value / chi_square.ndf for chi_square in result])
    exact, constant = np.mean(ratios, axis=0)
    # About 15 degrees of freedom in each of 180: √(2 / 2700) = 0.03, more for those of few events.
    assert exact == pytest.approx(1, abs=0.1)
    assert constant > 4


def test_bins_with_too_few_events_stay_out_of_a_chi_square() -> None:
    n = 1000
    x = np.concatenate([np.zeros(20), np.linspace(1, 2, n - 20)])
    y = np.tile([1.0, -1.0], n // 2)
    (closure,) = of({"x": x}, y, 0.0, 0.5)
    assert closure.tested[0]  # 5 / 0.5 = 10 of the 20 are needed
    (closure,) = of({"x": x}, y, 0.0, 0.1)
    assert not closure.tested[0]
    assert closure.acceptances[0].against_q.ndf == sum(closure.tested)
    assert closure.acceptances[0].value[0] == 0.5


@pytest.mark.parametrize("score", [-1.0, 1.0])
@pytest.mark.parametrize("value", [0.0, 5.0])
def test_nothing_breaks_where_all_or_no_events_pass(score: float, value: float) -> None:
    x, y = np.full(50, value), np.full(50, score)
    (closure,) = of({"x": x}, y, 0.0, 0.1)
    assert closure.events == (50,)
    assert closure.acceptances[0].value == (float(score > 0),)
    assert np.isfinite(closure.acceptances[0].against_q.value) == bool(closure.tested[0])


def test_an_empty_cell_has_no_acceptance() -> None:
    """Two observables that are never present together."""
    first = np.tile([0.0, 5.0], 500)
    y = np.linspace(-1, 1, 1000)
    plane = of({"a": first, "b": 5.0 - first}, y, 0.0, 0.5)[2]
    assert plane.events == (0, 500, 500, 0)
    assert np.isnan(plane.acceptances[0].value).tolist() == [True, False, False, True]
    assert np.isnan(plane.acceptances[0].error).tolist() == [True, False, False, True]


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_events_of_one_interaction_may_pass_together(together: float) -> None:
    """χ² over its degrees of freedom has the mean 1, whether pairs pass together never more than by chance,
    half of the time, or always; and the error of the whole is that of repetitions."""
    n, q = 4000, 0.1
    ratios, result = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        own, common = rng.random(2 * n), np.repeat(rng.random(n), 2)
        y = np.where(np.repeat(rng.random(n) < together, 2), common, own)
        x = np.repeat(1 + rng.random(n), 2)
        (closure,) = of({"x": x}, y, 1 - q, q, np.repeat(np.arange(n), 2))
        acceptance = closure.acceptances[0]
        ratios.append(acceptance.against_q.value / acceptance.against_q.ndf)
        result.append(
            (acceptance.overall, acceptance.overall_error, acceptance.value[3], acceptance.error[3])
        )
    overall, error, value, of_bin = np.array(result).T
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    assert np.mean(error) == pytest.approx(np.std(overall), rel=0.15)
    assert np.mean(of_bin) == pytest.approx(np.std(value), rel=0.15)
