"""The quantile regression of DECADE: Y(x), which a fraction q of events exceeds at every x.

Boosted trees minimise the pinball loss of the quantile 1 − q (XGBoost's `reg:quantileerror`). Splits are
learned from gradients, but the value of a leaf is the quantile of the residuals of all events in it, times
the learning rate; so a few trees already give an acceptance close to q everywhere in x. An early-stopping
sample determines the number of trees; the trees are then fitted again to all events, which measurably reduces
the scatter of Y(x).

A network of two layers minimises the same loss. It is smooth where trees have steps, and a few thousand
events above the quantile in all are enough for it, where each leaf needs some of its own. Each observable v
enters it as v, as ln(1 + |v|) and as v ≠ 0, which is false for a missing object, all standardised.

Events with a score equal to Y(x) are not above it: if scores repeat, the acceptance can only take discrete
values.

Trees follow the events that they are fitted to. These events are therefore biased: both the fraction of
events above Y(x) and the threshold for a budget have to be measured out of fold, with Y(x) of each event from
a fit to events of other interactions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
import xgboost

from trigemu.base.arrays import BoolArray, FloatArray, splitmix64
from trigemu.base.errors import TrigemuError
from trigemu_decade.decade import open_quantile
from trigemu_decade.events import Selected

from .autoencoder import Float32Array, Network, dense, epoch_of_steps, initial_layers
from .config import QuantileTable
from .graph import quantile_model

#: Most events have no jet, x = 0. With XGBoost's default of 256 bins, events with a jet just above its
#: threshold shared a bin with them, and were accepted 2.3 times as often as they should be.
_BINS = 1024
#: The fit ends after this many trees without a better loss in the early-stopping sample.
PATIENCE = 5
#: The number of events expected above the quantile in every leaf. Its value follows single events otherwise.
TAIL_EVENTS = 5.0
#: 0: all cores; the result does not depend on it.
THREADS = 0


@dataclass(frozen=True)
class Quantile:
    """A fitted Y(x)."""

    content: bytes  # The booster in XGBoost's JSON, cut to its best number of trees, or a network in ONNX
    trees: int
    split_nodes: int
    weights: int = 0  # Of a network, which has no trees
    #: The pinball loss of the early-stopping sample after each tree, also of those beyond the best number;
    #: empty if the number of trees was fixed.
    curve: tuple[float, ...] = ()


def fit(
    x: Float32Array,
    y: FloatArray,
    weight: FloatArray,
    q: float,
    settings: QuantileTable,
    *,
    seed: int,
    stop: BoolArray,
    trees: int | None = None,
) -> Quantile:
    """Fit the weighted quantile 1 − q of y[n_event] given x, which does not depend on a factor of the weights
    that is a function of x: they are divided by their mean at x. stop: bool[n_event], the early-stopping
    sample, which determines the number of trees unless it is given. The same seed gives the same bytes."""
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise TrigemuError("quantile regression: observables and scores must be finite")
    counts = weight > 0
    x, y, weight, stop = x[counts], y[counts], weight[counts], stop[counts]
    weight = weight / mean_weight(x, weight, seed=seed)
    if settings.model == "network":
        network = fit_network(x, y, weight, q, seed=seed)
        return Quantile(quantile_model(network, x.shape[1]), 0, 0, weights=network.size)
    if stop.all() or not stop.any():
        raise TrigemuError("quantile regression needs events to fit to and events to stop by")
    # XGBoost works in float32, and min_child_weight is in units of the weights.
    weight = weight / weight.mean()
    parameters = {
        "objective": "reg:quantileerror",
        "quantile_alpha": 1.0 - q,
        "learning_rate": settings.learning_rate,
        "max_depth": settings.max_depth,
        "max_bin": _BINS,
        "min_child_weight": TAIL_EVENTS / q,
        "tree_method": "hist",
        "nthread": THREADS,
        "seed": seed,
    }

    def matrix(rows: BoolArray, reference: xgboost.QuantileDMatrix | None = None) -> xgboost.QuantileDMatrix:
        how = {"max_bin": _BINS, "ref": reference, "nthread": THREADS or None}
        return xgboost.QuantileDMatrix(x[rows], y[rows], weight=weight[rows], **how)

    losses: dict[str, dict[str, list[float]]] = {"stop": {"quantile": []}}
    if trees is None:
        data = matrix(~stop)
        stopped = xgboost.train(
            parameters,
            data,
            settings.max_trees,
            evals=[(matrix(stop, data), "stop")],
            early_stopping_rounds=PATIENCE,
            evals_result=losses,
            verbose_eval=False,
        )
        trees = stopped.best_iteration + 1
    booster = xgboost.train(parameters, matrix(np.ones(len(x), np.bool_)), trees)
    content = bytes(booster.save_raw("json"))
    models = json.loads(content)["learner"]["gradient_booster"]["model"]["trees"]
    split_nodes = sum(child != -1 for model in models for child in model["left_children"])
    return Quantile(content, trees, split_nodes, curve=tuple(losses["stop"]["quantile"]))


HIDDEN = (32, 32)
_EPOCHS = 120
#: A batch of fewer events has too few above the quantile.
_BATCH = 2048
_LEARNING_RATE = 1e-2


def fit_network(x: Float32Array, y: FloatArray, weight: FloatArray, q: float, *, seed: int) -> Network:
    """Fit the quantile 1 − q of y[n_event] given x[n_event, n_observable], weighted by weight[n_event] (≥ 0).
    The input of the network is `encoded`. The same seed on the same machine gives the same network."""
    rng, z = np.random.default_rng(seed), encoded(x)
    mean, spread = z.mean(axis=0), z.std(axis=0)
    spread = np.where(spread > 1e-6 * np.abs(mean), spread, 1.0)
    centre, unit = float(np.quantile(y, 0.95)), float(y.std()) or 1.0
    columns = ((z - mean) / spread, (y - centre) / unit, weight / weight.mean())
    events = tuple(jnp.asarray(column.astype(np.float32)) for column in columns)
    layers = initial_layers((z.shape[1], *HIDDEN, 1), rng)
    size = min(_BATCH, len(y))
    steps = len(y) // size
    optimiser = optax.adam(optax.cosine_decay_schedule(_LEARNING_RATE, _EPOCHS * steps))
    state, epoch_of = optimiser.init(layers), epoch_of_steps(optimiser, _pinball(1.0 - q))
    for _ in range(_EPOCHS):
        order = rng.permutation(len(y))[: steps * size].reshape(-1, size)
        layers, state = epoch_of(layers, state, events, jnp.asarray(order.astype(np.int32)))
    # The standardisation of inputs and output becomes a part of the first and of the last layer.
    weights, biases = (
        [np.asarray(array, np.float64) for array in arrays] for arrays in zip(*layers, strict=True)
    )
    biases[0] = biases[0] - (mean / spread) @ weights[0]
    weights[0] = weights[0] / spread[:, np.newaxis]
    weights[-1], biases[-1] = weights[-1] * unit, biases[-1] * unit + centre
    return Network(*(tuple(array.astype(np.float32) for array in arrays) for arrays in (weights, biases)))


def encoded(x: Float32Array) -> Float32Array:
    """Return the input of the network, float32[n_event, 3 n_observable]."""
    return np.concatenate([x, np.log(np.abs(x) + np.float32(1)), (x != 0).astype(np.float32)], axis=1)


def _pinball(tau: float) -> Callable[..., jax.Array]:
    def loss(layers: Any, z: jax.Array, y: jax.Array, weight: jax.Array) -> jax.Array:
        above = y - dense(layers, z)[:, 0]
        return (weight * jnp.maximum(tau * above, (tau - 1) * above)).sum() / weight.sum()

    return loss


#: Trees of the fit of the mean weight. Its errors cannot cause a bias, so a rough fit is sufficient.
_TREES = 50
_EVENTS_A_LEAF = 50


def mean_weight(x: Float32Array, weight: FloatArray, *, seed: int) -> FloatArray:
    """Return float64[n] > 0, proportional to the mean weight at similar x, or of its logarithm where weights
    of many decades make a step too large for float32."""

    def mean(objective: str, target: FloatArray) -> FloatArray:
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

    target = np.maximum(weight / weight.max(), np.finfo(np.float32).tiny)
    result = mean("reg:gamma", target)
    return result if np.isfinite(result).all() else np.exp(mean("reg:squarederror", np.log(target)))


def out_of_fold(
    events: Selected, q: float, settings: QuantileTable, seed: int, folds: int
) -> tuple[FloatArray, list[Quantile]]:
    """Return y − Y(x) of each event with Y(x) fitted to the other folds, and the fits."""
    x, residual, fits = events.x, np.empty(len(events.y)), []
    stop = is_quarter(events.parent)
    # The upper bits of the hash choose halves and quarters.
    fold_of = (splitmix64(events.parent) & np.uint64(0xFFFFFFFF)) % np.uint64(folds)
    for fold in range(folds):
        out = fold_of == np.uint64(fold)
        rows = ~out
        fitted = fit(x[rows], events.y[rows], events.weight[rows], q, settings, seed=seed, stop=stop[rows])
        residual[out] = events.y[out] - open_quantile(fitted.content, x.shape[1]).score(x[out])
        fits.append(fitted)
    return residual, fits


def is_quarter(parent: npt.NDArray[np.uint64]) -> BoolArray:
    """Select a quarter of each half, for early stopping. parent: uint64[n]; returns bool[n]."""
    in_quarter: BoolArray = (splitmix64(parent) >> np.uint64(61)) & np.uint64(3) == 0
    return in_quarter
