"""Arithmetic on vectors against float64, and on special numbers against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_graphs import by_onnx_runtime
from onnx_toys import model
from trigemu_anomaly.network import Network

TINY = float(np.finfo(np.float32).tiny)
SPECIAL = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1e-39, TINY, 3e38, -3e38, 1, -1, 0.3, -2.5, 88.8, -88,
    -103.5, -110, 20,
]  # fmt: skip
ONE = np.array(SPECIAL, np.float32)[:, None]
PAIRS = np.array([(a, b) for a in SPECIAL for b in SPECIAL], np.float32)


def scored(content: bytes, x: np.ndarray) -> np.ndarray:
    """In blocks and row by row, which must agree."""
    network = Network(content, x.shape[1], "kernels")
    assert network.engine == "trigemu's kernels"
    scores, row = network.score(x), network.row()
    for features, score in zip(x, scores, strict=True):
        row.features[:] = features
        alone = row.evaluate()
        assert alone == score or (np.isnan(alone) and np.isnan(score)), features
    return scores


def error_in_last_places(kind: str, x: np.ndarray, truth: Callable[[np.ndarray], np.ndarray]) -> float:
    content = model([helper.make_node(kind, ["x"], ["y"])], {}, 1, output=("n", 1))
    x = x.astype(np.float32)
    scores, exact = Network(content, 1, "kernels").score(x[:, None]), truth(x.astype(np.float64))
    normal = (np.abs(exact) >= TINY) & (np.abs(exact) <= np.finfo(np.float32).max)
    places = np.spacing(np.abs(exact[normal]).astype(np.float32)).astype(np.float64)
    return float((np.abs(scores[normal] - exact[normal]) / places).max())


RNG = np.random.default_rng(1)
N = 300_000


@pytest.mark.parametrize(
    ("kind", "x", "truth", "most"),
    [
        ("Exp", RNG.uniform(-87, 88.7, N), np.exp, 1.0),
        ("Log", np.exp(RNG.uniform(-87, 88, N)), np.log, 0.81),
        ("Log", RNG.uniform(0.5, 2, N), np.log, 0.81),
        ("Tanh", RNG.choice([-1, 1], N) * np.exp(RNG.uniform(-20, 3, N)), np.tanh, 1.3),
        ("Sigmoid", RNG.uniform(-80, 80, N), lambda x: 1 / (1 + np.exp(-x)), 2.4),
        ("Sqrt", RNG.uniform(0, 1e6, N), np.sqrt, 0.5),
    ],
    ids=["exp", "log", "log near 1", "tanh", "sigmoid", "sqrt"],
)
def test_errors_against_float64(
    kind: str, x: np.ndarray, truth: Callable[[np.ndarray], np.ndarray], most: float
) -> None:
    assert error_in_last_places(kind, x, truth) <= most


def node(kind: str, inputs: str, output: str = "y", **how: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **how)


FIRST, SECOND = (node("Gather", f"x i{i}", name, axis=1) for i, name in enumerate("ab"))
WEIGHTS = {
    "i0": np.array([0]),
    "i1": np.array([1]),
    "axis": np.array([1]),
    "low": np.array(-1, np.float32),
    "high": np.array(2, np.float32),
    "w": np.array([[1.0], [2.0]], np.float32),
}
UNARY = ("Relu", "LeakyRelu", "Exp", "Log", "Sqrt", "Abs", "Neg", "Identity")
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min")
CASES: list[tuple[str, Sequence[onnx.NodeProto], np.ndarray]] = [
    *((kind, [node(kind, "x")], ONE) for kind in UNARY),
    *((kind, [FIRST, SECOND, node(kind, "a b")], PAIRS) for kind in BINARY),
    *((kind, [node(kind, "x", axes=[1])], PAIRS) for kind in ("ReduceMean", "ReduceSumSquare")),
    ("ReduceSum", [node("ReduceSum", "x axis")], PAIRS),
    ("Clip", [node("Clip", "x low high")], ONE),
    ("Gemm", [node("Gemm", "x w", "g"), node("Relu", "g")], PAIRS),
    (
        "Equal",
        [FIRST, SECOND, node("Equal", "a b", "e"), node("Cast", "e", to=TensorProto.FLOAT)],
        PAIRS,
    ),
    (
        "Where",
        [FIRST, SECOND, node("Cast", "a", "e", to=TensorProto.BOOL), node("Where", "e a b")],
        PAIRS,
    ),
    (
        "Not",
        [node("Cast", "x", "e", to=9), node("Not", "e", "f"), node("Cast", "f", to=TensorProto.FLOAT)],
        ONE,
    ),
]


@pytest.mark.parametrize(("nodes", "x"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_special_numbers_are_those_of_onnx_runtime(nodes: Sequence[onnx.NodeProto], x: np.ndarray) -> None:
    """NaN, infinities, zeros, denormals."""
    content = model(nodes, WEIGHTS, x.shape[1], output=("n", 1))
    with np.errstate(all="ignore"):
        scores, expected = scored(content, x), by_onnx_runtime(content, x)
    np.testing.assert_allclose(scores, expected, rtol=3e-7)
    if x is ONE:  # of two zeros with different signs, either is the larger one
        np.testing.assert_array_equal(np.signbit(scores[scores == 0]), np.signbit(expected[scores == 0]))


@pytest.mark.parametrize(
    ("kind", "limits"),
    [("Sigmoid", (0.0, 0.5, 1.0)), ("Tanh", (-1.0, 0.0, 1.0))],
)
def test_special_numbers_of_sigmoid_and_tanh(kind: str, limits: tuple[float, float, float]) -> None:
    """ONNX Runtime's own are up to 7e7 units in the last place off, and 0 of denormals."""
    content = model([node(kind, "x")], {}, 1, output=("n", 1))
    scores = scored(content, np.array([[np.nan], [-np.inf], [0.0], [np.inf], [1e-45]], np.float32))
    assert np.isnan(scores[0])
    assert tuple(scores[1:4]) == limits
    assert scores[4] == (0.5 if kind == "Sigmoid" else np.float32(1e-45))
