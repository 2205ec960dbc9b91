"""Decisions of one event as machine code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import helper
from onnx_toys import autoencoder, model
from tree_toys import random_trees
from trigemu_anomaly.network import Network
from trigemu_anomaly.single_row import NativeDecision, StepRow
from trigemu_anomaly.tree_cells import CellRow, cell_table

NETWORK = Network(autoencoder(6, (16, 3, 16), "Relu"), 6)
ROWS = np.random.default_rng(2).normal(0, 2, (200, 6)).astype(np.float32)


def step_row(network: Network) -> StepRow:
    row = network.row()
    assert isinstance(row, StepRow)
    return row


@pytest.mark.parametrize("where", [-math.inf, 0.0, math.inf])
def test_a_decision_is_the_comparison_of_the_score(where: float) -> None:
    """At the score itself, and at the numbers before and after it."""
    row, scores = step_row(NETWORK), NETWORK.score(ROWS)
    for features, score in zip(ROWS, scores.tolist(), strict=True):
        threshold = score if where == 0.0 else float(np.nextafter(score, where))
        row.features[:] = features
        assert NativeDecision(row, threshold)() == int(score > threshold)


def test_the_score_of_trees_is_subtracted() -> None:
    """Of inputs of the network, or of others."""
    trees = random_trees(5, 3, features=2)
    table = cell_table(trees)
    assert table
    columns, x = np.array([4, 1]), np.zeros(2, np.float32)
    expected = NETWORK.score(ROWS) - table.predict(np.ascontiguousarray(ROWS[:, columns]))
    threshold = float(np.median(expected))
    for copied in (columns, None):
        row = step_row(NETWORK)
        decision = NativeDecision(row, threshold, CellRow(table), x, copied)
        for features, score in zip(ROWS, expected.tolist(), strict=True):
            row.features[:] = features
            if copied is None:
                x[:] = features[columns]
            assert decision() == int(score > threshold)


def test_a_score_that_is_nan_is_no_decision() -> None:
    logarithm = Network(model([helper.make_node("Log", ["x"], ["y"])], {}, 1, output=("n", 1)), 1)
    row = step_row(logarithm)
    decision = NativeDecision(row, -math.inf)
    for value, expected in ((1.0, 1), (0.0, 0), (-1.0, -1)):
        row.features[:] = value
        assert decision() == expected
