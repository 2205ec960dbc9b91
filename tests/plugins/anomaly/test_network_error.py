"""The bound on rounding: its derivatives, and that ONNX Runtime and machine code stay within it."""

from __future__ import annotations

import ctypes
from collections import Counter

import numpy as np
import onnxruntime
import pytest
from hypothesis import assume, given, settings, strategies as st
from onnx import helper
from onnx_graphs import random_graph
from onnx_toys import autoencoder, linear, model

from trigemu_anomaly.network_code import NetworkCode, compiled_network
from trigemu_anomaly.network_error import error_of, largest_difference, score_function, trial_rows
from trigemu_anomaly.network_rules import RULES, exact
from trigemu_anomaly.network_source import OPERATORS, rebuilt

LEVELS = onnxruntime.GraphOptimizationLevel


def rows(n: int, features: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(0, 3, (n, features)).astype(np.float32)


def in_float32(content: bytes, x: np.ndarray, level: LEVELS) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0], np.float64).reshape(-1)


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_onnx_runtime_is_within_the_bound(seed: int) -> None:
    content, features = random_graph(seed)
    score_of, x = score_function(rebuilt(content)), rows(20, features, seed)
    scores = [score_of(exact(row[np.newaxis])) for row in x]
    bounds = [error_of(score) for score in scores]
    true = [float(np.ravel(score.v)[0]) for score in scores]
    for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL):
        result = in_float32(content, x, level)
        # What is left of the second order; and numbers of which float32 keeps fewer digits.
        assert (np.abs(result - true) <= 1.01 * np.array(bounds) + 1e-30).all()
    assert max(bounds) < 1e-3


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_slopes_are_those_of_differences(seed: int) -> None:
    content, features = random_graph(seed)
    network = rebuilt(content)
    kinds = Counter(node.op_type for node in network.graph.node)
    # The bound counts each of several equal extremes. The last Concat is that of the score.
    assume(not (kinds["ReduceMax"] + kinds["ReduceMin"] and kinds["Gather"] + kinds["Concat"] > 1))
    score_of = score_function(network)
    row = rows(1, features, seed).astype(np.float64)
    given_row = exact(row)
    error_of(score_of(given_row))
    step = 1e-6
    for k in range(features):
        moved = []
        for sign in (1, -1):
            other = row.copy()
            other[0, k] += sign * step
            moved.append(float(np.ravel(score_of(exact(other)).v)[0]))
        expected = (moved[0] - moved[1]) / (2 * step)
        assert np.broadcast_to(given_row.slope, row.shape)[0, k] == pytest.approx(
            expected, rel=1e-4, abs=1e-5
        )


@pytest.mark.parametrize("kind", ["Abs", "Relu", "ReduceL1", "ReduceL2"])
def test_where_a_slope_jumps_the_larger_one_counts(kind: str) -> None:
    """(a + b) − a − b is 0, of which float32 leaves a remainder."""
    weights = {"first": np.array([0]), "second": np.array([1])}
    nodes = [
        helper.make_node("Gather", ["x", "first"], ["a"], axis=1),
        helper.make_node("Gather", ["x", "second"], ["b"], axis=1),
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Sub", ["sum", "a"], ["about b"]),
        helper.make_node("Sub", ["about b", "b"], ["nothing"]),
        helper.make_node(kind, ["nothing"], ["y"], **({"axes": [1]} if kind.startswith("Reduce") else {})),
    ]
    content = model(nodes, weights, 2, output=("n", 1))
    x = np.float32([[1, 1 / 3], [1, 1 / 7], [3, 0.1], [0, 0]])
    score_of = score_function(rebuilt(content))
    scores = [score_of(exact(row[np.newaxis])) for row in x]
    result = in_float32(content, x, LEVELS.ORT_DISABLE_ALL)
    assert [np.ravel(score.v)[0] for score in scores] == [0, 0, 0, 0]
    assert (result > 0).any()
    assert (result <= [error_of(score) for score in scores]).all()


def test_a_sum_by_hand() -> None:
    """Three products and their sum, in any order: (n + 2) u Σ |w x|, twice for two evaluations."""
    model, x = rebuilt(linear([1.0, -2.0, 4.0], flat=False)), np.array([[3.0, 5.0, 7.0]], np.float32)
    assert largest_difference(model, x) == pytest.approx(2 * 5 * 2**-24 * (3 + 10 + 28) / 21)


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "Elu"])
def test_machine_code_is_within_the_bound(activation: str) -> None:
    """Of an autoencoder, whose score is a logarithm: of events with all kinds of scores."""
    content = autoencoder(34, (32, 16, 8, 3, 8, 16, 32), activation)
    x = np.concatenate([trial_rows(34), rows(100, 34, 1)])
    scores = in_float32(content, x, LEVELS.ORT_ENABLE_ALL)
    code = compiled_network(content, x, scores, np.float32)
    assert isinstance(code, NetworkCode)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    model = rebuilt(content)
    for row, score in zip(x, scores, strict=True):
        result = np.zeros(1, np.float32)
        function(row.ctypes.data, result.ctypes.data)
        assert abs(result[0] - score) <= largest_difference(model, row[np.newaxis]) * max(1.0, abs(score))


def test_every_operator_has_a_rule() -> None:
    assert set(RULES) == set(OPERATORS)
