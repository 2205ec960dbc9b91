"""The variational autoencoder: its loss, and the score of its encoder.

The encoder gives the mean µ and the logarithm of the variance of each latent variable, and the decoder
reproduces the input from a random point of this distribution (Kingma and Welling, arXiv:1312.6114). The loss
adds β times the divergence of the distributions from a standard normal one, which draws common events to
µ = 0. The score is Σµ², which needs no decoder: the triggers AXOL1TL of CMS and GELATO of ATLAS use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

#: Bound of the logarithm of a variance, so that a bad start does not overflow.
_MOST = 10.0


def encoder_widths(hidden: Sequence[int], features: int) -> tuple[int, ...]:
    """Return the widths of the encoder, whose last layer has a mean and a variance of each latent variable.
    hidden: odd in number, the latent layer in the middle."""
    middle = len(hidden) // 2
    return (features, *hidden[:middle], 2 * hidden[middle])


def decoder_widths(hidden: Sequence[int], features: int) -> tuple[int, ...]:
    """Return the widths of the decoder."""
    return (*hidden[len(hidden) // 2 :], features)


def loss_of(encoder_layers: int, beta: float) -> Callable[..., jax.Array]:
    """Return the loss of a batch: Σ w (MSE + β · 2 D / k) / Σ w, with the divergence D of the k inputs. With
    β = 1 it is the variational bound of normal inputs of variance 1, times 2 / k."""

    def loss(layers: Any, z: jax.Array, present: jax.Array, weight: jax.Array, noise: jax.Array) -> jax.Array:
        mean, log_variance = jnp.split(_dense(layers[:encoder_layers], z), 2, axis=1)
        log_variance = jnp.clip(log_variance, -_MOST, _MOST)
        output = _dense(layers[encoder_layers:], mean + jnp.exp(log_variance / 2) * noise)
        square = jnp.where(present, (output - z) ** 2, 0.0)
        mse = square.sum(axis=1) / jnp.maximum(present.sum(axis=1), 1)
        divergence = (mean**2 + jnp.exp(log_variance) - 1 - log_variance).sum(axis=1) / 2
        return (weight * (mse + beta * 2 / z.shape[1] * divergence)).sum() / weight.sum()

    return loss


def _dense(layers: Any, hidden: jax.Array) -> jax.Array:
    for w, b in layers[:-1]:
        hidden = jax.nn.relu(hidden @ w + b)
    w, b = layers[-1]
    return hidden @ w + b
