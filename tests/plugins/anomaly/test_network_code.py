"""Networks as machine code against ONNX Runtime."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings, strategies as st
from onnx import helper
from onnx_graphs import random_graph
from onnx_toys import autoencoder, linear, model

from trigemu_anomaly import Network, machine_code, network_source
from trigemu_anomaly.network_code import NetworkCode, compiled_network


def rows(n: int, features: int, seed: int = 1) -> np.ndarray:
    """A fifth of the numbers are 0, as of missing objects."""
    random = np.random.default_rng(seed)
    result = random.normal(0, 3, (n, features)).astype(np.float32)
    result[random.random(result.shape) < 0.2] = 0.0
    return result


def reference(content: bytes, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0]).reshape(-1)


def compiled(content: bytes, features: int) -> NetworkCode | str:
    x = rows(50, features)
    return compiled_network(content, x, reference(content, x).astype(np.float64), np.float32)


def run(code: NetworkCode, x: np.ndarray) -> np.ndarray:
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    result = np.zeros(len(x), np.float32)
    for i in range(len(x)):
        function(x.ctypes.data + i * x.strides[0], result.ctypes.data + 4 * i)
    return result


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32))
def test_random_graphs(seed: int) -> None:
    content, features = random_graph(seed)
    code = compiled(content, features)
    assert isinstance(code, NetworkCode), code
    x = rows(500, features, seed=2)
    np.testing.assert_allclose(run(code, x), reference(content, x), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "Elu"])
def test_autoencoders(activation: str) -> None:
    content = autoencoder(34, (32, 16, 8, 3, 8, 16, 32), activation)
    code = compiled(content, 34)
    assert isinstance(code, NetworkCode)
    x = rows(2000, 34, seed=3)
    np.testing.assert_allclose(run(code, x), reference(content, x), rtol=1e-5)


def test_double_precision() -> None:
    cast = helper.make_node("Cast", ["x"], ["d"], to=onnx.TensorProto.DOUBLE)
    product = helper.make_node("MatMul", ["d", "c"], ["y"])
    content = model(
        [cast, product],
        {"c": np.array([[0.1], [3.0]])},
        2,
        output=("n", 1),
        output_type=onnx.TensorProto.DOUBLE,
    )
    x = rows(20, 2)
    code = compiled_network(content, x, reference(content, x), np.float64)
    assert isinstance(code, NetworkCode)
    assert 0 < code.apart < 1e-14  # as doubles, and not as floats


def one(kind: str, **attributes: object) -> bytes:
    node = helper.make_node(kind, ["x"], ["z"], **attributes)
    return model(
        [node, helper.make_node("ReduceSum", ["z", "a"], ["y"], keepdims=0)], {"a": np.array([1])}, 3
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (one("Cos"), "has the operator 'Cos'"),
        (one("Softplus"), "has the operator 'Softplus'"),
        (linear([1.0] * 300_000, flat=False), "has more than 200000 weights"),
    ],
    ids=["Cos", "Softplus", "large"],
)
def test_what_onnx_runtime_serves(content: bytes, reason: str) -> None:
    features = onnx.load_from_string(content).graph.input[0].type.tensor_type.shape.dim[1].dim_value
    assert compiled(content, features) == reason


def test_a_rounded_number_decides_between_no_two_others() -> None:
    """Equal on x is exact; on a sum it depends on the order of its terms."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["s"]),
        helper.make_node("Equal", ["s", "zero"], ["e"]),
        helper.make_node("Cast", ["e"], ["y"], to=1),
    ]
    weights = {"w": np.ones((3, 1), np.float32), "zero": np.zeros(1, np.float32)}
    content = model(nodes, weights, 3, output=("n", 1))
    assert compiled(content, 3) == "has the operator 'Equal' on a number that is rounded"


def test_no_text_of_the_file_reaches_the_code() -> None:
    """Names of a model stand in comments and identifiers of the generator."""
    evil = "*/ int evil(void) { return 1; } /*"
    inputs = onnx.load_from_string(linear([1.0, 2.0]))
    inputs.graph.name = inputs.doc_string = inputs.producer_name = inputs.graph.doc_string = evil
    inputs.metadata_props.add(key=evil, value=evil)
    names = {name: f"{name}{evil}" for node in inputs.graph.node for name in (*node.input, *node.output)}
    for number, node in enumerate(inputs.graph.node):
        node.name, node.doc_string = f"{evil}{number}", evil
        node.input[:] = [names[name] for name in node.input]
        node.output[:] = [names[name] for name in node.output]
    for value in (*inputs.graph.input, *inputs.graph.output, *inputs.graph.initializer):
        value.name = names[value.name]
    content = inputs.SerializeToString()
    source = network_source.source(network_source.rebuilt(content))
    assert "evil" not in source
    assert isinstance(compiled(content, 2), NetworkCode)


@pytest.mark.parametrize("content", [b"", b"no model", linear([1.0])[:-20]])
def test_what_is_no_model(content: bytes) -> None:
    command = [sys.executable, "-P", "-m", "trigemu_anomaly.network_source"]
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    assert done.returncode == network_source.STATUS
    assert b"Traceback" not in done.stderr


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(machine_code, "compiler", lambda limits: None)
    row = Network(linear([1.0, 2.0]), 2).row()
    assert row.code == 0
    assert row.engine == "ONNX Runtime, because there is no C compiler (gcc, clang or the variable CC)"


def test_a_network_that_differs_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    content, x = linear([1.0, 2.0]), rows(20, 2)
    result = compiled_network(content, x, reference(content, x) + np.linspace(0, 1, 20), np.float32)
    assert isinstance(result, str)
    assert result.startswith("differs as machine code by")


def test_it_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    content, x = linear([1.0, 2.0]), rows(20, 2)
    scores = reference(content, x).astype(np.float64)
    assert isinstance(compiled_network(content, x, scores, np.float32), NetworkCode)
    monkeypatch.setattr(machine_code, "_compile", None)
    assert isinstance(compiled_network(content, x, scores, np.float32), NetworkCode)
