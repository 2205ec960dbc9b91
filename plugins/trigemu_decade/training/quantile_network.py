"""Y(x) from a small network, which minimises the same pinball loss as the trees.

It is smooth where trees have steps, and a few thousand events above the quantile in all are enough for it,
where each leaf needs some of its own. Each observable v enters as v, as ln(1 + |v|) and as v ≠ 0, which is
false for a missing object, all standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from trigemu.base.arrays import FloatArray

from .autoencoder import Float32Array, Network, dense, epoch_of_steps, initial_layers

HIDDEN = (32, 32)
_EPOCHS = 120
#: A batch of fewer events has too few above the quantile.
_BATCH = 2048
_LEARNING_RATE = 1e-2


def fit(x: Float32Array, y: FloatArray, weight: FloatArray, q: float, *, seed: int) -> Network:
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
