"""Y(x) of events that neither it nor the network has learned from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_decade.training import regression
from trigemu_decade.training.config import QuantileTable
from trigemu_decade.training.folds import Sample, out_of_fold
from trigemu_decade.training.train import LEAST_ABOVE, learned

from trigemu.api import IntArray
from trigemu.emulation.budgets import threshold_for

SETTINGS = QuantileTable(x=("x",), levelled=False, tail_events=2.0)
Q = 0.02


def toy(n: int, seed: int, shared: int = 1) -> Sample:
    """y is normal around a mean that rises with x; `shared` events are made from each interaction."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(n, 1)).astype(np.float32)
    y = np.log1p(x[:, 0]).astype(np.float64) + rng.normal(size=n)
    interaction: IntArray = np.arange(n) // shared
    parent = interaction.astype(np.uint64)
    return Sample(x, y, np.ones(n), np.zeros((n, 1)), np.zeros(n), parent, interaction)


def test_an_event_has_no_part_in_its_own_quantile() -> None:
    """Nor have others made from the same interaction: whatever their scores are, Y(x) of them is the same."""
    sample = toy(9000, 1, shared=3)
    chosen = sample.interaction == 1000
    high = replace(sample, y=sample.y + 50.0 * chosen)
    (first, fits), (second, others) = (
        out_of_fold(events, [0], Q, SETTINGS, 1, 4) for events in (sample, high)
    )
    assert (second - first)[chosen] == pytest.approx(50.0, abs=1e-9)
    assert len(fits) == len(others) == 4
    assert sum(fit.content == other.content for fit, other in zip(fits, others, strict=True)) == 1


def test_trees_cannot_split_below_the_least_number_of_events() -> None:
    """Two leaves with 5 events above Y(x) in three quarters of the events are 13 of all."""
    settings = QuantileTable(x=("x",))

    def spread(above: float) -> float:
        events = toy(round(above / Q), 1)
        _, fits = out_of_fold(events, [0], Q, settings, 1, 4)
        return max(float(np.ptp(load_trees(fit.content, 1, QUANTILE).score(events.x))) for fit in fits)

    assert spread(12.0) == 0.0
    assert spread(1.5 * LEAST_ABOVE) > 0.2


def test_fewer_events_have_the_same_rate_and_whole_interactions() -> None:
    sample = toy(9000, 1, shared=3)
    assert sample.at_most(9000) is sample
    few = sample.at_most(3000)
    assert 2700 < len(few.weight) < 3300
    assert few.weight.sum() == pytest.approx(sample.weight.sum())
    assert np.bincount(few.interaction).tolist() == [3] * (len(few.weight) // 3)
    assert np.isin(few.y, sample.y).all()


@pytest.mark.slow
def test_the_threshold_out_of_fold_accepts_the_requested_fraction_of_other_events() -> None:
    """The mean of 20 toys; the events of the fit itself are accepted less often, because it follows them."""
    result = []
    others = toy(100_000, 99)
    for seed in range(20):
        sample = toy(10_000, seed)
        score, fits = out_of_fold(sample, [0], Q, SETTINGS, 1, 4)
        cut = threshold_for(score, sample.weight, Q * len(score)).threshold
        trees = round(np.median([fit.trees for fit in fits]))
        output = regression.fit(
            sample.x, sample.y, sample.weight, Q, SETTINGS, seed=1, stop=sample.stop, trees=trees
        )
        assert output.trees == trees
        table = load_trees(output.content, 1, QUANTILE)
        result.append(
            [
                np.mean(sample.y > table.score(sample.x)),
                np.mean(others.y > table.score(others.x)),
                np.mean(others.y > table.score(others.x) + cut),
            ]
        )
    own, unseen, shifted = np.mean(result, axis=0) / Q
    assert own < 0.97 < 1.02 < unseen
    # Each toy has an error of 7 % from its 200 events above Y(x).
    assert shifted == pytest.approx(1.0, abs=0.05)


def test_the_network_is_trained_on_complete_interactions() -> None:
    parent = np.repeat(np.arange(20_000, dtype=np.uint64), 2)
    first, again, other = (learned(parent, 0.2, seed) for seed in (1, 1, 2))
    assert first.mean() == pytest.approx(0.2, abs=0.01)
    assert (first[::2] == first[1::2]).all()
    assert (first == again).all()
    assert (first & other).mean() == pytest.approx(0.04, abs=0.01)
