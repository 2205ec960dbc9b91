"""Decisions of one event, as machine code and by Python functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import helper
from onnx_toys import autoencoder, model
from tree_toys import random_trees
from trigemu_anomaly.network import Engine, Network
from trigemu_anomaly.single_row import Decision
from trigemu_anomaly.tree_kernels import TreeKernels

CONTENT = autoencoder(6, (16, 3, 16), "Relu")
ROWS = np.random.default_rng(2).normal(0, 2, (200, 6)).astype(np.float32)
engines = pytest.mark.parametrize("engine", ["kernels", "onnxruntime"])


@engines
@pytest.mark.parametrize("where", [-math.inf, 0.0, math.inf])
def test_a_decision_is_the_comparison_of_the_score(where: float, engine: Engine) -> None:
    """At the score itself, and at the numbers before and after it."""
    row = Network(CONTENT, 6, engine).row()
    for features in ROWS:
        row.features[:] = features
        score = row.evaluate()
        threshold = score if where == 0.0 else float(np.nextafter(score, where))
        decision = Decision(row, threshold)
        assert (decision.native is None) == (engine == "onnxruntime")
        assert decision() == int(score > threshold)


@engines
def test_the_score_of_trees_is_subtracted(engine: Engine) -> None:
    """Of inputs of the network, or of others."""
    network, trees = Network(CONTENT, 6, engine), random_trees(5, 3, features=2)
    kernels = TreeKernels(trees)
    columns = np.array([4, 1])
    expected = network.score(ROWS) - kernels.predict(np.ascontiguousarray(ROWS[:, columns]))
    threshold = float(np.median(expected))
    for copied in (columns, None):
        row, less = network.row(), kernels.row()
        decision = Decision(row, threshold, less, copied)
        for features, score in zip(ROWS, expected.tolist(), strict=True):
            row.features[:] = features
            if copied is None:
                less.features[:] = features[columns]
            if abs(score - threshold) > 1e-5:
                assert decision() == int(score > threshold)


@engines
def test_a_score_that_is_nan_is_no_decision(engine: Engine) -> None:
    content = model([helper.make_node("Log", ["x"], ["y"])], {}, 1, output=("n", 1))
    row = Network(content, 1, engine).row()
    decision = Decision(row, -math.inf)
    for value, expected in ((1.0, 1), (0.0, 0), (-1.0, -1)):
        row.features[:] = value
        assert decision() == expected
