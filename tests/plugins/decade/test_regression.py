"""Y(x) against closed forms: the score is normal or exponential, its location and scale depend on x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
import treelite
import xgboost
from decade_twins import dense
from scipy.stats import norm
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.network import Network as ScoreNetwork
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_decade.decade import open_quantile
from trigemu_decade.events import Selected
from trigemu_decade.training import regression
from trigemu_decade.training.config import QuantileTable
from trigemu_decade.training.graph import quantile_model
from trigemu_decade.training.regression import (
    Quantile,
    encoded,
    fit,
    fit_network,
    is_quarter,
    mean_weight,
    out_of_fold,
)
from trigemu_decade.training.train import LEAST_ABOVE, learned

from trigemu import TrigemuError
from trigemu.api import IntArray
from trigemu.emulation.budgets import threshold_for

FloatArray = npt.NDArray[np.float64]
BINS, SET, SETS = 20, 30_000, 8
SETTINGS = QuantileTable(x=("x",))
UPPER: dict[str, Callable[[float], float]] = {"normal": norm.isf, "exponential": lambda q: -np.log(q)}
# How fast the location rises with ln x, such that no constant comes near the closed form.
RISE = {"normal": 1.0, "exponential": 2.0}


@dataclass(frozen=True)
class Toy:
    """Steeply falling observables x[n, d] in GeV and a score y[n] = location(x) + scale(x) z."""

    x: npt.NDArray[np.float32]
    z: FloatArray
    shape: str

    @property
    def mean_x(self) -> FloatArray:
        return self.x.mean(axis=1, dtype=float)

    @property
    def location(self) -> FloatArray:
        return RISE[self.shape] * np.log(self.mean_x) + 0.5 * np.sin(self.x[:, 0] / 15.0)

    @property
    def scale(self) -> FloatArray:
        return 0.4 + 0.6 / (1.0 + self.mean_x / 20.0)

    @property
    def y(self) -> FloatArray:
        return self.location + self.scale * self.z

    def quantile(self, q: float) -> FloatArray:
        return self.location + self.scale * UPPER[self.shape](q)


def make(seed: int, n: int, d: int, shape: str) -> Toy:
    rng = np.random.default_rng(seed)
    x = 10.0 + 20.0 * rng.exponential(size=(n, d)) * np.arange(1, d + 1) ** -0.3
    z = rng.normal(size=n) if shape == "normal" else rng.exponential(size=n)
    return Toy(x.astype(np.float32), z, shape)


def predict(model: bytes, x: npt.NDArray[np.float32]) -> FloatArray:
    """Y(x) of x[n_event, n_observable], evaluated by XGBoost."""
    booster = xgboost.Booster(model_file=bytearray(model))
    return np.asarray(booster.inplace_predict(x), np.float64).reshape(len(x))


def stop_rows(n: int) -> npt.NDArray[np.bool_]:
    return np.random.default_rng(99).random(n) < 0.25


def fit_to(
    toy: Toy,
    q: float,
    weight: FloatArray | None = None,
    y: FloatArray | None = None,
) -> Quantile:
    n = len(toy.x)
    weight = np.ones(n) if weight is None else weight
    return fit(toy.x, toy.y if y is None else y, weight, q, SETTINGS, seed=1, stop=stop_rows(n))


def chi2_per_bin(x: npt.NDArray[np.float32], accepted: npt.NDArray[np.bool_], q: float) -> FloatArray:
    """χ²/ndf of the acceptance against q in 20 equally populated bins of each observable and of their sum.

    The mean over independent sets, each small enough that the noise of the training hardly shows.
    """
    axes = [*x.T, x.sum(axis=1)]
    chi2 = np.zeros((SETS, len(axes)))
    for i, rows in enumerate(np.split(np.arange(SET * SETS), SETS)):
        for j, axis in enumerate(axes):
            bins = rows[np.argsort(axis[rows])].reshape(BINS, -1)
            excess = accepted[bins].mean(axis=1) - q
            chi2[i, j] = np.mean(excess**2 * bins.shape[1] / (q * (1.0 - q)))
    return chi2.mean(axis=0)


def check_closure(model: bytes, train: Toy, q: float, seed: int) -> None:
    """Acceptance q everywhere on independent events, as the closed form has it and no constant does."""
    test = make(seed, SET * SETS, train.x.shape[1], train.shape)
    result, exact = predict(model, test.x), test.quantile(q)
    # The mean of eight sets of 20 bins scatters by 0.11 around 1, which the closed form shows too.
    for prediction in (result, exact):
        chi2 = chi2_per_bin(test.x, test.y > prediction, q)
        assert np.all((chi2 > 0.7) & (chi2 < 1.35)), chi2
    assert np.mean(test.y > result) == pytest.approx(np.mean(test.y > exact), rel=0.06)
    constant = np.quantile(train.y, 1.0 - q)
    assert np.all(chi2_per_bin(test.x, test.y > constant, q) > 3.0)
    assert np.sqrt(np.mean((result - exact) ** 2)) < 0.07


@pytest.mark.parametrize(("n", "d", "q"), [(250_000, 1, 0.01), (300_000, 3, 0.02)])
def test_closure(n: int, d: int, q: float) -> None:
    train = make(1, n, d, "normal")
    result = fit_to(train, q)
    assert 5 < result.trees < 100
    check_closure(result.content, train, q, seed=2)


def test_closure_with_weights() -> None:
    """Scores from another distribution, with weights that make up for it and spread over two orders more."""
    q = 0.03
    drawn = make(3, 250_000, 1, "exponential")
    biased = replace(drawn, z=2.0 * drawn.z)
    spread = 10.0 ** np.random.default_rng(4).uniform(-1.0, 1.0, len(drawn.z))
    result = fit_to(biased, q, 2.0 * np.exp(-biased.z / 2.0) * spread)
    check_closure(result.content, drawn, q, seed=5)
    assert (
        np.mean(biased.y > predict(result.content, drawn.x)) > 5 * q
    )  # what is fitted to no weights accepts q


def test_ties_of_a_rounded_score() -> None:
    """Rounded to 0.1: the acceptance stays between those of the closed form a step and a half away."""
    q, step = 0.02, 0.1
    train, test = make(6, 200_000, 1, "normal"), make(7, 300_000, 1, "normal")
    model = fit_to(train, q, y=np.round(train.y / step) * step).content
    accepted = np.round(test.y / step) * step > predict(model, test.x)
    bins = np.argsort(test.x[:, 0]).reshape(BINS, -1)
    low, high = (
        norm.sf((test.quantile(q) + shift - test.location) / test.scale)[bins].mean(axis=1)
        for shift in (1.5 * step, -1.5 * step)
    )
    acceptance = accepted[bins].mean(axis=1)
    assert np.all((acceptance > low) & (acceptance < high))
    assert accepted.mean() == pytest.approx(q, rel=0.1)


def test_ties_at_the_quantile_are_not_above_it() -> None:
    """More events than q share the largest score: nothing lies above Y(x), and nothing is accepted."""
    train = make(8, 100_000, 1, "normal")
    y = np.where(np.random.default_rng(9).random(len(train.x)) < 0.05, 50.0, train.y)
    prediction = predict(fit_to(train, 0.01, y=y).content, train.x)
    assert np.mean(y > prediction) == 0.0
    np.testing.assert_allclose(prediction, 50.0, rtol=0.01)


@pytest.fixture(scope="module")
def small() -> tuple[Toy, FloatArray, Quantile]:
    toy = make(10, 40_000, 2, "normal")
    weight = np.random.default_rng(11).uniform(0.1, 10.0, len(toy.x))
    return toy, weight, fit_to(toy, 0.02, weight)


Small = tuple[Toy, FloatArray, Quantile]


def test_same_seed_same_bytes_whatever_the_threads(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, weight, result = small
    monkeypatch.setattr(regression, "THREADS", 2)
    assert fit_to(toy, 0.02, weight) == result


def test_events_of_weight_zero_and_the_scale_of_weights_change_nothing(small: Small) -> None:
    toy, weight, result = small
    more = make(12, 10_000, 2, "normal")
    x, y = np.concatenate([toy.x, 3.0 * more.x]), np.concatenate([toy.y, more.y + 20.0])
    stops = np.concatenate([stop_rows(len(toy.x)), np.zeros(len(more.x), np.bool_)])
    extended = np.concatenate([weight, np.zeros(len(more.x))])
    assert fit(x, y, 4.0 * extended, 0.02, SETTINGS, seed=1, stop=stops) == result
    extended[-1000:] = 1.0
    assert fit(x, y, extended, 0.02, SETTINGS, seed=1, stop=stops).content != result.content


def test_only_the_best_trees_remain_and_treelite_reads_them(small: Small, tmp_path: Path) -> None:
    toy, _, result = small
    losses = list(result.curve)
    assert result.trees == int(np.argmin(losses)) + 1
    assert len(losses) == result.trees + regression.PATIENCE
    assert result.split_nodes <= 15 * result.trees
    (tmp_path / "model.json").write_bytes(result.content)
    trees = treelite.frontend.load_xgboost_model(tmp_path / "model.json", format_choice="use_suffix")
    assert trees.num_tree == result.trees
    output = treelite.gtil.predict(trees, toy.x).reshape(-1)
    np.testing.assert_allclose(output, predict(result.content, toy.x), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.nan}, "finite"),
        ({"stop": True}, "events to stop by"),
    ],
)
def test_what_cannot_be_fitted(change: dict[str, float], message: str) -> None:
    toy = make(14, 100, 1, "normal")
    y, stop = toy.y, np.arange(100) < 25
    y[3] = change.get("y", y[3])
    stop |= bool(change.get("stop", False))
    with pytest.raises(TrigemuError, match=message):
        fit(toy.x, y, np.ones(100), 0.1, SETTINGS, seed=1, stop=stop)


# ---- out of fold

Q = 0.02


def events_of(n: int, seed: int, shared: int = 1) -> Selected:
    """y is normal around a mean that rises with x; `shared` events are made from each interaction."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(n, 1)).astype(np.float32)
    y = np.log1p(x[:, 0]).astype(np.float64) + rng.normal(size=n)
    interaction: IntArray = np.arange(n) // shared
    parent = interaction.astype(np.uint64)
    return Selected(np.ones(n), parent, interaction, np.zeros((n, 1)), np.zeros(n), {"x": x, "y": y})


def test_an_event_has_no_part_in_its_own_quantile() -> None:
    """Nor have others made from the same interaction: whatever their scores are, Y(x) of them is the same."""
    sample = events_of(9000, 1, shared=3)
    chosen = sample.interaction == 1000
    high = replace(sample, values={"x": sample.x, "y": sample.y + 50.0 * chosen})
    (first, fits), (second, others) = (out_of_fold(events, Q, SETTINGS, 1, 4) for events in (sample, high))
    assert (second - first)[chosen] == pytest.approx(50.0, abs=1e-9)
    assert len(fits) == len(others) == 4
    assert sum(fit.content == other.content for fit, other in zip(fits, others, strict=True)) == 1


def test_trees_cannot_split_below_the_least_number_of_events() -> None:
    """Two leaves with 5 events above Y(x) in three quarters of the events are 13 of all."""

    def spread(above: float) -> float:
        events = events_of(round(above / Q), 1)
        _, fits = out_of_fold(events, Q, SETTINGS, 1, 4)
        return max(float(np.ptp(load_trees(fit.content, 1, QUANTILE).score(events.x))) for fit in fits)

    assert spread(12.0) == 0.0
    assert spread(1.5 * LEAST_ABOVE) > 0.2


@pytest.mark.slow
def test_the_threshold_out_of_fold_accepts_the_requested_fraction_of_other_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean of 20 toys; the events of the fit itself are accepted less often, because it follows them."""
    monkeypatch.setattr(regression, "TAIL_EVENTS", 2.0)  # so that it does
    result = []
    others = events_of(100_000, 99)
    for seed in range(20):
        sample = events_of(10_000, seed)
        score, fits = out_of_fold(sample, Q, SETTINGS, 1, 4)
        cut = threshold_for(score, sample.weight, Q * len(score)).threshold
        trees = round(np.median([fit.trees for fit in fits]))
        output = fit(
            sample.x,
            sample.y,
            sample.weight,
            Q,
            SETTINGS,
            seed=1,
            stop=is_quarter(sample.parent),
            trees=trees,
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


# ---- mean weights at x


def test_weights_over_many_decades_at_one_x() -> None:
    """A step of the fit is then so large that its result is no number."""
    x = np.repeat(np.array([[0.0], [1.0]], np.float32), 60_000, axis=0)
    weight = np.concatenate([np.where(np.arange(60_000) < 40, 1.0, 1e-7), np.ones(60_000)])
    mean = mean_weight(x, weight, seed=1)
    assert np.isfinite(mean).all()
    assert mean.min() > 0
    assert mean[0] < mean[-1]


def test_weights_of_one_region_do_not_matter_elsewhere() -> None:
    x = np.repeat(np.array([[0.0], [1.0]], np.float32), 2000, axis=0)
    weight = np.concatenate([np.full(2000, 3.0), np.full(2000, 0.5)])
    mean = mean_weight(x, weight, seed=1)
    np.testing.assert_allclose(mean[0] / mean[-1], 6.0, rtol=0.01)


# ---- a network as Y(x)


def scores_of(seed: int, n: int = 60_000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, often 0; y, normal around a mean that depends on it; weights; and the quantile 1 − Q of y."""
    rng = np.random.default_rng(seed)
    jet = np.where(rng.random(n) < 0.3, 0.0, 20 + rng.exponential(15, n))
    photon = 10 + rng.exponential(5, n)
    mean = np.log1p(jet) / 2 + 0.05 * photon
    y = mean + rng.standard_normal(n)
    x = np.column_stack([jet, photon]).astype(np.float32)
    return x, y, rng.lognormal(0, 0.5, n), mean + NormalDist().inv_cdf(1 - Q)


def test_it_is_the_quantile() -> None:
    """On other events, everywhere in x within the scatter of the events above it."""
    x, y, weight, _ = scores_of(1)
    network = fit_network(x, y, weight, Q, seed=1)
    x, y, _, truth = scores_of(2)
    prediction = dense(network, encoded(x))[:, 0]
    assert np.abs(prediction - truth).mean() < 0.12
    edges = np.quantile(x[:, 0], [0, 0.3, 0.5, 0.7, 0.9, 0.99])
    for low, high in pairwise(edges):
        rows = (x[:, 0] >= low) & (x[:, 0] < high) if high > low else x[:, 0] == low
        above = float((y > prediction)[rows].mean())
        assert above == pytest.approx(Q, abs=4 * np.sqrt(Q / rows.sum()) + 0.15 * Q)


def test_a_file_gives_the_same_alone_and_in_batches() -> None:
    x, y, weight, _ = scores_of(4, 5000)
    network = fit_network(x, y, weight, Q, seed=1)
    x[::7] *= -1
    content = quantile_model(network, 2)
    model = open_quantile(content, 2)
    assert isinstance(model, ScoreNetwork)
    scores = model.score(x)
    np.testing.assert_allclose(scores, dense(network, encoded(x))[:, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(open_quantile(content, 2, "parallel").score(x), scores, rtol=1e-4, atol=1e-4)
    row = model.row()
    assert not row.python
    for event, score in zip(x[:300], scores[:300], strict=True):
        row.features[:] = event
        assert row.evaluate() == score
