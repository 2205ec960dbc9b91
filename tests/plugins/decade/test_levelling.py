"""Mean weights at x."""

from __future__ import annotations

import numpy as np
from trigemu_decade.training.folds import mean_weight

N = 60_000


def test_weights_over_many_decades_at_one_x() -> None:
    """A step of the fit is then so large that its result is no number."""
    x = np.repeat(np.array([[0.0], [1.0]], np.float32), N, axis=0)
    weight = np.concatenate([np.where(np.arange(N) < 40, 1.0, 1e-7), np.ones(N)])
    mean = mean_weight(x, weight, seed=1)
    assert np.isfinite(mean).all()
    assert mean.min() > 0
    assert mean[0] < mean[-1]


def test_weights_of_one_region_do_not_matter_elsewhere() -> None:
    x = np.repeat(np.array([[0.0], [1.0]], np.float32), 2000, axis=0)
    weight = np.concatenate([np.full(2000, 3.0), np.full(2000, 0.5)])
    mean = mean_weight(x, weight, seed=1)
    np.testing.assert_allclose(mean[0] / mean[-1], 6.0, rtol=0.01)
