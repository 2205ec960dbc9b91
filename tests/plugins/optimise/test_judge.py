"""What a menu is worth on a half: errors against replicas of the events, and paired differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optimise_toys import toy_samples, write_goals, write_menu
from toys import even_events, is_evaluation, memory_catalogue
from trigemu_optimise.goals import read_goals
from trigemu_optimise.judge import derivatives, greedy, judged, rate_of, scaled
from trigemu_optimise.problem import Evaluation, Problem
from trigemu_optimise.search import of_replica, times
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
    first, second = (
        judged(menu_at(setup.menu, setup.variables, p.tolist()), setup.decisions, setup.fitted, problem)
        for p in points
    )
    spread = []
    for number in range(REPLICAS):
        evaluation = Evaluation(of_replica(problem, number))
        (rates, efficiencies), (_, of_second) = (evaluation.at(point) for point in points)
        losses = problem.loss(efficiencies), problem.loss(of_second)
        spread.append([rates[0], *efficiencies, losses[0], losses[1] - losses[0]])
    deviations = np.std(spread, axis=0)
    (gain, gain_error), numbers = first.less(second), first.numbers
    errors = [numbers.rate_error_hz, *numbers.errors, numbers.loss_error, gain_error]
    assert errors == pytest.approx(deviations, rel=0.15)  # 3.5 % of statistics, and the second order
    assert gain == pytest.approx(second.numbers.loss - numbers.loss)
    evaluation = Evaluation(problem)
    rates, efficiencies = evaluation.at(points[0])
    assert numbers.rate_hz == pytest.approx(rates[0])
    assert numbers.efficiencies == pytest.approx(efficiencies)
    assert first.less(first) == (0.0, 0.0)


def test_interactions_count_with_a_poisson_distribution() -> None:
    counts = np.concatenate([times(np.arange(50_000, dtype=np.uint64), number) for number in range(4)])
    expected = [np.exp(-1) / f for f in (1, 1, 2, 6, 24)]
    for number, probability in enumerate(expected):
        error = np.sqrt(probability / len(counts))
        assert (counts == number).mean() == pytest.approx(probability, abs=4 * error)
    same = np.array([7, 8, 7], np.uint64)
    assert times(same, 3)[0] == times(same, 3)[2]
    assert any(times(same, number)[0] != times(same, number)[1] for number in range(10))


def test_derivatives_of_the_loss(problem: Problem) -> None:
    efficiencies = np.array([0.5, 0.6])
    weights, ceilings = problem.weights, problem.ceilings
    expected = -2 * weights * (1 - efficiencies / ceilings) / ceilings
    assert derivatives(problem.loss, efficiencies) == pytest.approx(expected, rel=1e-5)


def test_scaled_thresholds_meet_the_cap(setup: Setup) -> None:
    menu, factor = scaled(setup)
    assert factor > 1.0
    assert rate_of(menu, setup.decisions, setup.fitted) <= setup.problem.cap
    assert rate_of(menu, setup.decisions, setup.fitted) > 0.9 * setup.problem.cap
    for name in ("J30", "J15", "MET40"):
        thresholds = (of.trigger(name).description.threshold for of in (menu, setup.written))
        new, old = thresholds
        assert new == pytest.approx(factor * old)
    assert menu.trigger("MU") == setup.written.trigger("MU")


def test_a_greedy_search_ends_below_the_cap_where_no_single_move_helps(problem: Problem) -> None:
    evaluation = Evaluation(problem)
    point = greedy(evaluation)
    assert evaluation.rate(point) <= problem.cap
    loss = evaluation.objective(point)
    for variable in range(len(point)):
        assert problem.objective(*evaluation.plane(point, variable)).min() >= loss - 1e-9


def test_events_of_one_interaction_count_together_whatever_their_sample(tmp_path: Path) -> None:
    """√Σ over parents of (Σ w f)²: a parent is one interaction in all samples that have parents; in a sample
    without, each event is one, even if its number is that of a parent."""
    seeds = {"a": (3, 300), "b": (4, 200), "c": (6, 100)}
    samples = {name: even_events(*of) for name, of in seeds.items()}
    for name, n in (("a", 40), ("b", 60)):  # parents 0 to 39 are in both
        samples[name] = [event | {"parent": i % n} for i, event in enumerate(samples[name])]
    catalogue = memory_catalogue(samples, signals={"s": even_events(5, 200)})
    setup = make_setup(read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 1e9)), catalogue)
    for number, half in enumerate((setup.fitted, setup.unseen)):
        sums: dict[tuple[str, int], float] = {}
        for name, events in samples.items():
            inside = [is_evaluation(e.get("parent", i)) == bool(number) for i, e in enumerate(events)]
            weights = np.array([event["weight"] for event in events])
            scale = weights.sum() / weights[inside].sum()
            for i, (event, counts) in enumerate(zip(events, inside, strict=True)):
                key = ("", event["parent"]) if "parent" in event else (name, i)
                sums[key] = sums.get(key, 0.0) + counts * scale * event["weight"] * _accepted(event)
        numbers = judged(setup.written, setup.decisions, half, setup.problem).numbers
        assert numbers.rate_hz == pytest.approx(sum(sums.values()), rel=1e-12)
        error = np.sqrt(sum(value**2 for value in sums.values()))
        assert numbers.rate_error_hz == pytest.approx(error, rel=1e-12)


def _accepted(event: dict[str, Any]) -> float:
    """The acceptance of the menu `optimise_toys.MENU`."""
    jets, muons = event["jet"], event["muon"]
    missed = 0.0 if (jets and jets[0]["pt"] > 30) or (len(jets) > 1 and jets[1]["pt"] > 15) else 1.0
    missed *= 0.5 if event["met"] > 40 else 1.0
    return 1.0 - missed * (0.9 if muons and muons[0]["pt"] >= 25 else 1.0)
