"""The autoencoder of DECADE, also a variational one: its input, its training, and its score in plain NumPy.

A dense network learns to reproduce its input, the standardised features of one event, through a bottleneck.
An event that it reproduces badly differs from the training events: the score is the logarithm of the mean
squared error over the entries that are present (arXiv:2508.10224). Entries of missing objects are 0 in the
input of the network and do not enter the loss or the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError

from .config import AutoencoderTable

Float32Array = npt.NDArray[np.float32]
# (start, stop, padded): columns of one object, its pT first, or of event-level numbers, never padded.
Block = tuple[int, int, bool]

#: The output of layers for standardised inputs, such as `dense`.
Output = Callable[[Any, jax.Array], jax.Array]
PADDING = 0.0
# Added to the MSE, so that a perfect reconstruction has a score: log(1e-12) = −27.6.
TINY = 1e-12
# Smaller features are replaced by this before the logarithm, in their own unit: HT and MHT may be 0.
LEAST = 1.0


@dataclass(frozen=True)
class Standard:
    """Standardisation of features, or of their logarithms, over the entries that are present."""

    mean: FloatArray  # [n_feature], in the feature's own unit, or of the logarithm
    std: FloatArray  # [n_feature], > 0
    log: tuple[int, ...] = ()  # the columns whose logarithm is used

    def apply(self, features: npt.NDArray[Any], present: BoolArray) -> Float32Array:
        """Standardise features[n_event, n_feature]; missing entries become 0."""
        mean, std = self.mean.astype(np.float32), self.std.astype(np.float32)
        values = logarithms(features.astype(np.float32), self.log)
        return np.where(present, (values - mean) / std, np.float32(0))


def logarithms(features: npt.NDArray[Any], log: Sequence[int]) -> npt.NDArray[Any]:
    """Return features[n_event, n_feature], with ln(max(v, LEAST)) in some columns."""
    values = features.copy()
    values[:, log] = np.log(np.maximum(features[:, log], features.dtype.type(LEAST)))
    return values


@dataclass(frozen=True)
class Network:
    """A dense network: ReLU after every layer but the last, which is linear."""

    weights: tuple[Float32Array, ...]  # [n_in, n_out] of each layer
    biases: tuple[Float32Array, ...]  # [n_out]

    @property
    def size(self) -> int:
        """The number of weights and biases."""
        return sum(array.size for array in (*self.weights, *self.biases))


@dataclass(frozen=True)
class Loss:
    """The loss after one epoch: Σ w MSE / Σ w, dimensionless because features are standardised."""

    train: float
    test: float  # NaN without test events


@dataclass(frozen=True)
class Fit:
    """A fitted autoencoder and its training curve."""

    network: Network  # Of a variational one, the part of its encoder that gives the means
    standard: Standard
    curve: tuple[Loss, ...]  # by epoch


def presence(features: npt.NDArray[Any], blocks: Sequence[Block]) -> BoolArray:
    """Return a mask of the features[n_event, n_feature] whose object is present: its pT is not 0."""
    present = np.ones(features.shape, np.bool_)
    for start, stop, padded in blocks:
        if padded:
            present[:, start:stop] = (features[:, start] != PADDING)[:, None]
    return present


def standardise(
    features: npt.NDArray[Any], present: BoolArray, weight: FloatArray, log: tuple[int, ...] = ()
) -> Standard:
    """Return the weighted mean and standard deviation of features over present entries, in some columns of
    their logarithms; 0 of what never occurs and 1 of what never varies, against NaN."""
    w = np.where(present, weight[:, None], 0.0)
    total = w.sum(axis=0)
    occurs = total > 0
    per = np.where(occurs, total, 1.0)
    values = logarithms(np.where(present, features, 0.0).astype(np.float64), log)
    mean = np.where(occurs, (w * values).sum(axis=0) / per, 0.0)
    std = np.sqrt((w * (values - mean) ** 2).sum(axis=0) / per)
    # Through rounding, a constant column has a spread of about 1e-16 of its value.
    varies = std > 1e-6 * np.abs(mean)
    return Standard(mean, np.where(varies, std, 1.0), log)


def fit(
    features: Float32Array,
    present: BoolArray,
    weight: FloatArray,
    settings: AutoencoderTable,
    *,
    seed: int,
    learns: BoolArray,
    log: tuple[int, ...] = (),
    progress: Callable[[int, Loss], None] = lambda epoch, loss: None,
    output: Output | None = None,
) -> Fit:
    """Fit to features[n_event, n_feature] with these weights (≥ 0). learns: the events that the network is
    trained on; the others give the test loss. log: the columns that enter as logarithms. output: of a network
    in integers, whose features are standardised already."""
    if not np.isfinite(features[present]).all():
        raise TrigemuError("training features are not all finite")
    rng = np.random.default_rng(seed)
    train, test = np.flatnonzero(learns), np.flatnonzero(~learns)
    standard = standardise(features[train], present[train], weight[train], log)
    z = features if output else standard.apply(features, present)
    normalised = (weight / weight.mean()).astype(np.float32)
    sets = [(jnp.asarray(z[s]), jnp.asarray(present[s]), jnp.asarray(normalised[s])) for s in (train, test)]
    layers, loss, latent = _model(settings, z.shape[1], rng, output or dense)
    optimiser = optax.adam(settings.learning_rate)
    state, curve = optimiser.init(layers), []
    size = min(settings.batch_size, len(train))
    epoch_of, mean_loss = epoch_of_steps(optimiser, loss), jax.jit(loss)
    # A variational autoencoder is judged at the means of its latent variables.
    still = [(jnp.zeros((len(s), latent), jnp.float32),) if latent else () for s in (train, test)]
    for epoch in range(settings.epochs):
        order = rng.permutation(len(train))[: len(train) // size * size].reshape(-1, size)
        noise = (jnp.asarray(rng.standard_normal((len(train), latent), np.float32)),) if latent else ()
        layers, state = epoch_of(layers, state, (*sets[0], *noise), jnp.asarray(order.astype(np.int32)))
        curve.append(
            Loss(*(float(mean_loss(layers, *s, *step)) for s, step in zip(sets, still, strict=True)))
        )
        progress(epoch, curve[-1])
    if latent:  # the score needs the means alone
        *layers, (w, b) = layers[: len(settings.hidden) // 2 + 1]
        layers.append((w[:, :latent], b[:latent]))
    weights, biases = zip(*((np.asarray(w), np.asarray(b)) for w, b in layers), strict=True)
    return Fit(Network(weights, biases), standard, tuple(curve))


def _model(
    settings: AutoencoderTable, features: int, rng: np.random.Generator, output: Output
) -> tuple[Any, Any, int]:
    """Return initial layers, the loss, and the number of latent variables that are drawn at random."""
    hidden, middle = settings.hidden, len(settings.hidden) // 2
    if not settings.variational:
        return initial_layers((features, *hidden, features), rng), partial(_loss, output), 0
    # The last layer of the encoder has a mean and a variance of each latent variable.
    encoder = initial_layers((features, *hidden[:middle], 2 * hidden[middle]), rng)
    decoder = initial_layers((*hidden[middle:], features), rng)
    return [*encoder, *decoder], loss_of(len(encoder), settings.beta, output), hidden[middle]


def initial_layers(widths: Sequence[int], rng: np.random.Generator) -> list[tuple[jax.Array, jax.Array]]:
    """Return layers with normal weights of variance 2 / n_in (arXiv:1502.01852) and biases 0."""
    layers = []
    for n_in, n_out in pairwise(widths):
        weight = rng.normal(0.0, math.sqrt(2.0 / n_in), (n_in, n_out)).astype(np.float32)
        layers.append((jnp.asarray(weight), jnp.zeros(n_out, jnp.float32)))
    return layers


def _loss(output: Output, layers: Any, z: jax.Array, present: jax.Array, weight: jax.Array) -> jax.Array:
    """Return Σ w MSE / Σ w of a batch."""
    return (weight * _mse(output(layers, z), z, present)).sum() / weight.sum()


def _mse(output: jax.Array, z: jax.Array, present: jax.Array) -> jax.Array:
    square = jnp.where(present, (output - z) ** 2, 0.0)
    return square.sum(axis=1) / jnp.maximum(present.sum(axis=1), 1)


def epoch_of_steps(optimiser: optax.GradientTransformation, loss: Any) -> Any:
    """Return one epoch as a compiled loop: Python would cost more than the arithmetic."""

    def epoch(layers: Any, state: Any, events: Any, order: jax.Array) -> Any:
        def step(carry: Any, rows: jax.Array) -> tuple[Any, None]:
            layers, state = carry
            gradient = jax.grad(loss)(layers, *(column[rows] for column in events))
            change, state = optimiser.update(gradient, state)
            return (optax.apply_updates(layers, change), state), None

        return jax.lax.scan(step, (layers, state), order)[0]

    return jax.jit(epoch)


#: Bound of the logarithm of a variance, so that a bad start does not overflow.
_MOST = 10.0


def loss_of(encoder_layers: int, beta: float, encoder: Output | None = None) -> Callable[..., jax.Array]:
    """Return the loss of a batch: Σ w (MSE + β · 2 D / k) / Σ w, with the divergence D of the k inputs. With
    β = 1 it is the variational bound of normal inputs of variance 1, times 2 / k."""

    def loss(layers: Any, z: jax.Array, present: jax.Array, weight: jax.Array, noise: jax.Array) -> jax.Array:
        mean, log_variance = jnp.split((encoder or dense)(layers[:encoder_layers], z), 2, axis=1)
        log_variance = jnp.clip(log_variance, -_MOST, _MOST)
        output = dense(layers[encoder_layers:], mean + jnp.exp(log_variance / 2) * noise)
        mse = _mse(output, z, present)
        divergence = (mean**2 + jnp.exp(log_variance) - 1 - log_variance).sum(axis=1) / 2
        return (weight * (mse + beta * 2 / z.shape[1] * divergence)).sum() / weight.sum()

    return loss


def dense(layers: Any, hidden: jax.Array) -> jax.Array:
    """Return the output of a network, ReLU after every layer but the last."""
    for w, b in layers[:-1]:
        hidden = jax.nn.relu(hidden @ w + b)
    w, b = layers[-1]
    return hidden @ w + b
