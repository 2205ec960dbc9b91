"""Integer networks: the arithmetic of firmware, bit by bit. Their layers become steps on words, of 32 bits if
no result before its conversion can need more, otherwise of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import zip_longest

import numpy as np

from trigemu.base.arrays import IntArray
from trigemu.base.errors import TrigemuError

from . import evaluator as do, integer_file as file
from .fixed_point import MAX_WORD, ApFixed
from .inputs import Features, InputScale
from .steps import Step, StepModel, Trace, UnknownError
from .vectors import CONVERSION

#: Scores of more bits are no float32.
_MAX_SCORE = 24
_MERGES = {
    file.Add: do.ADD,
    file.Subtract: do.SUBTRACT,
    file.Multiply: do.MULTIPLY,
    file.Maximum: do.MAXIMUM,
    file.Minimum: do.MINIMUM,
}


def input_words(layer: file.Input, features: Features) -> IntArray:
    """Return the words of inputs, int64[n, k], of float32[n, k], as a network reads them."""
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

    def _checked(self, slots: IntArray, fraction: int, low: int, high: int, what: str) -> Value:
        limit = 1 << (self.bits - 1)
        if low < -limit or high >= limit:
            raise TooWideError(what)
        return Value(slots, fraction, low, high)

    def _step(self, op: int, *operands: IntArray, listed: IntArray | None = None) -> IntArray:
        """Add a step that computes as many numbers as each operand has."""
        if len({*map(len, operands)}) > 1:
            raise TrigemuError(f"combines {' with '.join(str(len(slots)) for slots in operands)} numbers")
        y = self.steps.new(len(operands[0]))
        self.steps.add(len(y), Step(op, operands, y, listed=listed))
        return y

    def _constant(self, words: Sequence[int], fraction: int) -> Value:
        slots = self.steps.constant(np.array(words, object))
        return self._checked(slots, fraction, min(words), max(words), "a constant")

    def _numbers(self, numbers: file.Numbers) -> tuple[ApFixed, list[int]]:
        """Return the type and the words of constants."""
        kind = self.type_of(numbers.type)
        check_words(numbers.words, kind)
        return kind, numbers.words

    def _repeated(self, numbers: file.Numbers, n: int) -> Value:
        """Return n constants, which repeat."""
        kind, words = self._numbers(numbers)
        return self._constant(words * (n // len(words)), kind.fraction)

    def converted(self, value: Value, to: ApFixed, relu: bool = False) -> Value:
        """Convert values to a type, after a ReLU if so."""
        low, high = to.words
        least = max(low, 0) if relu else low
        if value.fraction == to.fraction and least <= value.low and value.high <= high:
            return value
        try:
            by_name = to.conversion(value.fraction, self.bits, relu=relu)
        except TrigemuError as error:
            raise TooWideError(str(error)) from None
        numbers = np.array([by_name[name] for name in CONVERSION], np.int64)
        return Value(self._step(do.CONVERT, value.slots, listed=numbers), to.fraction, low, high)

    def _moved(self, value: Value, fraction: int) -> Value:
        """Give values so many bits after the point, which are not fewer."""
        by = fraction - value.fraction
        if not by:
            return value
        if by >= self.bits:
            raise TooWideError("a number beside one with its point far away")
        moved = self._step(do.SHIFT, value.slots, self._constant([-by] * len(value.slots), 0).slots)
        what = "the numbers before they are combined"
        return self._checked(moved, fraction, value.low << by, value.high << by, what)

    def _combined(self, op: int, a: Value, b: Value) -> Value:
        """Combine two values without loss."""
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
        slots = self._step(op, a.slots, b.slots)
        return self._checked(slots, fraction, min(ends), max(ends), "a sum or a product")

    def _summed(self, terms: Sequence[Value], accumulator: ApFixed) -> Value:
        """Add terms in turn, where each sum becomes an accumulator."""
        total = terms[0]
        for term in terms[1:]:
            total = self.converted(self._combined(do.ADD, total, term), accumulator)
        return total

    def _joined(self, values: Sequence[Value]) -> Value:
        """Return the numbers of values one after the other."""
        self.steps.add(sum(len(value.slots) for value in values))
        slots = np.concatenate([value.slots for value in values])
        low, high = min(value.low for value in values), max(value.high for value in values)
        return Value(slots, values[0].fraction, low, high)

    def follow(self, layer: file.Layer) -> Value:
        """Return the values of a layer; raise TrigemuError or TooWideError."""
        kind, names = self.type_of(layer.type), getattr(layer, "of", ())
        names = (names,) if isinstance(names, str) else names
        if unknown := [name for name in names if name not in self.values]:
            raise TrigemuError(f"reads {unknown[0][:50]!r}, which is no layer before it")
        x = [self.values[name] for name in names]
        match layer:
            case file.Input():
                return self._input(layer, kind)
            case file.Constant():
                check_words(layer.words, kind)
                return self._constant(layer.words, kind.fraction)
            case file.Linear() | file.ReLU():
                return self.converted(x[0], kind, relu=isinstance(layer, file.ReLU))
            case file.Shift():
                return self._shift(layer, x[0], kind)
            case file.Table():
                check_words(layer.words, kind)
                if not layer.first <= x[0].low <= x[0].high < layer.first + len(layer.words):
                    raise TrigemuError(
                        f"has {len(layer.words)} words from {layer.first} on, which its input exceeds"
                    )
                listed = np.array([layer.first, len(layer.words), *layer.words], np.int64)
                y = self._step(do.TABLE, x[0].slots, listed=listed)
                return Value(y, kind.fraction, min(layer.words), max(layer.words))
            case file.Dense():
                return self.converted(self._sums(layer, [x[0]])[0], kind)
            case file.Convolution():
                return self._joined(
                    [self.converted(y, kind) for y in self._sums(layer, self._windows(layer, x[0]))]
                )
            case file.Normalise():
                scale, bias = (self._repeated(c, len(x[0].slots)) for c in (layer.scale, layer.bias))
                product = self._combined(do.MULTIPLY, x[0], scale)
                return self.converted(self._combined(do.ADD, product, bias), kind)
            case file.Merge():
                return self.converted(self._combined(_MERGES[type(layer)], *x), kind)
            case file.Concatenate():
                return self._joined([self.converted(value, kind) for value in x])
            case file.Dot():
                accumulator = self.type_of(layer.accumulator)
                terms = self.converted(self._combined(do.MULTIPLY, *x), accumulator)
                ends = terms.fraction, terms.low, terms.high
                total = self._summed([Value(s, *ends) for s in terms.slots.reshape(-1, 1)], accumulator)
                return self.converted(total, kind)

    def _input(self, layer: file.Input, kind: ApFixed) -> Value:
        if layer.size != len(self.input):
            raise TrigemuError(f"the network has {layer.size} inputs, the card {len(self.input)}")
        words = [InputScale(0.0, s.step, s.lowest, s.highest, s.period) for s in layer.scales]
        numbers = [float(2.0**kind.fraction)]
        for scale in (card or word for card, word in zip_longest(self.scales, words)):
            numbers += [float(scale is not None), *astuple(scale or InputScale())]
        as_integers = np.array(numbers).view(np.int64)
        listed = np.concatenate([as_integers[:1], np.array([*kind.modes, *kind.words]), as_integers[1:]])
        return Value(self._step(do.INPUT, self.input, listed=listed), kind.fraction, *kind.words)

    def _shift(self, layer: file.Shift, value: Value, kind: ApFixed) -> Value:
        if value.fraction != kind.fraction or not all(abs(by) < kind.width for by in layer.by):
            raise TrigemuError("shifts by more bits than its type has, or to another type")
        left = max(0, *(-by for by in layer.by))
        ends = value.low << left, value.high << left
        low, high = min(*ends, value.low), max(*ends, value.high)
        moved = self._step(do.SHIFT, value.slots, self._constant(layer.by, 0).slots)
        return self.converted(self._checked(moved, value.fraction, low, high, "a shift to the left"), kind)

    def _windows(self, layer: file.Convolution, value: Value) -> list[Value]:
        """Return what a convolution reads at each of its places."""
        if min(*layer.shape, *layer.window, *layer.stride) < 1 or min(layer.padding) < 0:
            raise TrigemuError("expected sizes of at least 1, and a padding of at least 0")
        image, (above, below, left, right) = value.slots.reshape(layer.shape), layer.padding
        if any(layer.padding):
            zero = int(self._constant([0], 0).slots[0])
            self.steps.add(
                (layer.shape[0] + above + below) * (layer.shape[1] + left + right) * layer.shape[2]
            )
            image = np.pad(image, ((above, below), (left, right), (0, 0)), constant_values=zero)
        windows = np.lib.stride_tricks.sliding_window_view(image, layer.window, (0, 1))
        windows = windows[:: layer.stride[0], :: layer.stride[1]]  # [y][x][channel][height][width]
        self.steps.add(windows.size)
        slots = windows.transpose(0, 1, 3, 4, 2).reshape(math.prod(windows.shape[:2]), -1)
        return [Value(one, value.fraction, min(value.low, 0), max(value.high, 0)) for one in slots]

    def _sums(self, layer: file.Dense | file.Convolution, inputs: Sequence[Value]) -> list[Value]:
        """Return bias + x weight for each of the inputs, as accumulators."""
        accumulator = self.type_of(layer.accumulator)
        (kind, words), (of_bias, biases) = self._numbers(layer.weight), self._numbers(layer.bias)
        weight = np.array(words, np.int64).reshape(-1, len(biases))
        bias = accumulator.quantise(of_bias.to_float(np.array(biases, np.int64)))
        n_in, n_out = weight.shape
        if wrong := [x for x in inputs if len(x.slots) != n_in]:
            n = len(wrong[0].slots)
            raise TrigemuError(f"has {n_in} × {n_out} weights, and its input has {n} numbers")
        right = inputs[0].fraction + kind.fraction - accumulator.fraction
        is_cut = right > 0 and accumulator.rounding != "AP_TRN"
        if not is_cut and accumulator.overflow == "AP_WRAP":
            return self._at_once(inputs, weight, bias, accumulator, right)
        sums = []
        for x in inputs:  # term by term
            terms = [self._constant(bias.tolist(), accumulator.fraction)]
            for slot, row in zip(x.slots, weight.tolist(), strict=True):
                same = Value(np.repeat(slot, n_out), x.fraction, x.low, x.high)
                product = self._combined(do.MULTIPLY, same, self._constant(row, kind.fraction))
                terms.append(self.converted(product, accumulator))
            sums.append(self._summed(terms, accumulator))
        return sums

    def _at_once(
        self, inputs: Sequence[Value], weight: IntArray, bias: IntArray, accumulator: ApFixed, right: int
    ) -> list[Value]:
        """Use one step: what overflows any sum also overflows the last one."""
        what, bits, (x, *_) = "the products of a layer", self.bits, inputs
        exact = weight.astype(object) << max(-right, 0)
        ends = np.array([exact * x.low, exact * x.high])
        if right > 0 or abs(exact).max() >> (bits - 1):
            self._checked(x.slots, 0, min(ends.min(), exact.min()), max(ends.max(), exact.max()), what)
        if abs(right) >= bits:
            raise TooWideError(what)
        ends >>= max(right, 0)
        low = int((ends.min(axis=0).sum(axis=0) + bias).min())
        high = int((ends.max(axis=0).sum(axis=0) + bias).max())
        numbers, limit = exact.astype(np.int64), 1 << (bits - 1)
        lowest, highest = accumulator.words
        sums = []
        for one in inputs:
            y = self.steps.new(len(bias))
            self.steps.add(weight.size, Step(do.LAYER, (one.slots,), y, numbers, bias, last=max(right, 0)))
            result = Value(y, accumulator.fraction, low, high)
            if not lowest <= low <= high <= highest:
                result = Value(y, accumulator.fraction, -limit, limit - 1)
                if accumulator.width < bits:
                    result = self.converted(result, accumulator)
            sums.append(result)
        return sums


def check_words(words: Sequence[int], kind: ApFixed) -> None:
    """Raise TrigemuError unless there are words, all of them in a type."""
    low, high = kind.words
    if not words or not low <= min(words) <= max(words) <= high:
        wrong = next((word for word in words if not low <= word <= high), "nothing")
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
        layers.steps.add(1, Step(do.SCORE, (score.slots,), out, listed=listed))
        super().__init__(layers.steps, features, int(out[0]), np.int32 if bits == 32 else np.int64)


def _followed(layers: Layers, network: file.IntegerFile) -> Value:
    """Follow the layers of a network, and return its score."""
    kinds = [isinstance(layer, file.Input) for layer in network.layers]
    if not kinds or kinds != [True] + [False] * (len(kinds) - 1):
        raise TrigemuError('expected one layer of the kind "input", the first')
    for layer in network.layers:
        name = layer.name[:50]
        try:
            if layer.name in layers.values:
                raise TrigemuError("a layer before it has the same name")
            layers.values[layer.name] = score = layers.follow(layer)
        except TooWideError as error:
            raise TooWideError(f"layer {name!r}: {error}") from None
        except (TrigemuError, UnknownError, ValueError, OverflowError) as error:
            raise TrigemuError(f"layer {name!r}: {error}") from None
    if len(score.slots) != 1:
        raise TrigemuError(f"layer {name!r}: the score has {len(score.slots)} numbers, not 1")
    if (width := layers.type_of(layer.type).width) > _MAX_SCORE:
        raise TrigemuError(f"a score of {width} bits, which is no float32: expected at most {_MAX_SCORE}")
    return score
