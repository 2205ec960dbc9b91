"""The variational autoencoder against the optimum that one latent variable of one input has."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from decade_twins import dense
from msgspec.structs import replace
from trigemu_decade.training.autoencoder import Network, Standard, fit
from trigemu_decade.training.config import AutoencoderTable
from trigemu_decade.training.graph import onnx_model


@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_the_score_of_a_normal_input(beta: float) -> None:
    """The loss of x ~ N(0, 1), with µ = a x, variance s² and output w z, is least at w² = a² = 1 − β, where
    its derivatives by s², a and w vanish: s² = β/(w² + β), a = w/(w² + β), w² + β = 1. The score is
    (1 − β) x²."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20_000, 1)).astype(np.float32)
    settings = AutoencoderTable(
        hidden=(1,), epochs=40, batch_size=512, learning_rate=1e-2, variational=True, beta=beta
    )
    everything = np.ones(x.shape, np.bool_)
    fitted = fit(x, everything, np.ones(len(x)), settings, seed=2, learns=np.ones(len(x), np.bool_))
    assert fitted.network.weights[0].shape == (1, 1)
    score = dense(fitted.network, fitted.standard.apply(x, everything)).ravel() ** 2
    # The last steps of the optimiser scatter by a few percent.
    slope = float((score * x[:, 0] ** 2).sum() / (x[:, 0] ** 4).sum())
    assert slope == pytest.approx(1 - beta, abs=0.06)


def test_the_graph_is_the_sum_of_squares() -> None:
    rng = np.random.default_rng(3)
    shapes = ((4, 5), (5, 2))
    network = Network(
        tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes),
        tuple(rng.normal(size=shape[1]).astype(np.float32) for shape in shapes),
    )
    standard = Standard(np.array([1.0, 2.0, 0.0, 3.0]), np.array([1.0, 2.0, 1.0, 0.5]))
    features = rng.normal(2, 2, (500, 4)).astype(np.float32)
    features[::3, 2:] = 0.0
    present = np.ones(features.shape, np.bool_)
    present[::3, 2:] = False
    model = onnx_model(network, standard, [(0, 2, False), (2, 4, True)], variational=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (score,) = session.run(None, {"features": features})
    expected = (dense(network, standard.apply(features, present)) ** 2).sum(axis=1)
    np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_encoder() -> None:
    x = np.random.default_rng(4).standard_normal((2000, 3)).astype(np.float32)
    settings = AutoencoderTable(hidden=(4, 2, 4), epochs=2, variational=True)
    given = (x, np.ones(x.shape, np.bool_), np.ones(len(x)))
    learns = np.arange(2000) < 1500
    one, two, other = (fit(*given, settings, seed=seed, learns=learns) for seed in (1, 1, 2))
    assert [w.shape for w in one.network.weights] == [(3, 4), (4, 2)]
    assert one.curve == two.curve != other.curve
    plain = fit(*given, replace(settings, variational=False), seed=1, learns=learns)
    assert [w.shape for w in plain.network.weights] == [(3, 4), (4, 2), (2, 4), (4, 3)]
