"""What a menu is worth on a half: errors against replicas of the events, paired differences; slopes and
prices against closed forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from optimise_toys import (
    MENU,
    SPECTRA,
    analytic,
    correlated,
    group_of,
    missed_by,
    toy_samples,
    write_goals,
    write_menu,
)
from toys import even_events, is_evaluation, memory_catalogue
from trigemu_optimise.goals import read_goals
from trigemu_optimise.judge import judged, prices, scaled, slopes
from trigemu_optimise.problem import Evaluation, Problem
from trigemu_optimise.rows import Half
from trigemu_optimise.search import hop, improve, of_replica, towards
from trigemu_optimise.setup import Setup, make_setup
from trigemu_optimise.variables import menu_at

from trigemu import read_menu

REPLICAS = 400


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp("judge")
    return make_setup(read_menu(write_menu(folder)), read_goals(write_goals(folder, 3e4)), toy_samples())


@pytest.fixture(scope="module")
def problem(setup: Setup) -> Problem:
    return replace(setup.problem, ceilings=np.array([0.8, 0.9]))


def test_errors_are_those_of_replicas(setup: Setup, problem: Problem) -> None:
    """The spread over Poisson replicas of the events, of rates, efficiencies and losses."""
    points = [np.array([5, 8, 3, 0]), np.array([20, 30, 10, 1])]
    (numbers, moved), (_, moved_second) = (
        judged(menu_at(setup.menu, setup.variables, p.tolist()), setup.decisions, problem.half, problem)
        for p in points
    )
    spread = []
    for number in range(REPLICAS):
        evaluation = Evaluation(of_replica(problem, number))
        (rates, efficiencies), (_, of_second) = (evaluation.at(point) for point in points)
        losses = problem.loss(efficiencies), problem.loss(of_second)
        spread.append([rates[0], *efficiencies, losses[0], losses[1] - losses[0]])
    gain_error = np.sqrt(((moved_second - moved) ** 2).sum())
    errors = [numbers.rate_error_hz, *numbers.errors, numbers.loss_error, gain_error]
    # 3.5 % of statistics, and the second order
    assert errors == pytest.approx(np.std(spread, axis=0), rel=0.15)
    rates, efficiencies = Evaluation(problem).at(points[0])
    assert numbers.rate_hz == pytest.approx(rates[0])
    assert numbers.efficiencies == pytest.approx(efficiencies)


def test_interactions_count_with_a_poisson_distribution() -> None:
    """Alike in all groups, differently in each replica."""
    group = group_of(np.zeros((3, 50_000)), np.ones(50_000))
    same = replace(group, interaction=group.interaction // 2)
    problem = replace(analytic(3, 25e3)[0], half=Half(group, (same,)))
    halves = [of_replica(problem, number).half for number in range(4)]
    counts = np.array([half.background.weight for half in halves])
    for number, factorial in enumerate((1, 1, 2, 6, 24)):
        probability = np.exp(-1) / factorial
        error = np.sqrt(probability / counts.size)
        assert (counts == number).mean() == pytest.approx(probability, abs=4 * error)
    assert (counts[0] != counts[1]).mean() > 0.5
    (channel,) = halves[0].channels
    assert channel.weight.sum() == pytest.approx(1.0)
    assert (channel.weight[::2] == channel.weight[1::2]).all()
    assert channel.weight[:1000:2] * counts[0, :500].sum() == pytest.approx(
        channel.weight[:1000].sum() / 2 * counts[0, :500]
    )


def test_scaled_thresholds_meet_the_cap(setup: Setup) -> None:
    menu, factor = scaled(setup)
    assert factor > 1.0
    numbers, _ = judged(menu, setup.decisions, setup.problem.half, setup.problem)
    assert 0.9 * setup.problem.cap < numbers.rate_hz <= setup.problem.cap
    for name in ("J30", "J15", "MET40"):
        new, old = (each.trigger(name).description.threshold for each in (menu, setup.written))
        assert new == pytest.approx(factor * old)
    assert menu.trigger("MU") == setup.written.trigger("MU")


def test_events_of_one_interaction_count_together_whatever_their_sample(tmp_path: Path) -> None:
    """√Σ over parents of (Σ w f)²: a parent is one interaction in all samples that have parents; in a sample
    without, each event is one, even if its number is that of a parent."""
    seeds = {"a": (3, 300), "b": (4, 200), "c": (6, 100)}
    samples = {name: even_events(*seed) for name, seed in seeds.items()}
    for name, n in (("a", 40), ("b", 60)):  # parents 0 to 39 are in both
        samples[name] = [event | {"parent": i % n} for i, event in enumerate(samples[name])]
    catalogue = memory_catalogue(samples, signals={"s": even_events(5, 200)})
    setup = make_setup(read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 1e9)), catalogue)
    for number, half in enumerate((setup.problem.half, setup.unseen)):
        sums: dict[tuple[str, int], float] = {}
        for name, events in samples.items():
            inside = [is_evaluation(e.get("parent", i)) == bool(number) for i, e in enumerate(events)]
            weights = np.array([event["weight"] for event in events])
            scale = weights.sum() / weights[inside].sum()
            for i, (event, counts) in enumerate(zip(events, inside, strict=True)):
                key = ("", event["parent"]) if "parent" in event else (name, i)
                sums[key] = sums.get(key, 0.0) + counts * scale * event["weight"] * (
                    1 - missed_by(event, MENU)
                )
        numbers, _ = judged(setup.written, setup.decisions, half, setup.problem)
        assert numbers.rate_hz == pytest.approx(sum(sums.values()), rel=1e-12)
        error = np.sqrt(sum(value**2 for value in sums.values()))
        assert numbers.rate_error_hz == pytest.approx(error, rel=1e-12)


def test_slopes_and_prices_of_exponential_spectra() -> None:
    """∂R/∂θ = −A/b exp(−θ/b), between values on both sides; at the best point all prices are equal."""
    problem, _ = analytic(3, 25e3)
    found = slopes(Evaluation(problem), np.array([30, 40, 25]))
    for slope, (rate, b, s, share) in zip(found, SPECTRA, strict=False):
        rates = rate * (np.exp(-slope.low / b) - np.exp(-slope.high / b))
        gained = share * (np.exp(-slope.low / s) - np.exp(-slope.high / s))
        assert slope.rate_hz == pytest.approx(rates)
        assert slope.efficiencies == pytest.approx([gained])
        assert slope.loss == pytest.approx(gained)
    best = max(slope.efficiencies[0] / slope.rate_hz for slope in found)
    assert prices(found) == pytest.approx([best])
    point = hop(problem, 1, 1, 1).points[0]
    of_each = [slope.loss / slope.rate_hz for slope in slopes(Evaluation(problem), point)]
    assert max(of_each) < 1.3 * min(of_each)  # as steps allow


def test_what_makes_no_difference_stays_as_it_was() -> None:
    """A trigger that accepts nothing beyond another one keeps the wanted value."""
    problem = replace(correlated(3, 30), ceilings=np.array([0.7, 0.9]))
    for group in (problem.half.background, *problem.half.channels):
        group.level[:, 2] = np.minimum(group.level[:, 2], 1)  # above the lowest value it never fires
    evaluation = Evaluation(problem)
    point, objective = improve(evaluation, np.array([29, 29, 7]))
    moved = towards(evaluation, point, np.array([0, 0, 21]))
    assert moved[2] in (21, 0)
    assert evaluation.objective(moved) <= objective + 1e-9
