from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from decade_twins import dense, log_mse
from msgspec.structs import replace
from trigemu_decade.training import autoencoder
from trigemu_decade.training.autoencoder import (
    TINY,
    Fit,
    presence,
    standardise,
)
from trigemu_decade.training.config import AutoencoderTable

from trigemu import TrigemuError

Array = npt.NDArray[Any]
# Two event-level numbers and three objects of (pT, η, Δφ).
BLOCKS = [(0, 2, False), (2, 5, True), (5, 8, True), (8, 11, True)]
SETTINGS = AutoencoderTable(inputs=(), hidden=(16, 4, 16), epochs=25, batch_size=64, learning_rate=3e-3)


def fit(features: Array, *given: Any, test: int = 200, **more: Any) -> Fit:
    """The last events are not learned from."""
    return autoencoder.fit(features, *given, learns=np.arange(len(features)) < len(features) - test, **more)


def structured(seed: int, n: int) -> Array:
    """Features of two hidden numbers; half the events lack the second object, all lack the third."""
    rng = np.random.default_rng(seed)
    energy, angle = rng.exponential(1.0, n), rng.normal(0.0, 1.0, n)
    objects = [[50 * energy + 20, angle, 2 * angle], [20 * energy + 10, -angle, -angle], 3 * [0 * angle]]
    features = np.stack(
        [300 * energy, 100 + 30 * energy, *(column for one in objects for column in one)], axis=1
    ).astype(np.float32)
    features[rng.random(n) < 0.5, 5:8] = 0.0
    return features


@pytest.fixture(scope="module")
def trained() -> tuple[Array, Fit]:
    features = structured(1, 6000)
    return features, fit(features, presence(features, BLOCKS), np.ones(6000), SETTINGS, seed=1)


@pytest.fixture(scope="module")
def plain(trained: tuple[Array, Fit]) -> Fit:
    """Of the first 1000 events with equal weights, two epochs."""
    features = trained[0][:1000]
    return fit(features, presence(features, BLOCKS), np.ones(1000), replace(SETTINGS, epochs=2), seed=2)


def test_presence_follows_the_first_entry_of_a_block() -> None:
    features = np.zeros((3, 11), np.float32)
    features[1, 2] = 30.0  # η = Δφ = 0 exactly is an object all the same
    features[2, 6] = 1.5  # η without pT is none
    present = presence(features, BLOCKS)
    assert present[:, :2].all()
    assert present[:, 2:].sum(axis=1).tolist() == [0, 3, 0]


def test_standardise_counts_present_entries_by_their_weight() -> None:
    features = structured(2, 400)
    present = presence(features, BLOCKS)
    weight = np.random.default_rng(3).integers(0, 4, 400)
    result = standardise(features, present, weight.astype(float))
    for column in range(8):
        entries = np.repeat(features[:, column].astype(float), weight * present[:, column])
        assert result.mean[column] == pytest.approx(entries.mean(), rel=1e-9)
        assert result.std[column] == pytest.approx(entries.std(), rel=1e-9)


def test_standardise_what_never_occurs_or_never_varies() -> None:
    features = np.array([[1e6 / 3, 0.0, 5.0], [1e6 / 3, 0.0, 7.0]], np.float32)
    present = np.array([[True, False, True], [True, False, True]])
    result = standardise(features, present, np.array([1.0, 0.0]))
    np.testing.assert_allclose(result.mean, [features[0, 0], 0.0, 5.0])
    assert result.std.tolist() == [1.0, 1.0, 1.0]


def test_reconstructs_the_structure(trained: tuple[Array, Fit]) -> None:
    _, result = trained
    losses = [loss.test for loss in result.curve]
    assert len(losses) == SETTINGS.epochs
    assert losses[-1] < 0.05 * losses[0] < 0.05
    unseen = structured(4, 4000)
    broken = unseen.copy()
    broken[:, 3] *= -1.0  # the leading η contradicts all other angles
    scores = [log_mse(result.network, result.standard, f, presence(f, BLOCKS)) for f in (unseen, broken)]
    assert np.exp(scores[0]).mean() == pytest.approx(losses[-1], rel=0.3)
    assert np.median(scores[1]) > np.median(scores[0]) + 1.0
    assert np.isfinite(scores).all()


def test_curve_is_of_the_scores(trained: tuple[Array, Fit]) -> None:
    """Without test events the last loss of training is the mean of exp(score) over all."""
    features = trained[0][:1500]
    present = presence(features, BLOCKS)
    weight = np.random.default_rng(5).exponential(1.0, 1500)
    settings = replace(SETTINGS, epochs=3)
    result = fit(features, present, weight, settings, seed=2, test=0)
    mse = np.exp(log_mse(result.network, result.standard, features, present)) - TINY
    assert result.curve[-1].train == pytest.approx(np.average(mse, weights=weight), rel=1e-4)
    assert np.isnan(result.curve[-1].test)


def test_weights_decide_what_is_learned() -> None:
    """Of two contradicting populations the heavy one is reconstructed."""
    rng = np.random.default_rng(6)
    u = rng.normal(size=(4000, 1))
    features = np.concatenate([u, np.where(np.arange(4000)[:, None] < 2000, u, -u)], axis=1).astype(
        np.float32
    )
    present = np.ones(features.shape, np.bool_)
    settings = replace(SETTINGS, hidden=(8, 1, 8), epochs=30)
    for heavy in (slice(0, 2000), slice(2000, 4000)):
        weight = np.full(4000, 1e-3)
        weight[heavy] = 1.0
        result = fit(features, present, weight, settings, seed=1)
        mse = np.exp(log_mse(result.network, result.standard, features, present))
        assert 3 * mse[heavy].mean() < mse.mean()


def test_logarithms_are_those_of_the_features(trained: tuple[Array, Fit]) -> None:
    """As if the features had been given so, except that missing objects stay missing."""
    features = trained[0][:1000]
    present, columns = presence(features, BLOCKS), [0, 1, 2, 5]
    settings = replace(SETTINGS, epochs=2)
    inputs = features.copy()
    inputs[:, columns] = np.where(present[:, columns], np.log(np.maximum(features[:, columns], 1.0)), 0.0)
    by_hand = fit(inputs, present, np.ones(1000), settings, seed=2)
    result = fit(features, present, np.ones(1000), settings, seed=2, log=tuple(columns))
    np.testing.assert_allclose(result.standard.mean, by_hand.standard.mean, rtol=1e-6)
    scores = log_mse(result.network, result.standard, features, present)
    np.testing.assert_allclose(
        scores, log_mse(by_hand.network, by_hand.standard, inputs, present), rtol=0, atol=1e-3
    )


def test_features_that_are_not_finite() -> None:
    features = structured(7, 10)
    features[4, 1] = np.inf
    with pytest.raises(TrigemuError, match="finite"):
        fit(features, presence(features, BLOCKS), np.ones(10), SETTINGS, seed=1, test=0)


def test_nothing_is_learned_from_the_others(trained: tuple[Array, Fit], plain: Fit) -> None:
    """Whatever their features and weights are; they give the test loss."""
    features = trained[0][:1000]
    present, settings = presence(features, BLOCKS), replace(SETTINGS, epochs=2)
    other, weight = features.copy(), np.ones(1000)
    other[800:] = other[:200] * 3
    weight[800:] = 7.0
    second = fit(other, presence(other, BLOCKS), weight, settings, seed=2)
    np.testing.assert_allclose(plain.network.weights[0], second.network.weights[0], rtol=0, atol=1e-5)
    mse = np.exp(log_mse(plain.network, plain.standard, features, present)) - TINY
    assert plain.curve[-1].test == pytest.approx(mse[800:].mean(), rel=1e-4)


@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_the_score_of_a_normal_input(beta: float) -> None:
    """The loss of x ~ N(0, 1), with µ = a x, variance s² and output w z, is least at w² = a² = 1 − β, where
    its derivatives by s², a and w vanish: s² = β/(w² + β), a = w/(w² + β), w² + β = 1. The score is
    (1 − β) x²."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20_000, 1)).astype(np.float32)
    settings = AutoencoderTable(
        inputs=(), hidden=(1,), epochs=40, batch_size=512, learning_rate=1e-2, variational=True, beta=beta
    )
    everything = np.ones(x.shape, np.bool_)
    fitted = autoencoder.fit(
        x, everything, np.ones(len(x)), settings, seed=2, learns=np.ones(len(x), np.bool_)
    )
    assert fitted.network.weights[0].shape == (1, 1)
    score = dense(fitted.network, fitted.standard.apply(x, everything)).ravel() ** 2
    # The last steps of the optimiser scatter by a few percent.
    slope = float((score * x[:, 0] ** 2).sum() / (x[:, 0] ** 4).sum())
    assert slope == pytest.approx(1 - beta, abs=0.06)
