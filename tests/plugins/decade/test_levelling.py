"""Mean weights at x."""

from __future__ import annotations

import numpy as np

from trigemu_decade.training.levelling import mean_weight

RANDOM = np.random.default_rng(1)
X = RANDOM.uniform(0, 1, (6000, 1)).astype(np.float32)


def test_it_is_positive_where_all_weights_are_0() -> None:
    """There float32 rounds the mean to 0, and a weight divided by it is not finite."""
    weight = np.where(X[:, 0] < 0.5, 0.0, 10.0 ** RANDOM.uniform(-9, 2, len(X)))
    mean = mean_weight(X, weight, seed=1)
    assert mean.min() > 0
    assert np.isfinite(weight / mean).all()
