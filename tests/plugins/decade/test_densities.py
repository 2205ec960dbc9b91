from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from trigemu_decade.figures import BINS, densities

Toy = Callable[..., Any]


def test_no_rate_is_lost_and_every_event_is_where_it_belongs(toy: Toy) -> None:
    events = toy(2000, 1)
    result = densities(events)
    assert [(d.observable, d.corrected) for d in result] == [
        (name, corrected) for name in events.x for corrected in (False, True)
    ]
    for density in result:
        x, score = events.x[density.observable], events.corrected if density.corrected else events.y
        assert density.rate.shape == (1 + BINS, BINS)
        assert density.rate.sum() == pytest.approx(events.weight.sum())
        assert density.rate[0].sum() == pytest.approx(events.weight[x == 0].sum())
        edges = density.y_edges.copy()
        edges[[0, -1]] = -np.inf, np.inf  # the first and the last bin take what is beyond
        present = x != 0
        plain = np.histogram2d(
            x[present], score[present], [density.x_edges, edges], weights=events.weight[present]
        )[0]
        inner = slice(1, -1)  # logarithms may move an event at the very edge
        assert density.rate[1:][inner] == pytest.approx(plain[inner])


def test_cuts_are_quantiles_over_the_other_observables(toy: Toy) -> None:
    events = toy(3000, 2)
    before, after = densities(events)[:2]
    x = events.x["jet[0].pt"]
    rows = (x >= before.x_edges[3]) & (x < before.x_edges[4])
    expected = np.quantile(
        events.quantile[rows] + events.threshold,
        [0.16, 0.5, 0.84],
        weights=events.weight[rows],
        method="inverted_cdf",
    )
    assert before.threshold[4] == pytest.approx(expected)
    assert before.constant == events.y_threshold
    filled = after.rate.any(axis=1)
    assert (after.threshold[filled] == events.threshold).all()
    assert np.isnan(after.threshold[~filled]).all()
    assert after.constant is None


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_axes_are_logarithmic_where_values_spread(toy: Toy, spread: float) -> None:
    events = toy(500, 3)
    x = np.linspace(1.0, 1.0 + spread, 500)
    density = densities(replace(events, x={"x": x, "nothing": np.zeros(500)}))
    assert len(density) == 2
    steps = np.diff(np.log(density[0].x_edges)) if spread > 5 else np.diff(density[0].x_edges)
    assert density[0].is_log == (spread > 5)
    assert steps == pytest.approx(steps[0])


def test_one_value_alone_makes_an_axis(toy: Toy) -> None:
    events = toy(50, 4)
    result = densities(replace(events, x={"x": np.full(50, 7.0)}, y=np.ones(50), quantile=np.ones(50)))
    assert result[0].rate.sum() == pytest.approx(events.weight.sum())
