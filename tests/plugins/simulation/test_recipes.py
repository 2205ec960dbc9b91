from __future__ import annotations

import math

import generate_toys as toys
import numpy as np
import pytest
from trigemu_simulation import crossings
from trigemu_simulation.pools import Pool


@pytest.fixture(scope="module")
def pair() -> list[Pool]:
    soft = toys.pool("soft", 0, toys.soft_rows(20_000), 5.6e10, uses=3)
    return [soft, toys.pool("hard", 1, toys.hard_rows(6000), 7e9, uses=2)]


def test_how_often_an_interaction_is_used(pair: list[Pool]) -> None:
    config = toys.config(pair, 13.0)
    for pool in pair:
        case = crossings.recipe(config, pair, pool)
        drawn, _ = crossings.contents(case, 0, case.n)
        uses = np.bincount(drawn[0].rows, minlength=len(pool))
        assert uses.max() == pool.part.uses
        if pool is pair[1]:
            assert uses.min() == pool.part.uses
        else:
            assert uses.sum() > 0.98 * pool.part.uses * len(pool)


def test_composition_of_each_class(pair: list[Pool]) -> None:
    """Own interactions: Poisson given one; lower ones: Poisson; and the means are right once weighted."""
    mu = 13.0
    config = toys.config(pair, mu)
    case = crossings.recipe(config, pair, pair[1])
    drawn, weight = crossings.contents(case, 0, case.n)
    own = sum(np.bincount(d.crossing, minlength=case.n) for d in drawn if d.own)
    lower = sum(np.bincount(d.crossing, minlength=case.n) for d in drawn if not d.own)
    hard = mu / 8
    assert own.min() == 1
    error = 5 / np.sqrt(case.n)
    assert own.mean() == pytest.approx(hard / -math.expm1(-hard), rel=error)
    assert lower.mean() == pytest.approx(mu, rel=error)
    assert weight.mean() == pytest.approx(1.0, abs=5 * weight.std() / np.sqrt(case.n))


def test_weights_of_several_biased_interactions(pair: list[Pool]) -> None:
    """The weighted number of interactions above any p̂T is that of independent ones, and no weight exceeds
    what the number of interactions explains."""
    hard = pair[1]
    mu = 13.0
    case = crossings.recipe(toys.config(pair, mu), pair, hard)
    drawn, weight = crossings.contents(case, 0, case.n)
    lead = hard.rows.objects["jet"].columns["pt"][hard.offsets["jet"][:-1]]
    for threshold in (40, 80, 150):
        each = sum(np.bincount(d.crossing, lead[d.rows] > threshold, case.n) for d in drawn if d.own)
        expected = np.average(lead > threshold, weights=hard.weight) * mu / 8 / -math.expm1(-mu / 8)
        error = np.std(weight * each) / np.sqrt(case.n)
        assert np.mean(weight * each) == pytest.approx(expected, abs=4 * error)
        assert error < 0.05 * expected


def test_results_of_a_range_are_part_of_the_full_results(pair: list[Pool]) -> None:
    config = toys.config(pair, 13.0)
    for pool in pair:
        case = crossings.recipe(config, pair, pool)
        full, weight = crossings.contents(case, 0, 300)
        part, its_weight = crossings.contents(case, 100, 300)
        assert np.array_equal(its_weight, weight[100:])
        for a, b in zip(full, part, strict=True):
            assert np.array_equal(a.rows[a.crossing >= 100], b.rows)
