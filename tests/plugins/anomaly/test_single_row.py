"""One row through a network, and whether its score is decisive."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx_toys import autoencoder

from trigemu_anomaly import Network, settled_decision
from trigemu_anomaly.single_row import NEAR, score_at

NETWORK = Network(autoencoder(6, (16, 3, 16), "Relu"), 6)
ROWS = np.random.default_rng(2).normal(0, 2, (200, 6)).astype(np.float32)


def test_a_row_is_off_by_its_last_bits() -> None:
    """By none in most rows; that it is in some is what `settled_decision` is there for."""
    row, scores = NETWORK.row(), NETWORK.score(ROWS)
    alone = []
    for features in ROWS:
        row.features[:] = features
        row.run()
        alone.append(score_at(*row.address))
    assert row.near == NEAR
    assert (np.array(alone) != scores).any()
    np.testing.assert_allclose(alone, scores, rtol=NEAR / 1000)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_rows_that_are_off_by_more_widen_what_is_near(scale: float) -> None:
    row, scores = NETWORK.row(), NETWORK.score(ROWS)
    row.compare(ROWS, scores)
    assert row.near == NEAR
    row.compare(ROWS[:1], scores[:1] + np.array([scale]))
    assert row.near == pytest.approx(1000 * scale / max(1.0, scores[0] + scale), rel=1e-6)
    before = row.near
    row.compare(ROWS[:2], np.array([math.nan, math.inf]))
    assert row.near == before


@pytest.mark.parametrize(
    ("y", "score", "cut", "expected"),
    [
        (0.5, 0.5, 0.39, 1),
        (0.5, 0.5, 0.61, 0),
        (0.5, 0.5, 0.41, -1),
        (0.5, 0.5, 0.59, -1),
        (0.5, 0.5, 0.5, -1),
        (-30.0, -30.0, -31.0, -1),
        (-30.0, -30.0, -34.0, 1),
        (-30.0, 0.5, 0.0, -1),  # a difference is as uncertain as what it is made of
        (0.5, 0.5, math.inf, 0),
        (0.5, 0.5, -math.inf, 1),
        (math.inf, math.inf, 3.0, -1),
        (math.inf, math.inf, math.inf, -1),
        (-math.inf, -math.inf, -math.inf, -1),
        (math.nan, math.nan, 0.0, -1),
        (math.nan, math.nan, -math.inf, -1),
    ],
)
def test_settled(y: float, score: float, cut: float, expected: int) -> None:
    assert settled_decision(y, score, cut, 0.1) == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_score_at(kind: type) -> None:
    values = np.array([1.5, -0.1], kind)
    assert score_at(values[1:].ctypes.data, values.itemsize) == float(values[1])
