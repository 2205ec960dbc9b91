"""Integer networks: the arithmetic of firmware, bit by bit. Their layers become steps on words, of 32 bits if
no result before its conversion can need more, otherwise of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import singledispatchmethod
from itertools import zip_longest

import numpy as np

from trigemu.base.arrays import IntArray
from trigemu.base.errors import TrigemuError

from . import evaluator as do, integer_file as file
from .fixed_point import MAX_WORD, ApFixed
from .input_kernels import Features
from .inputs import InputScale
from .steps import MAX_WEIGHTS, Step, StepModel, Trace, UnknownError, check_size
from .vectors import CONVERSION

#: Weights beyond it are no float64, in which C++ has them.
_MAX_WEIGHT = 2**53
#: Most windows of a convolution, each of which takes a step.
_MAX_WINDOWS = 4096
#: Scores of more bits are no float32.
_MAX_SCORE = 24
_MAX_LAYERS = 500
_MERGES = {
    file.Add: do.ADD,
    file.Subtract: do.SUBTRACT,
    file.Multiply: do.MULTIPLY,
    file.Maximum: do.MAXIMUM,
    file.Minimum: do.MINIMUM,
}


def input_words(layer: file.Input, features: Features) -> IntArray:
    """Return the words of inputs, int64[n, k], of float32[n, k], as `Layers` reads them."""
    if not layer.scales:
        return ApFixed.parse(layer.type, MAX_WORD).quantise(features.astype(np.float64))
    columns = []
    for values, scale in zip(features.T, layer.scales, strict=True):
        number = np.floor(values.astype(np.float64) / scale.step)
        limited = number % scale.period if scale.period else np.clip(number, scale.lowest, scale.highest)
        columns.append(limited.astype(np.int64))
    return np.column_stack(columns)


@dataclass(frozen=True)
class Value:
    """Slots, their bits after the point, and their lowest and highest word."""

    slots: IntArray
    fraction: int
    low: int
    high: int

    def __getitem__(self, slots: int | slice) -> Value:
        return Value(self.slots[slots], self.fraction, self.low, self.high)


class TooWideError(Exception):
    """Raised where a word needs more bits."""


class Layers:
    """Steps of layers in turn, on values in words of this many bits. values: what was computed, by the names
    of the layers; scales: those of the card."""

    def __init__(self, bits: int, features: int, scales: Sequence[InputScale | None]) -> None:
        self.bits, self.steps, self.scales = bits, Trace(), scales
        self.input = self.steps.new(features)
        self.values: dict[str, Value] = {}

    def type_of(self, text: str) -> ApFixed:
        kind = ApFixed.parse(text, MAX_WORD)
        if kind.width + (not kind.signed) > self.bits:
            raise TooWideError(f"the type {kind}")
        return kind

    def checked(self, slots: IntArray, fraction: int, low: int, high: int, what: str) -> Value:
        limit = 1 << (self.bits - 1)
        if low < -limit or high >= limit:
            raise TooWideError(what)
        return Value(slots, fraction, low, high)

    def step(self, op: int, a: Value, b: Value) -> IntArray:
        y = self.steps.new(len(a.slots))
        self.steps.add(len(y), Step(op, (a.slots, b.slots), y))
        return y

    def constant(self, words: Sequence[int], fraction: int) -> Value:
        low, high = min(words, default=0), max(words, default=0)
        slots = self.steps.constant(np.array(words, object))
        return self.checked(slots, fraction, low, high, "a constant")

    def converted(self, value: Value, to: ApFixed, relu: bool = False) -> Value:
        """Convert values to a type, after a ReLU if so."""
        low, high = to.words
        least = max(low, 0) if relu else low
        if value.fraction == to.fraction and least <= value.low and value.high <= high:
            return value
        y = self.steps.new(len(value.slots))
        try:
            by_name = to.conversion(value.fraction, self.bits, relu=relu)
        except TrigemuError as error:
            raise TooWideError(str(error)) from None
        numbers = np.array([by_name[name] for name in CONVERSION], np.int64)
        self.steps.add(len(y), Step(do.CONVERT, (value.slots,), y, listed=numbers))
        return Value(y, to.fraction, low, high)

    def _moved(self, value: Value, fraction: int) -> Value:
        """Give values so many bits after the point, which are not fewer."""
        by = fraction - value.fraction
        if not by:
            return value
        if by >= self.bits:
            raise TooWideError("a number beside one with its point far away")
        moved = self.step(do.SHIFT, value, self.constant([-by] * len(value.slots), 0))
        what = "the numbers before they are combined"
        return self.checked(moved, fraction, value.low << by, value.high << by, what)

    def combined(self, op: int, a: Value, b: Value) -> Value:
        """Combine two values without loss."""
        if len(a.slots) != len(b.slots):
            raise TrigemuError(f"combines {len(a.slots)} numbers with {len(b.slots)}")
        fraction = a.fraction + b.fraction
        if op != do.MULTIPLY:
            fraction = max(a.fraction, b.fraction)
            a, b = (self._moved(value, fraction) for value in (a, b))
        ends = {
            do.MULTIPLY: [x * y for x in (a.low, a.high) for y in (b.low, b.high)],
            do.ADD: [a.low + b.low, a.high + b.high],
            do.SUBTRACT: [a.low - b.high, a.high - b.low],
            do.MAXIMUM: [max(a.low, b.low), max(a.high, b.high)],
            do.MINIMUM: [min(a.low, b.low), min(a.high, b.high)],
        }[op]
        return self.checked(self.step(op, a, b), fraction, min(ends), max(ends), "a sum or a product")

    def summed(self, terms: Sequence[Value], accumulator: ApFixed) -> Value:
        """Add terms in turn, where each sum becomes an accumulator."""
        total = terms[0]
        for term in terms[1:]:
            total = self.converted(self.combined(do.ADD, total, term), accumulator)
        return total

    def joined(self, values: Sequence[Value]) -> Value:
        """Return the numbers of values one after the other; raise UnknownError for too many."""
        self.steps.add(sum(len(value.slots) for value in values))
        slots = np.concatenate([value.slots for value in values])
        low, high = min(value.low for value in values), max(value.high for value in values)
        return Value(slots, values[0].fraction, low, high)

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
        if layer.size != len(self.input):
            raise TrigemuError(f"the network has {layer.size} inputs, the card {len(self.input)}")
        kind = self.type_of(layer.type)
        if len(layer.scales) not in (0, layer.size):
            raise TrigemuError(f"has {len(layer.scales)} scales for {layer.size} inputs")
        if not all(0 < scale.step < np.inf and scale.lowest <= scale.highest for scale in layer.scales):
            raise TrigemuError("a scale whose step is not positive, or without a word")
        words = [InputScale(0.0, s.step, s.lowest, s.highest, s.period) for s in layer.scales]
        numbers = [float(2.0**kind.fraction)]
        for scale in (card or word for card, word in zip_longest(self.scales, words)):
            numbers += [float(scale is not None), *astuple(scale or InputScale())]
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
        moved = self.step(do.SHIFT, value, self.constant(layer.by, 0))
        return self.converted(self.checked(moved, value.fraction, low, high, "a shift to the left"), kind)

    @follow.register
    def _(self, layer: file.Table) -> Value:
        value, kind = self._of(layer.of), self.type_of(layer.type)
        check_words(layer.words, kind)
        if not layer.first <= value.low <= value.high < layer.first + len(layer.words):
            raise TrigemuError(f"has {len(layer.words)} words from {layer.first} on, which its input exceeds")
        y = self.steps.new(len(value.slots))
        listed = np.array([layer.first, len(layer.words), *layer.words], np.int64)
        self.steps.add(len(y), Step(do.TABLE, (value.slots,), y, listed=listed, is_whole=True))
        return Value(y, kind.fraction, min(layer.words), max(layer.words))

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
        windows = np.lib.stride_tricks.sliding_window_view(image, layer.window, (0, 1))
        windows = windows[:: layer.stride[0], :: layer.stride[1]]  # [y][x][channel][height][width]
        if (number := math.prod(windows.shape[:2])) > _MAX_WINDOWS:
            raise TrigemuError(f"has {number} windows: expected at most {_MAX_WINDOWS}")
        low, high = min(value.low, 0), max(value.high, 0)
        inputs = windows.transpose(0, 1, 3, 4, 2).reshape(number, -1)
        values = (Value(window, value.fraction, low, high) for window in inputs)
        return self.joined([self.converted(of.layer(self, one), kind) for one in values])

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

    @follow.register
    def _(self, layer: file.Merge) -> Value:
        a, b = map(self._of, layer.of)
        return self.converted(self.combined(_MERGES[type(layer)], a, b), self.type_of(layer.type))

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


class Weights:
    """The weights and biases of a layer, checked, with the type of its sums."""

    def __init__(self, values: Layers, weight: file.Numbers, bias: file.Numbers, accumulator: str) -> None:
        self.accumulator = values.type_of(accumulator)
        self.kind, of_bias = values.type_of(weight.type), values.type_of(bias.type)
        for numbers, kind in ((weight, self.kind), (bias, of_bias)):
            check_words(numbers.words, kind)
            if any(abs(word) > _MAX_WEIGHT for word in numbers.words):
                raise TrigemuError(f"weights or biases of {kind} that are no float64")
        if not bias.words or not weight.words or len(weight.words) % len(bias.words):
            raise TrigemuError(f"has {len(weight.words)} weights for {len(bias.words)} outputs")
        self.weight = np.array(weight.words, np.int64).reshape(-1, len(bias.words))
        self.bias = self.accumulator.quantise(of_bias.to_float(np.array(bias.words, np.int64)))

    def layer(self, values: Layers, x: Value) -> Value:
        """Return the sums, as accumulators."""
        n_in, n_out = self.weight.shape
        if len(x.slots) != n_in:
            raise TrigemuError(f"has {n_in} × {n_out} weights, and its input has {len(x.slots)} numbers")
        right = x.fraction + self.kind.fraction - self.accumulator.fraction
        is_cut = right > 0 and self.accumulator.rounding != "AP_TRN"
        if is_cut or self.accumulator.overflow != "AP_WRAP":
            return self._term_by_term(values, x)
        return self._at_once(values, x, right)

    def _at_once(self, values: Layers, x: Value, right: int) -> Value:
        """Use one step: what overflows any sum also overflows the last one."""
        what, bits = "the products of a layer", values.bits
        weight = self.weight.astype(object) << max(-right, 0)
        ends = np.array([weight * x.low, weight * x.high])
        if right > 0 or abs(weight).max() >> (bits - 1):
            values.checked(x.slots, 0, min(ends.min(), weight.min()), max(ends.max(), weight.max()), what)
        if abs(right) >= bits:
            raise TooWideError(what)
        ends >>= max(right, 0)
        low = int((ends.min(axis=0).sum(axis=0) + self.bias).min())
        high = int((ends.max(axis=0).sum(axis=0) + self.bias).max())
        y = values.steps.new(len(self.bias))
        numbers = weight.astype(np.int64), self.bias
        values.steps.count_weights(weight.size)
        step = Step(do.LAYER, (x.slots,), y, *numbers, last=max(right, 0))
        values.steps.add(weight.size, step)
        lowest, highest = self.accumulator.words
        result = Value(y, self.accumulator.fraction, low, high)
        if lowest <= low and high <= highest:
            return result
        limit = 1 << (bits - 1)
        wide = Value(y, result.fraction, -limit, limit - 1)
        return wide if self.accumulator.width == bits else values.converted(wide, self.accumulator)

    def _term_by_term(self, values: Layers, x: Value) -> Value:
        n_out = len(self.bias)
        terms = [values.constant(self.bias.tolist(), self.accumulator.fraction)]
        for i, row in enumerate(self.weight.tolist()):
            same = Value(np.repeat(x.slots[i], n_out), x.fraction, x.low, x.high)
            product = values.combined(do.MULTIPLY, same, values.constant(row, self.kind.fraction))
            terms.append(values.converted(product, self.accumulator))
        return values.summed(terms, self.accumulator)


def check_words(words: Sequence[int], kind: ApFixed) -> None:
    if len(words) > MAX_WEIGHTS:
        raise TrigemuError(f"has {len(words)} constants: expected at most {MAX_WEIGHTS}")
    low, high = kind.words
    wrong = next((word for word in words if not low <= word <= high), None)
    if wrong is not None:
        raise TrigemuError(f"{wrong} is no word of {kind}: expected {low} to {high}")


class IntegerNetwork(StepModel):
    """A network in the arithmetic of firmware. file: its layers; name: its name; scales: those of the card;
    step: of the score."""

    def __init__(self, content: bytes, features: int, scales: Sequence[InputScale | None] = ()) -> None:
        self.file = network = file.read_integer_file(content)
        self.name, self.scales = network.name, tuple(scales)
        for bits in (32, 64):
            layers = Layers(bits, features, scales or [None] * features)
            try:
                score = _followed(layers, network)
                break
            except TooWideError as error:
                too_wide = str(error)
        else:
            raise TrigemuError(f"{too_wide} in a word of more than 64 bits")
        self.step, out = 2.0**-score.fraction, layers.steps.new(1)
        listed = np.array([self.step]).view(np.int64)
        layers.steps.add(1, Step(do.SCORE, (score.slots,), out, listed=listed, is_whole=True))
        super().__init__(layers.steps, features, int(out[0]), np.int32 if bits == 32 else np.int64)


def _followed(layers: Layers, network: file.IntegerFile) -> Value:
    """Follow the layers of a network, and return its score."""
    kinds = [isinstance(layer, file.Input) for layer in network.layers]
    if not kinds or len(kinds) > _MAX_LAYERS:
        raise TrigemuError(f"has {len(kinds)} layers: expected 1 to {_MAX_LAYERS}")
    if kinds != [True] + [False] * (len(kinds) - 1):
        raise TrigemuError('expected one layer of the kind "input", the first')
    for layer in network.layers:
        name = layer.name[:50]
        try:
            if layer.name in layers.values:
                raise TrigemuError("a layer before it has the same name")
            layers.values[layer.name] = score = layers.follow(layer)
            if not len(score.slots):
                raise TrigemuError("has no numbers: expected at least one")
        except TooWideError as error:
            raise TooWideError(f"layer {name!r}: {error}") from None
        except (TrigemuError, UnknownError) as error:
            raise TrigemuError(f"layer {name!r}: {error}") from None
    if len(score.slots) != 1:
        raise TrigemuError(f"layer {name!r}: the score has {len(score.slots)} numbers, not 1")
    if (width := layers.type_of(layer.type).width) > _MAX_SCORE:
        raise TrigemuError(f"a score of {width} bits, which is no float32: expected at most {_MAX_SCORE}")
    return score
