"""The classifier against the likelihood ratio of normal signals."""

from __future__ import annotations

import numpy as np
from trigemu_anomaly.anomaly import InputBlock
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.xgboost_file import LOGISTIC
from trigemu_decade.training.classifier import fit
from trigemu_decade.training.config import ClassifierTable

TABLE = ClassifierTable(signals=("s",), inputs=(InputBlock(("ht",)),), trees=60)


def test_the_margin_is_the_logarithm_of_the_likelihood_ratio() -> None:
    """Of N(1, 1) to N(0, 1), x − ½, for any scale of the weights."""
    rng = np.random.default_rng(1)
    background, signal = (rng.normal(mean, 1, (60_000, 1)).astype(np.float32) for mean in (0, 1))
    content = fit((background, np.full(60_000, 7.0)), [(signal, np.full(60_000, 1e-3))], TABLE, seed=1)
    x = np.linspace(-1, 2, 200, dtype=np.float32)[:, np.newaxis]
    margin = load_trees(content, 1, LOGISTIC).score(x)
    assert np.abs(margin - (x[:, 0] - 0.5)).mean() < 0.1


def test_signals_count_the_same() -> None:
    """A mixture of N(−3, 1), of ten times the weight, and N(3, 1): symmetric around the background."""
    rng = np.random.default_rng(2)
    background, left, right = (rng.normal(mean, 1, (40_000, 1)).astype(np.float32) for mean in (0, -3, 3))
    weights = (np.ones(40_000), np.full(40_000, 10.0), np.ones(40_000))
    content = fit((background, weights[0]), [(left, weights[1]), (right, weights[2])], TABLE, seed=1)
    x = np.linspace(1, 2.5, 50, dtype=np.float32)[:, np.newaxis]
    trees = load_trees(content, 1, LOGISTIC)
    assert np.abs(trees.score(x) - trees.score(-x)).mean() < 0.2
    few = slice(2000)
    first, again = (fit((background[few], weights[0][few]), [(left, weights[1])], TABLE, 1) for _ in range(2))
    assert first == again
