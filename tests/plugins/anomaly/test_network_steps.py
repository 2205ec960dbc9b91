"""Networks as steps, against the reference implementation of ONNX in float64, and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper
from onnx_graphs import by_onnx_runtime, in_double, random_graph
from onnx_toys import autoencoder, linear, model
from trigemu_anomaly.network import Network

KERNELS = "trigemu's kernels"


def rows(n: int, features: int, seed: int = 1) -> np.ndarray:
    """A fifth of the numbers are 0, as of missing objects."""
    random = np.random.default_rng(seed)
    result = random.normal(0, 3, (n, features)).astype(np.float32)
    result[random.random(result.shape) < 0.2] = 0.0
    return result


def alone(network: Network, x: np.ndarray) -> np.ndarray:
    row, scores = network.row(), np.empty(len(x))
    for event in range(len(x)):
        row.features[:] = x[event]
        scores[event] = row.evaluate()
    return scores


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_random_graphs(seed: int) -> None:
    """The error is that of ONNX Runtime or smaller, up to a few units; one event has the bits of a batch."""
    content, features = random_graph(seed)
    network, x = Network(content, features, "kernels"), rows(100, features, seed=2)
    assert network.engine == KERNELS
    scores, exact = network.score(x), in_double(content, x)
    theirs = np.abs(by_onnx_runtime(content, x) - exact).max()
    assert np.abs(scores - exact).max() <= 2 * theirs + 3e-7
    np.testing.assert_array_equal(alone(network, x), scores)


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "LeakyRelu"])
def test_autoencoders(activation: str) -> None:
    content = autoencoder(34, (32, 16, 8, 3, 8, 16, 32), activation)
    network, x = Network(content, 34, "kernels"), rows(2000, 34, seed=3)
    scores, exact = network.score(x), in_double(content, x)
    np.testing.assert_allclose(scores, exact, rtol=1e-6)
    np.testing.assert_array_equal(alone(network, x), scores)


def node(kind: str, inputs: str, output: str = "y", **how: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **how)


def total(x: str) -> onnx.NodeProto:
    return node("ReduceSum", f"{x} last", keepdims=0)


WEIGHTS = {
    "last": np.array([1]),
    "second": np.array([2]),
    "shape": np.array([0, 2, 3]),
    "flat": np.array([-1, 6]),
    "none": np.array([-1]),
    "w": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "b": np.arange(3, dtype=np.float32).reshape(1, 3),
    "one": np.array(1.5, np.float32),
    "two": np.array([2.0], np.float32),
    "half": np.array(0.5, np.float32),
    "mask": np.array([True, False, True, False, False, True]),
    "i": np.array([0, 2]),
    "starts": np.array([-2]),
    "ends": np.array([-100]),
    "steps": np.array([-1]),
}
GRAPHS: dict[str, Sequence[onnx.NodeProto]] = {
    "reshaped": [
        node("Reshape", "x flat", "f"),
        node("ReduceMean", "f", "m", axes=[-1]),
        node("Reshape", "m none"),
    ],
    "a bias as a matrix": [
        node("Gather", "x i", "g", axis=1),
        node("Gemm", "g w b", "m", alpha=2.0, beta=0.5),
        total("m"),
    ],
    "squeezed": [node("ReduceSum", "x last", "s"), node("Squeeze", "s last")],
    "a slice backwards": [node("Slice", "x starts ends last steps", "s"), total("s")],
    "a known mask": [node("Where", "mask x one", "s"), total("s")],
    "constants alone": [node("Exp", "one", "e"), node("Mul", "x e", "s"), total("s")],
    "squares and roots": [
        node("Pow", "x two", "p"),
        node("Pow", "p half", "q"),
        total("q"),
    ],
    "a minimum of three": [node("Min", "x one two", "s"), node("Max", "s", "t"), total("t")],
    "half of Clip": [node("Clip", "x one", "s"), total("s")],
    "the input itself": [node("Gather", "x second", axis=1)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_forms_of_operators(name: str) -> None:
    output = ("n", 1) if name == "the input itself" else ("n",)
    content = model(GRAPHS[name], WEIGHTS, 6, output=output)
    network, x = Network(content, 6, "kernels"), rows(40, 6)
    assert network.engine == KERNELS
    np.testing.assert_allclose(network.score(x), in_double(content, x), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(alone(network, x), network.score(x))


INTEGERS = [node("Cast", "x", "c", to=TensorProto.INT64), node("Cast", "c", "d", to=1), total("d")]
PRODUCT = [node("Reshape", "x shape", "r"), node("ReduceSum", "r both", keepdims=0)]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Cos", "x", "c"), total("c")], "the operator 'Cos'"),
        (INTEGERS, "another type"),
        ([node("MatMul", "x v", "c"), total("c")], "more than 65536 numbers"),
        (PRODUCT, "Reshape to other than rows"),
        ([node("ReduceMax", "x", axes=[1], keepdims=0)], "the operator 'ReduceMax'"),
        ([node("Pow", "x one", "c"), total("c")], "other than a square"),
    ],
    ids=["an operator", "integers", "large", "three axes", "a largest number", "a power"],
)  # fmt: skip
def test_other_graphs_run_in_onnx_runtime(nodes: Sequence[onnx.NodeProto], reason: str) -> None:
    weights = WEIGHTS | {"v": np.ones((6, 70_000), np.float32), "both": np.array([1, 2])}
    content, x = model(nodes, weights, 6), rows(20, 6)
    network = Network(content, 6, "kernels")
    assert network.engine.startswith("ONNX Runtime (")
    assert reason in network.engine
    np.testing.assert_allclose(network.score(x), by_onnx_runtime(content, x), rtol=1e-5)
    np.testing.assert_allclose(alone(network, x), network.score(x), rtol=1e-6)


def test_threads_do_not_share_memory() -> None:
    content = autoencoder(34, (32, 3, 32), "Tanh")
    network, x = Network(content, 34, "kernels"), rows(5000, 34)
    expected = network.score(x)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(network.score, [x] * 12):
            np.testing.assert_array_equal(result, expected)


def test_another_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match="a network of 3 features got an array"):
        Network(linear([1.0, 2.0, 3.0]), 3, "kernels").score(rows(2, 4))
