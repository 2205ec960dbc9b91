"""What is typical of the weights at x, so that a fit can be as good where there is little rate.

A conditional quantile does not change when weights are multiplied by a function of x. Where the primary
triggers are is a hundredth of the rate, but many simulated events of small weight: with the weights as they
are, a fit hardly looks there; divided by their mean at x, each region counts by its events.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xgboost

from trigemu.support import FloatArray

#: Trees of an auxiliary fit whose errors cannot bias anything: rough is good enough.
_TREES = 50
_EVENTS_A_LEAF = 50


def mean_weight(x: npt.NDArray[np.float32], weight: FloatArray, *, seed: int) -> FloatArray:
    """float64[n] > 0: the mean of weight[n] (≥ 0) among events like x[n, d], by a regression of
    boosted trees (gamma deviance, which is relative); proportional to it, as the scale does not matter."""
    largest = weight.max()
    target = np.maximum(weight / largest, np.finfo(np.float32).tiny)
    data = xgboost.QuantileDMatrix(x, target)
    parameters = {
        "objective": "reg:gamma",
        "learning_rate": 0.3,
        "max_depth": 4,
        "min_child_weight": _EVENTS_A_LEAF,
        "tree_method": "hist",
        "base_score": float(target.mean()),
        "seed": seed,
    }
    booster = xgboost.train(parameters, data, _TREES)
    return np.asarray(booster.inplace_predict(x), np.float64).reshape(len(x))
