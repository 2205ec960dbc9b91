"""The search against problems whose best point is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from optimise_toys import analytic, brute_force, correlated, group_of, problem_of
from toys import engine
from trigemu_optimise.goals import Merit
from trigemu_optimise.problem import Evaluation
from trigemu_optimise.search import Searches, best_of, broken, front, hop, of_replica, refit
from trigemu_optimise.variables import Order

from trigemu.base.mapping import map_chunks

SEEDS = range(4)


@pytest.mark.parametrize("triggers", [2, 4, 6])
def test_exponential_spectra(triggers: int) -> None:
    """Within 1 % of the least loss, and of the largest efficiency, for each seed, and never above the cap."""
    problem, least = analytic(triggers, 25e3)
    losses = []
    for seed in SEEDS:
        found = hop(problem, seed, 1, 1)
        losses.append(float(found.objectives[0]))
        assert Evaluation(problem).at(found.points[0])[0][0] <= problem.cap
    assert min(losses) >= least - 1e-9  # no point is better than the analytic one
    assert max(losses) <= 1.01 * least
    assert 1.0 - max(losses) >= 0.99 * (1.0 - least)


@pytest.mark.parametrize(
    ("merit", "seed", "steps"), [("squared", 1, 60), ("mean", 2, 40), ("mean", 3, 40), ("worst", 2, 40)]
)
def test_all_points_of_three_thresholds(merit: Merit, seed: int, steps: int) -> None:
    """The least loss of all points, found from any seed."""
    problem = replace(correlated(seed, steps), merit=merit, ceilings=np.array([0.8, 0.9]))
    least, _ = brute_force(problem)
    for start in range(4):
        found = hop(problem, start, 1, 3)
        assert least <= found.objectives[0] <= 1.01 * least


def test_a_start_at_the_tightest_point_and_hops_are_the_same_again() -> None:
    problem = correlated(4, 40)
    units = [partial(hop, seed=7, number=number, hops=1) for number in range(3)]
    (alone,) = map_chunks(Searches(problem), units[:1])
    together = [*map_chunks(Searches(problem), units)]
    assert np.array_equal(alone.points, together[0].points)
    apart = map_chunks(Searches(problem), units, engine(workers=2))
    for one, other in zip(together, apart, strict=True):
        assert np.array_equal(one.points, other.points)
        assert np.array_equal(one.objectives, other.objectives)


def test_a_channel_alone_gets_its_largest_efficiency() -> None:
    problem = correlated(5, 30)
    for channel in (0, 1):
        least, _ = brute_force(problem.alone(channel))
        found = best_of([hop(problem, 1, start, 2, channel) for start in (0, 1)])
        assert found.objectives[0] == pytest.approx(least, rel=0.01)


def test_ties_hold() -> None:
    """The best of all points that obey the tie."""
    problem = replace(correlated(6, 30), ceilings=np.array([0.7, 0.9]), orders=(Order(0, 1, 0.9),))
    free = replace(problem, orders=())
    losses = [
        float(objective[allowed_values(problem)].min())
        for k in range(30)
        for objective in [free.objective(*Evaluation(free).plane(np.array([0, 0, k]), 0, 1))]
    ]
    for seed in range(5):
        found = hop(problem, seed, 1, 2)
        assert not broken(problem, found.points[0])
        assert min(losses) - 1e-12 <= found.objectives[0] <= 1.01 * min(losses)


def allowed_values(problem) -> np.ndarray:
    return problem.values[1][None, :] >= problem.values[0][:, None] + 0.9


def test_a_front_improves_with_the_cap() -> None:
    problem = replace(correlated(7, 40), ceilings=np.array([0.9, 0.95]))
    start = tuple(hop(problem, 1, 0, 2).points[0].tolist())
    caps = (3.5e4, 4e4, 5e4)
    found = front(problem, caps, start)
    down = front(problem, (2e4, 1e4), start)
    assert (np.diff([*down.objectives[::-1], *found.objectives]) <= 0).all()
    for cap, point in zip((*caps, 2e4, 1e4), (*found.points, *down.points), strict=True):
        assert Evaluation(problem).at(point)[0][0] <= cap
    alone = front(problem, (5e4,), start, 1)  # more than any menu of the front gives that channel
    most = Evaluation(problem).at(found.points[2])[1]
    assert 1.0 - alone.objectives[0] >= most[1]


def test_most_refits_are_the_best_points_of_their_replicas() -> None:
    problem = replace(correlated(8, 25), ceilings=np.array([0.9, 0.95]))
    start = tuple(hop(problem, 1, 0, 1).points[0].tolist())
    near = 0
    for replica in range(10):
        own = of_replica(problem, replica)
        least, _ = brute_force(own)
        found = refit(problem, replica, start)
        assert least <= found.objectives[0] + 1e-12
        near += found.objectives[0] <= 1.02 * least
    assert near >= 8  # one hop misses some


def test_an_infeasible_problem_ends_at_its_least_excess() -> None:
    values = [np.arange(4.0)]
    events = group_of(np.array([[4, 4, 2]]), np.ones(3))  # two events that no threshold rejects
    problem = problem_of(values, events, [group_of(np.array([[4]]), np.ones(1))], 1.0)
    found = hop(problem, 1, 1, 2)
    assert found.objectives[0] > 1000
    assert Evaluation(problem).at(found.points[0])[0][0] == 2.0
