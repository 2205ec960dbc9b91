"""Autoencoders in integers, for logic: trained as such, and written as an integer network.

Each input is a word of the hardware. Tables take the logarithm and standardise; other inputs are standardised
by a shift, and angles by the difference to a reference, which wraps. All weights and activations are rounded
while the network is trained, with a gradient that passes through the rounding (straight-through estimator,
arXiv:1308.3432), so that the words of the file give the numbers that were trained. The score is the mean
squared error (its logarithm, a monotonic function, costs logic and changes no decision at a given Y(x)), or
the sum of the squared means of a variational autoencoder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from trigemu_anomaly import integer_file as file
from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.integer_network import input_words

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

from .autoencoder import LEAST, Block, Float32Array, Network
from .config import AutoencoderTable, QuantiseTable, WordTable

#: Bits before the point of weights, and of activations and standardised inputs.
WEIGHT, ACTIVATION = 2, 3
_WORD = "ap_fixed<16,16>"
_BIT = "ap_ufixed<1,1>"
#: The type of weights 0, 1 and −1.
_ONE = ApFixed(2, 2)
#: Squares, their mean and the factor 1 / number of entries.
_SQUARE, _SCORE, _FACTOR = (
    "ap_ufixed<10,6,AP_RND,AP_SAT>",
    "ap_ufixed<16,6,AP_TRN,AP_SAT>",
    "ap_ufixed<9,-1,AP_RND>",
)
#: The means of a variational autoencoder: with fewer bits, many events have the score of a threshold. Their
#: squares, and the sum of these.
_MEAN = ApFixed(11, 4, True, "AP_TRN", "AP_SAT")
_MEAN_SQUARE, _SUM = "ap_ufixed<14,6,AP_TRN,AP_SAT>", "ap_ufixed<16,8,AP_TRN,AP_SAT>"


@dataclass(frozen=True)
class Encoding:
    """How the words of inputs become standardised numbers. The last input is the angle to subtract."""

    texts: tuple[str, ...]
    words: file.Input
    blocks: tuple[Block, ...]
    type: ApFixed  # Of the standardised inputs
    tables: dict[int, IntArray]  # Input that enters as a logarithm → its standardised word by word
    shift: tuple[int, ...]  # Of the other inputs: standardised = (word + offset) / 2^shift
    offset: tuple[int, ...]

    def apply(self, features: Float32Array) -> tuple[Float32Array, BoolArray]:
        """Return the standardised inputs and whether each is present, both [n, k − 1]."""
        words, scales = input_words(self.words, features), self.words.scales
        columns, present = [], np.ones((len(words), len(self.texts) - 1), np.bool_)
        for start, stop, padded in self.blocks[:-1]:
            if padded:
                present[:, start:stop] = (words[:, start] != 0)[:, None]
        for i, word in enumerate(words[:, :-1].T):
            if i in self.tables:
                columns.append(self.tables[i][word])
                continue
            if bins := scales[i].period:
                word = (word - words[:, -1] + bins // 2) % bins - bins // 2
            by = self.shift[i] - self.type.fraction
            moved = np.floor(np.ldexp(word + self.offset[i], -by)).astype(np.int64)
            columns.append(np.clip(moved, *self.type.words))
        return (np.column_stack(columns) * present * self.type.step).astype(np.float32), present


def encode(
    features: Float32Array,
    weight: FloatArray,
    texts: Sequence[str],
    blocks: Sequence[Block],
    table: AutoencoderTable,
    quantise: QuantiseTable,
) -> Encoding:
    """Choose the standardisation for these events. Each step is a power of two except that of tables."""
    scales = [_scale(quantise.word(text) or WordTable()) for text in texts]
    words = file.Input("", _WORD, len(scales), scales)
    kind = ApFixed(quantise.activations, ACTIVATION, True, "AP_TRN", "AP_SAT")
    all_words = input_words(words, features)
    tables: dict[int, IntArray] = {}
    shift, offset = [0] * len(texts), [0] * len(texts)
    for start, stop, padded in blocks[:-1]:
        rows = all_words[:, start] != 0 if padded else np.ones(len(features), np.bool_)
        w = weight[rows]
        for i in range(start, stop):
            own, word = texts[i], all_words[rows, i]
            if own in table.log:
                # In the middle of a step: the numbers between two steps are evenly spread.
                middles = (np.arange(scales[i].highest + 1) + 0.5) * scales[i].step
                values = np.log(np.maximum(middles, LEAST))
                mean, std = _moments(values[word], w)
                tables[i] = kind.quantise((values - mean) / std)
                if padded:
                    tables[i][0] = 0
                continue
            if half := scales[i].period // 2:
                word = (word - all_words[rows, -1] + half) % (2 * half) - half
            mean, std = _moments(word.astype(np.float64), w)
            shift[i], offset[i] = round(math.log2(std)), 0 if padded else -round(mean)
    return Encoding(tuple(texts), words, tuple(blocks), kind, tables, tuple(shift), tuple(offset))


def _scale(word: WordTable) -> file.Scale:
    if word.bins:
        return file.Scale(2 * math.pi / word.bins, 0, word.bins - 1, word.bins)
    return file.Scale(word.step, word.lowest, word.highest)


def _moments(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    if not weight.sum():
        return 0.0, 1.0
    mean = float(np.average(values, weights=weight))
    std = math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))
    return mean, std if std > 1e-6 else 1.0


def rounded(value: jax.Array, kind: ApFixed, down: bool = False) -> jax.Array:
    """Return values in a type, with a gradient as if they were not rounded; 0 beyond the ends of the type."""
    limited = jnp.clip(value, kind.lowest, kind.highest)
    steps = limited / kind.step
    words = jnp.floor(steps) if down else jnp.round(steps)
    return limited + jax.lax.stop_gradient(words * kind.step - limited)


@dataclass(frozen=True)
class Arithmetic:
    """The types of a network with so many bits. variational: whether its output is the means."""

    quantise: QuantiseTable
    variational: bool

    @property
    def weight(self) -> ApFixed:
        return ApFixed(self.quantise.weights, WEIGHT)

    @property
    def hidden(self) -> ApFixed:
        return ApFixed(self.quantise.activations, ACTIVATION, False, "AP_TRN", "AP_SAT")

    @property
    def last(self) -> ApFixed:
        standardised = ApFixed(self.quantise.activations, ACTIVATION, True, "AP_TRN", "AP_SAT")
        return _MEAN if self.variational else standardised

    @property
    def bias(self) -> ApFixed:
        fraction = self.weight.fraction + self.hidden.fraction
        return ApFixed(fraction + 6, 6)

    def dense(self, layers: Any, hidden: jax.Array) -> jax.Array:
        """Return the output of a network, like `autoencoder.dense`, in these types."""
        for i, (w, b) in enumerate(layers):
            hidden = hidden @ rounded(w, self.weight) + rounded(b, self.bias)
            hidden = rounded(hidden, self.last if i == len(layers) - 1 else self.hidden, down=True)
        return hidden


def integer_network(network: Network, encoding: Encoding, arithmetic: Arithmetic) -> bytes:
    """Return the file of an integer network: from the words of inputs to the score."""
    layers = _Layers(encoding)
    z, present = layers.standardised()
    hidden, last = z, len(network.weights) - 1
    for i, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        words, offsets = _words(weight, arithmetic.weight), _words(bias, arithmetic.bias)
        sums = layers.dense(hidden, words, arithmetic.bias.fraction, offsets, arithmetic.weight)
        hidden = layers.add(
            file.Linear("", str(arithmetic.last), sums)
            if i == last
            else file.ReLU("", str(arithmetic.hidden), sums)
        )
    n = len(encoding.texts) - 1
    if arithmetic.variational:
        squares = layers.add(file.Multiply("", _MEAN_SQUARE, (hidden, hidden)))
        means = network.weights[-1].shape[1]
        total = layers.dense(squares, np.ones((means, 1), np.int64), ApFixed.parse(_MEAN_SQUARE).fraction)
        layers.add(file.Linear("", _SUM, total))
    else:
        kind = ApFixed(arithmetic.last.width + 1, ACTIVATION + 1)
        difference = layers.add(file.Subtract("", str(kind), (hidden, z)))
        low, high = kind.words
        square, each = ApFixed.parse(_SQUARE), ApFixed.parse(_FACTOR)
        differences: FloatArray = kind.to_float(np.arange(low, high + 1))
        words = square.quantise(differences * differences).tolist()
        of_all = layers.add(file.Multiply("", str(kind), (difference, present)))
        squares = layers.add(file.Table("", str(square), of_all, low, words))
        total = layers.dense(squares, np.ones((n, 1), np.int64), square.fraction)
        count, bits = layers.dense(present, np.ones((n, 1), np.int64)), n.bit_length()
        short = layers.add(file.Linear("", f"ap_ufixed<{bits},{bits}>", count))
        counts = np.maximum(np.arange(2**bits), 1)
        shares: FloatArray = np.minimum(1.0 / counts, each.highest)
        factors = each.quantise(shares).tolist()
        factor = layers.add(file.Table("", str(each), short, 0, factors))
        layers.add(file.Multiply("", _SCORE, (total, factor)))
    return file.written(file.IntegerFile(file.FORMAT, "autoencoder", layers.all))


def _words(values: Float32Array, kind: ApFixed) -> IntArray:
    """Return the words that `rounded` has for values."""
    words: IntArray = np.clip(np.rint(values / np.float32(kind.step)), *kind.words).astype(np.int64)
    return words


class _Layers:
    """The layers of a file, and the names of their values."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.all: list[file.Layer] = []
        self.inputs = self.add(encoding.words)

    def add(self, layer: file.Layer) -> str:
        """Add a layer, and return the name that it gets."""
        self.all.append(msgspec.structs.replace(layer, name=f"v{len(self.all)}"))
        return self.all[-1].name

    def dense(
        self,
        of: str,
        weight: IntArray,
        fraction: int = 0,
        bias: IntArray | None = None,
        kind: ApFixed = _ONE,
    ) -> str:
        """Add a dense layer whose sums, and biases, have so many bits after the point and lose nothing."""
        exact = ApFixed(16 + fraction, 16)
        bias = np.zeros(weight.shape[1], np.int64) if bias is None else bias
        numbers = (file.Numbers(str(t), w.ravel().tolist()) for t, w in ((kind, weight), (exact, bias)))
        return self.add(file.Dense("", str(exact), of, str(exact), *numbers))

    def pick(self, columns: Sequence[int], kind: str, minus: int | None = None) -> str:
        """Add the words of some inputs, less that of another one if it is given."""
        weight = np.zeros((len(self.encoding.texts), len(columns)), np.int64)
        weight[list(columns), np.arange(len(columns))] = 1
        if minus is not None:
            weight[minus] = -1
        return self.add(file.Linear("", kind, self.dense(self.inputs, weight)))

    def concatenate(self, parts: Sequence[str], kind: str) -> str:
        joined = parts[0]
        for part in parts[1:]:
            joined = self.add(file.Concatenate("", kind, (joined, part)))
        return joined

    def standardised(self) -> tuple[str, str]:
        """Add the standardised inputs and their presence, in the order of the inputs."""
        encoding, kind = self.encoding, str(self.encoding.type)
        parts: list[tuple[list[int], str]] = []
        for i, words in encoding.tables.items():
            bits = encoding.words.scales[i].highest.bit_length()
            table = np.pad(words, (0, 2**bits - len(words)), "edge").tolist()
            word = self.pick([i], f"ap_ufixed<{bits},{bits}>")
            parts.append(([i], self.add(file.Table("", kind, word, 0, table))))
        others = [i for i in range(len(encoding.texts) - 1) if i not in encoding.tables]
        for bins, shift in sorted({(encoding.words.scales[i].period, encoding.shift[i]) for i in others}):
            columns = [
                i for i in others if (encoding.words.scales[i].period, encoding.shift[i]) == (bins, shift)
            ]
            n, bits = len(columns), bins.bit_length() - 1
            word = self.pick(columns, f"ap_fixed<{bits},{bits}>" if bins else _WORD, -1 if bins else None)
            offset = np.array([encoding.offset[i] for i in columns])
            moved = self.dense(word, np.eye(n, dtype=np.int64), shift, offset, ApFixed(2, 2 - shift))
            parts.append((columns, self.add(file.Linear("", kind, moved))))
        order = [i for columns, _ in parts for i in columns]
        joined = self.concatenate([part for _, part in parts], kind)
        permuted = np.zeros((len(order), len(order)), np.int64)
        permuted[np.arange(len(order)), order] = 1
        z = self.add(file.Linear("", kind, self.dense(joined, permuted, encoding.type.fraction)))
        present = self._presence()
        return self.add(file.Multiply("", kind, (z, present))), present

    def _presence(self) -> str:
        """Add one bit for each input: whether its object is present."""
        blocks = self.encoding.blocks[:-1]
        padded = [start for start, _, is_padded in blocks if is_padded]
        bits = max(self.encoding.words.scales[start].highest.bit_length() for start in padded)
        word = self.pick(padded, f"ap_ufixed<{bits},{bits}>")
        bit = self.add(file.Table("", _BIT, word, 0, [0] + [1] * (2**bits - 1)))
        weight = np.zeros((len(padded), len(self.encoding.texts) - 1), np.int64)
        bias = np.ones(weight.shape[1], np.int64)
        for i, (start, stop) in enumerate((a, b) for a, b, is_padded in blocks if is_padded):
            weight[i, start:stop], bias[start:stop] = 1, 0
        return self.add(file.Linear("", _BIT, self.dense(bit, weight, 0, bias)))
