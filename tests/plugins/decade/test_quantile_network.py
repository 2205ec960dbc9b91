"""Y(x) from a network against a quantile that is known, and its graph against NumPy."""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from decade_twins import dense
from trigemu_anomaly.network import Network
from trigemu_decade.decade import open_quantile
from trigemu_decade.training import regression
from trigemu_decade.training.config import QuantileTable
from trigemu_decade.training.graph import quantile_model
from trigemu_decade.training.regression import encoded, fit_network

Q = 0.02


def toy(seed: int, n: int = 60_000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
    x, y, weight, _ = toy(1)
    network = fit_network(x, y, weight, Q, seed=1)
    x, y, _, truth = toy(2)
    prediction = dense(network, encoded(x))[:, 0]
    assert np.abs(prediction - truth).mean() < 0.12
    edges = np.quantile(x[:, 0], [0, 0.3, 0.5, 0.7, 0.9, 0.99])
    for low, high in pairwise(edges):
        rows = (x[:, 0] >= low) & (x[:, 0] < high) if high > low else x[:, 0] == low
        above = float((y > prediction)[rows].mean())
        assert above == pytest.approx(Q, abs=4 * np.sqrt(Q / rows.sum()) + 0.15 * Q)


def test_the_same_seed_gives_the_same_file() -> None:
    x, y, weight, _ = toy(3, 5000)
    settings, stop = QuantileTable(x=("x",), model="network"), np.zeros(5000, np.bool_)
    one, two, other = (regression.fit(x, y, weight, Q, settings, seed=seed, stop=stop) for seed in (1, 1, 2))
    assert one.content == two.content != other.content
    assert (one.trees, one.split_nodes, one.weights) == (0, 0, 6 * 32 + 32 + 32 * 32 + 32 + 32 + 1)


def test_a_file_gives_the_same_alone_and_in_batches() -> None:
    x, y, weight, _ = toy(4, 5000)
    network = fit_network(x, y, weight, Q, seed=1)
    x[::7] *= -1
    content = quantile_model(network, 2)
    model = open_quantile(content, 2)
    assert isinstance(model, Network)
    scores = model.score(x)
    np.testing.assert_allclose(scores, dense(network, encoded(x))[:, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(open_quantile(content, 2, "parallel").score(x), scores, rtol=1e-4, atol=1e-4)
    row = model.row()
    assert not row.python
    for event, score in zip(x[:300], scores[:300], strict=True):
        row.features[:] = event
        assert row.evaluate() == score
