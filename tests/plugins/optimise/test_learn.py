"""Slopes, prices and correlations, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from optimise_toys import SPECTRA, analytic, correlated
from trigemu_optimise.judge import correlations, prices, slopes
from trigemu_optimise.problem import Evaluation
from trigemu_optimise.search import Hop, improve, towards


def test_slopes_of_exponential_spectra() -> None:
    """∂R/∂θ = −A/b exp(−θ/b), between values on both sides."""
    problem, _ = analytic(3, 25e3)
    point = np.array([30, 40, 25])
    found = slopes(Evaluation(problem), point)
    for slope, (rate, b, s, share) in zip(found, SPECTRA, strict=False):
        width = slope.high - slope.low
        rates = rate * (np.exp(-slope.low / b) - np.exp(-slope.high / b))
        gained = share * (np.exp(-slope.low / s) - np.exp(-slope.high / s))
        assert slope.rate_hz == pytest.approx(rates)
        assert slope.rate_per_unit == pytest.approx(-rates / width)
        assert slope.efficiencies == pytest.approx([gained])
        assert slope.loss == pytest.approx(gained)
    best = max(slope.efficiencies[0] / slope.rate_hz for slope in found)
    assert prices(found) == pytest.approx([best])


def test_all_prices_are_equal_at_the_best_point() -> None:
    problem, _ = analytic(4, 25e3)
    point = Hop(1, 1, 1).run(problem).points[0]
    of_each = [slope.loss / slope.rate_hz for slope in slopes(Evaluation(problem), point)]
    assert max(of_each) < 1.3 * min(of_each)  # as steps allow


def test_correlations() -> None:
    rng = np.random.default_rng(1)
    values = (np.arange(100.0), np.arange(100.0) / 10, np.arange(5.0))
    first = rng.normal(50, 10, 2000)
    second = 100 - first + rng.normal(0, 1e-9, 2000)
    points = np.clip(np.rint(np.array([first, second, np.full(2000, 3.0)])), 0, 99).astype(np.int64).T
    found = correlations(points, values)
    assert found[0, 1] == pytest.approx(-1, abs=0.01)
    assert found[0, 0] == pytest.approx(1)
    assert found[2].tolist() == [0.0, 0.0, 0.0]


def test_what_makes_no_difference_stays_as_it_was() -> None:
    """A trigger that accepts nothing beyond another one keeps the wanted value."""
    problem = replace(correlated(3, 30), ceilings=np.array([0.7, 0.9]))
    levels = problem.background.level
    for group in (problem.background, *problem.channels):
        group.level[2] = np.minimum(group.level[2], 1)  # above the lowest value it never fires
    assert levels[2].max() == 1
    evaluation = Evaluation(problem)
    point, objective = improve(evaluation, np.array([29, 29, 7]))
    assert towards(evaluation, point, np.array([0, 0, 21]))[2] in (21, 0)
    moved = towards(evaluation, point, np.array([0, 0, 21]))
    assert evaluation.objective(moved) <= objective + 1e-9
