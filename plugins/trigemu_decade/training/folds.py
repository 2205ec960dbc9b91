"""Y(x) out of fold: for each event, from a fit to events of other interactions.

Trees follow the events that they are fitted to. These events are therefore biased: both the fraction of
events above Y(x) and the threshold for a budget have to be measured out of fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
import xgboost

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu_decade.decade import open_quantile

from . import regression
from .config import QuantileTable

#: Trees of this auxiliary fit. Its errors cannot cause a bias, so a rough fit is sufficient.
_TREES = 50
_EVENTS_A_LEAF = 50


def fit_weight(
    x: npt.NDArray[np.float32], weight: FloatArray, settings: QuantileTable, *, seed: int
) -> FloatArray:
    """Return the weights for a fit of Y(x), divided by their mean at x if `settings.levelled`."""
    return weight / mean_weight(x, weight, seed=seed) if settings.levelled else weight


def mean_weight(x: npt.NDArray[np.float32], weight: FloatArray, *, seed: int) -> FloatArray:
    """Return float64[n] > 0, proportional to the mean weight at similar x, or of its logarithm where weights
    of many decades make a step too large for float32."""
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


@dataclass(frozen=True)
class Sample:
    """n events that no network was trained on."""

    x: npt.NDArray[np.float32]  # float32[n, c]
    y: FloatArray  # float64[n]
    weight: FloatArray  # float64[n] in Hz
    accepts: FloatArray  # float64[n, t], the probabilities with which the triggers accept them
    others: FloatArray  # float64[n], the probability that any trigger accepts
    parent: npt.NDArray[np.uint64]  # uint64[n]
    interaction: IntArray  # int64[n], the number of the interaction that each is made from

    @cached_property
    def failing(self) -> FloatArray:
        """The rate in Hz, float64[n], with which each event fails all triggers."""
        return self.weight * (1.0 - self.others)

    @property
    def effective(self) -> float:
        """The effective number of events."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    def at_most(self, most: int) -> Sample:
        """Return about so many events, whole interactions, with weights scaled to the full rate."""
        if len(self.weight) <= most:
            return self
        kept = splitmix64(splitmix64(self.parent)) < np.uint64(most / len(self.weight) * 2.0**64)
        columns = {field.name: getattr(self, field.name)[kept] for field in fields(self)}
        columns["weight"] *= self.weight.sum() / columns["weight"].sum()
        columns["interaction"] = np.unique(columns["interaction"], return_inverse=True)[1].astype(np.int64)
        return Sample(**columns)

    @property
    def together(self) -> tuple[npt.NDArray[np.uint64], BoolArray]:
        """The interactions, as arguments of `threshold_for`."""
        return self.interaction.astype(np.uint64), np.ones(len(self.interaction), np.bool_)

    @cached_property
    def stop(self) -> BoolArray:
        """The events that determine the number of trees."""
        return is_quarter(self.parent)

    def of(self, columns: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return some columns of x."""
        return np.ascontiguousarray(self.x[:, list(columns)])


def out_of_fold(
    sample: Sample,
    columns: Sequence[int],
    q: float,
    settings: QuantileTable,
    seed: int,
    folds: int,
) -> tuple[FloatArray, list[regression.Quantile]]:
    """Return y − Y(x) of each event with Y(x) fitted to the other folds, and the fits."""
    x, residual, fits = sample.of(columns), np.empty(len(sample.y)), []
    # The upper bits of the hash choose halves and quarters.
    fold_of = (splitmix64(sample.parent) & np.uint64(0xFFFFFFFF)) % np.uint64(folds)
    for fold in range(folds):
        out = fold_of == np.uint64(fold)
        fit = ~out
        weight = fit_weight(x[fit], sample.weight[fit], settings, seed=seed)
        fitted = regression.fit(x[fit], sample.y[fit], weight, q, settings, seed=seed, stop=sample.stop[fit])
        residual[out] = sample.y[out] - open_quantile(fitted.content, x.shape[1]).score(x[out])
        fits.append(fitted)
    return residual, fits


def is_quarter(parent: npt.NDArray[np.uint64]) -> BoolArray:
    """Select a quarter of each half, for example for early stopping. parent: uint64[n]; returns bool[n]."""
    quarter = (splitmix64(parent) >> np.uint64(61)) & np.uint64(3)
    in_quarter: BoolArray = quarter == 0
    return in_quarter
