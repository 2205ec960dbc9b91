"""The layers of integer networks, each as steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatchmethod

import numpy as np

from trigemu.api import TrigemuError

from . import integer_file as file, word_evaluator as do
from .integer_values import Value, ValueSteps, Weights, check_words
from .steps import Step, check_size

#: Most windows of a convolution, each of which takes a step.
_MAX_WINDOWS = 4096


@dataclass(frozen=True)
class InputScale:
    """How an input in GeV or radians becomes an integer of the hardware.

    first, step: where bin 0 begins, and the width of a bin. lowest, highest: the first and the last bin.
    period: the bins of a circle, or 0. halved: whether the integer is then halved and rounded down.
    """

    first: float = 0.0
    step: float = 1.0
    lowest: float = -np.inf
    highest: float = np.inf
    period: int = 0
    halved: bool = False


class Layers(ValueSteps):
    """Steps of layers in turn. values: what was computed, by the names of the layers."""

    def __init__(self, bits: int, features: int, scales: Sequence[InputScale | None]) -> None:
        super().__init__(bits)
        self.features, self.scales = features, scales
        self.input = self.steps.new(features)
        self.values: dict[str, Value] = {}

    @singledispatchmethod
    def follow(self, layer: file.Layer) -> Value:
        """Return the values of a layer; raise TrigemuError or TooWideError."""
        raise NotImplementedError

    def _of(self, name: str) -> Value:
        if name not in self.values:
            raise TrigemuError(f"reads {name[:50]!r}, which is no layer before it")
        return self.values[name]

    @follow.register
    def _(self, layer: file.Input) -> Value:
        if layer.size != self.features:
            raise TrigemuError(f"the network has {layer.size} inputs, the card {self.features}")
        kind = self.type_of(layer.type)
        numbers = [float(2.0**kind.fraction)]
        for scale in self.scales:
            of = scale or InputScale()
            numbers += [
                float(scale is not None),
                of.first,
                of.step,
                of.lowest,
                of.highest,
                of.period,
                of.halved,
            ]
        as_integers = np.array(numbers).view(np.int64)
        listed = np.concatenate([as_integers[:1], np.array([*kind.modes, *kind.words]), as_integers[1:]])
        y = self.steps.new(layer.size)
        self.steps.add(layer.size, Step(do.INPUT, (self.input,), y, listed=listed, is_whole=True))
        return Value(y, kind.fraction, *kind.words)

    @follow.register
    def _(self, layer: file.Constant) -> Value:
        kind = self.type_of(layer.type)
        check_words(layer.words, kind)
        return self.constant(layer.words, kind.fraction)

    @follow.register
    def _(self, layer: file.Linear) -> Value:
        return self.converted(self._of(layer.of), self.type_of(layer.type))

    @follow.register
    def _(self, layer: file.ReLU) -> Value:
        return self.converted(self._of(layer.of), self.type_of(layer.type), relu=True)

    @follow.register
    def _(self, layer: file.Shift) -> Value:
        value, kind = self._of(layer.of), self.type_of(layer.type)
        if len(layer.by) != len(value.slots):
            raise TrigemuError(f"has {len(layer.by)} shifts for {len(value.slots)} numbers")
        if value.fraction != kind.fraction or not all(abs(by) < kind.width for by in layer.by):
            raise TrigemuError("shifts by more bits than its type has, or to another type")
        left = max(0, *(-by for by in layer.by))
        ends = value.low << left, value.high << left
        low, high = min(*ends, value.low), max(*ends, value.high)
        result = self.checked(value.slots, value.fraction, low, high, "a shift to the left")
        moved = self.step(do.SHIFT, value, self.constant(layer.by, 0))
        return self.converted(Value(moved, value.fraction, result.low, result.high), kind)

    @follow.register
    def _(self, layer: file.Dense) -> Value:
        of = Weights(self, layer.weight, layer.bias, layer.accumulator)
        value = self._of(layer.of)
        return self.converted(of.layer(self, value), self.type_of(layer.type))

    @follow.register
    def _(self, layer: file.Convolution) -> Value:
        value, kind = self._of(layer.of), self.type_of(layer.type)
        of = Weights(self, layer.weight, layer.bias, layer.accumulator)
        sizes = (*layer.shape, *layer.window, *layer.stride)
        if min(sizes) < 1 or min(layer.padding) < 0 or max(*sizes, *layer.padding) > 2**12:
            raise TrigemuError("expected sizes of 1 to 4096, and a padding of 0 to 4096")
        if math.prod(layer.shape) != len(value.slots):
            raise TrigemuError(f"reads {layer.shape}, and its input has {len(value.slots)} numbers")
        (height, width, channels), (above, below, left, right) = layer.shape, layer.padding
        check_size((height + above + below) * (width + left + right) * channels)
        image = value.slots.reshape(layer.shape)
        if any(layer.padding):
            zero = int(self.constant([0], 0).slots[0])
            image = np.pad(image, ((above, below), (left, right), (0, 0)), constant_values=zero)
        if any(n < m for n, m in zip(image.shape, layer.window, strict=False)):
            raise TrigemuError(f"a window of {layer.window} in an image of {image.shape[:2]}")
        windows = np.lib.stride_tricks.sliding_window_view(
            image, layer.window, (0, 1)
        )  # [y][x][channel][h][w]
        windows = windows[:: layer.stride[0], :: layer.stride[1]].transpose(0, 1, 3, 4, 2)
        if (number := math.prod(windows.shape[:2])) > _MAX_WINDOWS:
            raise TrigemuError(f"has {number} windows: expected at most {_MAX_WINDOWS}")
        low, high = min(value.low, 0), max(value.high, 0)
        results = [
            self.converted(of.layer(self, Value(window.ravel(), value.fraction, low, high)), kind)
            for row in windows
            for window in row
        ]
        return self.joined(results)

    @follow.register
    def _(self, layer: file.Normalise) -> Value:
        value = self._of(layer.of)
        n = len(value.slots)
        scale, bias = (self._numbers(numbers, n) for numbers in (layer.scale, layer.bias))
        product = self.combined(do.MULTIPLY, value, scale)
        return self.converted(self.combined(do.ADD, product, bias), self.type_of(layer.type))

    def _numbers(self, numbers: file.Numbers, n: int) -> Value:
        """Return n constants, which repeat."""
        kind, words = self.type_of(numbers.type), numbers.words
        check_words(words, kind)
        if not words or n % len(words):
            raise TrigemuError(f"has {len(words)} scales or biases for {n} numbers")
        return self.constant(words * (n // len(words)), kind.fraction)

    def _merged(self, op: int, layer: file.Merge) -> Value:
        a, b = map(self._of, layer.of)
        return self.converted(self.combined(op, a, b), self.type_of(layer.type))

    @follow.register
    def _(self, layer: file.Add) -> Value:
        return self._merged(do.ADD, layer)

    @follow.register
    def _(self, layer: file.Subtract) -> Value:
        return self._merged(do.SUBTRACT, layer)

    @follow.register
    def _(self, layer: file.Multiply) -> Value:
        return self._merged(do.MULTIPLY, layer)

    @follow.register
    def _(self, layer: file.Maximum) -> Value:
        return self._merged(do.MAXIMUM, layer)

    @follow.register
    def _(self, layer: file.Minimum) -> Value:
        return self._merged(do.MINIMUM, layer)

    @follow.register
    def _(self, layer: file.Concatenate) -> Value:
        kind = self.type_of(layer.type)
        return self.joined([self.converted(self._of(name), kind) for name in layer.of])

    @follow.register
    def _(self, layer: file.Dot) -> Value:
        accumulator = self.type_of(layer.accumulator)
        a, b = map(self._of, layer.of)
        terms = self.converted(self.combined(do.MULTIPLY, a, b), accumulator)
        total = self.summed([terms[i : i + 1] for i in range(len(terms.slots))], accumulator)
        return self.converted(total, self.type_of(layer.type))
