"""The ONNX graph in ONNX Runtime against its twin in NumPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from decade_twins import dense, log_mse
from trigemu_decade.training.autoencoder import Network, Standard, presence
from trigemu_decade.training.graph import onnx_model

Array = npt.NDArray[Any]
BLOCKS = [(0, 4, False), *((4 + 3 * i, 7 + 3 * i, True) for i in range(10))]
WIDTHS = (34, 32, 16, 8, 3, 8, 16, 32, 34)


def network(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(WIDTHS))
    return Network(
        tuple(
            rng.normal(0.0, (2.0 / n_in) ** 0.5, (n_in, n_out)).astype(np.float32) for n_in, n_out in pairs
        ),
        tuple(rng.normal(0.0, 0.3, n_out).astype(np.float32) for _, n_out in pairs),
    )


def events(seed: int, n: int) -> Array:
    """Counts, HT, MHT, and 0 to 6 jets and 0 to 4 photons of steep pT in GeV, η and Δφ; 0 where missing."""
    rng = np.random.default_rng(seed)
    pt = -np.sort(-(10.0 + 20.0 * rng.pareto(2.5, (n, 10))), axis=1)
    eta, dphi = rng.normal(0.0, 1.5, (n, 10)), rng.uniform(-np.pi, np.pi, (n, 10))
    jets, photons = rng.integers(0, 7, n), rng.integers(0, 5, n)
    there = np.concatenate([np.arange(6) < jets[:, None], np.arange(4) < photons[:, None]], axis=1)
    objects = np.where(there[:, :, None], np.stack([pt, eta, dphi], axis=2), 0.0)
    ht = objects[:, :, 0].sum(axis=1)
    numbers = np.stack([jets, photons, ht, rng.uniform(0.0, 0.8, n) * ht], axis=1)
    return np.concatenate([numbers, objects.reshape(n, 30)], axis=1).astype(np.float32)


STANDARD = Standard(
    np.array([3.0, 2.0, 150.0, 50.0, *[35.0, 0.01, -0.02] * 10]),
    np.array([2.0, 1.4, 90.0, 40.0, *[25.0, 1.5, 1.8] * 10]),
)


def run(model: bytes, features: Array) -> Array:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"features": features})[0])


def twin(net: Network, features: Array) -> Array:
    return log_mse(net, STANDARD, features, presence(features, BLOCKS))


@pytest.mark.parametrize("log", [(), (2, 3, 4, 7, 22)])
def test_logarithms_are_part_of_the_model(log: tuple[int, ...]) -> None:
    """Also of 0, and of objects that are missing."""
    net, features = network(1), events(2, 5000)
    features[:50, 3] = 0.0
    standard = replace(STANDARD, log=log)
    result = run(onnx_model(net, standard, BLOCKS), features)
    np.testing.assert_allclose(
        result, log_mse(net, standard, features, presence(features, BLOCKS)), rtol=0, atol=2e-5
    )


def test_what_is_missing_counts_nowhere() -> None:
    """A missing object's η and Δφ change nothing; one that is there at η = Δφ = 0 counts."""
    net = network(1)
    model, features = onnx_model(net, STANDARD, BLOCKS), np.zeros((4, 34), np.float32)
    features[1, 5:7] = 2.5, 1.0  # no pT
    features[2, 4] = 40.0
    features[3, 4:7] = 40.0, 2.5, 1.0
    score = run(model, features)
    assert score[0] == score[1]
    assert len({*score[1:].tolist()}) == 3
    np.testing.assert_allclose(score, twin(net, features), rtol=0, atol=1e-5)


def test_perfect_reconstruction_and_nothing_at_all_have_a_score() -> None:
    silent = Network((np.zeros((3, 3), np.float32),), (np.zeros(3, np.float32),))
    standard = Standard(np.array([30.0, 0.0, 0.0]), np.ones(3))
    model = onnx_model(silent, standard, [(0, 3, True)])
    features = np.array([[30.0, 0.0, 0.0], [0.0, 0.0, 0.0]], np.float32)
    np.testing.assert_allclose(run(model, features), np.log(1e-12), rtol=1e-6)


def test_content_of_the_file() -> None:
    content = onnx_model(network(1), STANDARD, BLOCKS)
    assert content == onnx_model(network(1), STANDARD, BLOCKS)
    assert content != onnx_model(network(2), STANDARD, BLOCKS)
    model = onnx.load_model_from_string(content)
    assert (model.ir_version, [entry.version for entry in model.opset_import]) == (8, [17])
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (inputs,), (score,) = session.get_inputs(), session.get_outputs()
    assert (inputs.name, inputs.type, inputs.shape) == ("features", "tensor(float)", ["n", 34])
    assert (score.name, score.type, score.shape) == ("score", "tensor(float)", ["n"])


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
    score = run(model, features)
    expected = (dense(network, standard.apply(features, present)) ** 2).sum(axis=1)
    np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-5)
