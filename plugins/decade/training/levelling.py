"""The mean weight at x: weights are divided by it to make the fit good in regions of low rate too.

A conditional quantile does not change if weights are multiplied by a function of x. The region of the primary
triggers has a hundredth of the rate, but many simulated events of small weight. With the original weights the
fit almost ignores it; after the division by the mean weight at x, each region counts by its number of events.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xgboost

from trigemu.api import FloatArray

from .regression import Settings

#: Trees of this auxiliary fit. Its errors cannot cause a bias, so a rough fit is sufficient.
_TREES = 50
_EVENTS_A_LEAF = 50


def fit_weight(
    x: npt.NDArray[np.float32], weight: FloatArray, settings: Settings, *, seed: int
) -> FloatArray:
    """Return the weights float64[n] for a fit of Y(x): the weights of the events, divided by their mean at x
    if `settings.levelled`."""
    return weight / mean_weight(x, weight, seed=seed) if settings.levelled else weight


def mean_weight(x: npt.NDArray[np.float32], weight: FloatArray, *, seed: int) -> FloatArray:
    """Return float64[n] > 0, proportional to the mean of weight[n] (≥ 0) among events similar in x[n, d],
    from a regression with boosted trees (gamma deviance, which is relative). The scale does not matter.

    Where weights at the same x are of many decades, a step of that fit can be too large for float32. The mean
    is then that of the logarithms."""
    largest = weight.max()
    target = np.maximum(weight / largest, np.finfo(np.float32).tiny)
    mean = _regression("reg:gamma", x, target, seed)
    return (
        mean if np.isfinite(mean).all() else np.exp(_regression("reg:squarederror", x, np.log(target), seed))
    )


def _regression(objective: str, x: npt.NDArray[np.float32], target: FloatArray, seed: int) -> FloatArray:
    """Return the mean of a target at x, float64[n]."""
    parameters = {
        "objective": objective,
        "learning_rate": 0.3,
        "max_depth": 4,
        "min_child_weight": _EVENTS_A_LEAF,
        "tree_method": "hist",
        "base_score": float(target.mean()),
        "seed": seed,
    }
    booster = xgboost.train(parameters, xgboost.QuantileDMatrix(x, target), _TREES)
    return np.asarray(booster.inplace_predict(x), np.float64).reshape(len(x))
