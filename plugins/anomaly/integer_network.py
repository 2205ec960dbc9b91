"""Integer networks as steps: the arithmetic of firmware, bit by bit.

Every value has a type, so that its largest word is known. Words of 32 bits are used if no result before its
conversion can need more, otherwise words of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatchmethod

import numpy as np

from trigemu.api import IntArray, TrigemuError

from . import integer_file as file, word_evaluator as do
from .fixed_point import MAX_WORD, ApFixed
from .step_memory import LONG_WORDS, SHORT_WORDS, Machine, needed_steps
from .step_model import StepModel
from .steps import Step, Trace, UnknownError
from .word_code import CONVERSION

#: Scores of more bits are no float32.
_MAX_SCORE = 24
#: Weights beyond it are no float64, in which C++ has them.
_MAX_WEIGHT = 2**53
_MAX_LAYERS = 500


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


@dataclass(frozen=True)
class _Value:
    """Slots, their bits after the point, and their lowest and highest word."""

    slots: IntArray
    fraction: int
    low: int
    high: int

    def __getitem__(self, slots: int | slice) -> _Value:
        return _Value(self.slots[slots], self.fraction, self.low, self.high)


class _TooWideError(Exception):
    """Raised where a word needs more bits."""


class IntegerNetwork(StepModel):
    """A network in the arithmetic of firmware.

    Parameters
    ----------
    content : bytes
        The file (`integer_file`).
    features : int
        The number of its inputs.
    scales : sequence of InputScale or None
        How the inputs become integers of the hardware; None for one that is used as it is.

    Attributes
    ----------
    name : str
        The name in the file.
    step : float
        The step of the score.

    Raises
    ------
    TrigemuError
        If the file has a mistake; the message names the layer.
    """

    def __init__(self, content: bytes, features: int, scales: Sequence[InputScale | None] = ()) -> None:
        network = file.read_integer_file(content)
        tracer, score, machine = _traced(network, features, scales or [None] * features)
        super().__init__(tracer.steps, needed_steps(tracer.steps, score), features, score, machine)
        self.name, self.step = network.name, tracer.step


def _traced(
    network: file.IntegerFile, features: int, scales: Sequence[InputScale | None]
) -> tuple[_Tracer, int, Machine]:
    too_wide = ""
    for machine, bits in ((SHORT_WORDS, 32), (LONG_WORDS, 64)):
        try:
            tracer = _Tracer(bits, features, scales)
            return tracer, tracer.network(network), machine
        except _TooWideError as error:
            too_wide = str(error)
    raise TrigemuError(f"{too_wide} in a word of more than 64 bits")


class _Tracer:
    def __init__(self, bits: int, features: int, scales: Sequence[InputScale | None]) -> None:
        self.bits, self.features, self.scales = bits, features, scales
        self.steps = Trace()
        self.input = self.steps.new(features)
        self.values: dict[str, _Value] = {}
        self.step = 0.0

    def network(self, network: file.IntegerFile) -> int:
        """Follow the layers, and return the slot of the score."""
        layers = network.layers
        if not layers or len(layers) > _MAX_LAYERS:
            raise TrigemuError(f"has {len(layers)} layers: expected 1 to {_MAX_LAYERS}")
        if [isinstance(layer, file.Input) for layer in layers] != [True] + [False] * (len(layers) - 1):
            raise TrigemuError('expected one layer of the kind "input", the first')
        for layer in layers:
            try:
                if layer.name in self.values:
                    raise TrigemuError("a layer before it has the same name")
                self.values[layer.name] = self._follow(layer)
            except _TooWideError as error:
                raise _TooWideError(f"layer {layer.name[:50]!r}: {error}") from None
            except (TrigemuError, UnknownError) as error:
                raise TrigemuError(f"layer {layer.name[:50]!r}: {error}") from None
        score = self.values[layers[-1].name]
        if len(score.slots) != 1:
            raise TrigemuError(
                f"layer {layers[-1].name[:50]!r}: the score has {len(score.slots)} numbers, not 1"
            )
        if (width := _type(layers[-1].type).width) > _MAX_SCORE:
            raise TrigemuError(f"a score of {width} bits, which is no float32: expected at most {_MAX_SCORE}")
        self.step = 2.0**-score.fraction
        out = self.steps.new(1)
        listed = np.array([self.step]).view(np.int64)
        self.steps.add(1, Step(do.SCORE, (score.slots,), out, listed=listed, is_whole=True))
        return int(out[0])

    @singledispatchmethod
    def _follow(self, layer: file.Layer) -> _Value:
        raise NotImplementedError

    def _of(self, name: str) -> _Value:
        if name not in self.values:
            raise TrigemuError(f"reads {name[:50]!r}, which is no layer before it")
        return self.values[name]

    def _type(self, text: str) -> ApFixed:
        kind = _type(text)
        if kind.width + (not kind.signed) > self.bits:
            raise _TooWideError(f"the type {kind}")
        return kind

    def _value(self, slots: IntArray, fraction: int, low: int, high: int, what: str) -> _Value:
        limit = 1 << (self.bits - 1)
        if low < -limit or high >= limit:
            raise _TooWideError(what)
        return _Value(slots, fraction, low, high)

    def _step(self, op: int, a: _Value, b: _Value) -> IntArray:
        y = self.steps.new(len(a.slots))
        self.steps.add(len(y), Step(op, (a.slots, b.slots), y))
        return y

    def _constant(self, words: Sequence[int], fraction: int) -> _Value:
        low, high = min(words, default=0), max(words, default=0)
        slots = self.steps.constant(np.array(words, object))
        return self._value(slots, fraction, low, high, "a constant")

    def _converted(self, value: _Value, to: ApFixed, relu: bool = False) -> _Value:
        """Convert values to a type, after a ReLU if so."""
        (low, high), at_least = to.words, 0 if relu else value.low
        if (
            value.fraction == to.fraction
            and low <= value.low
            and value.high <= high
            and at_least <= value.low
        ):
            return value
        y = self.steps.new(len(value.slots))
        try:
            by_name = to.conversion(value.fraction, self.bits, relu=relu)
        except TrigemuError as error:
            raise _TooWideError(str(error)) from None
        numbers = np.array([by_name[name] for name in CONVERSION], np.int64)
        self.steps.add(len(y), Step(do.CONVERT, (value.slots,), y, listed=numbers))
        return _Value(y, to.fraction, low, high)

    def _aligned(self, a: _Value, b: _Value) -> tuple[_Value, _Value]:
        """Give two values as many bits after the point."""
        if len(a.slots) != len(b.slots):
            raise TrigemuError(f"combines {len(a.slots)} numbers with {len(b.slots)}")
        fraction = max(a.fraction, b.fraction)

        def moved(value: _Value) -> _Value:
            by = fraction - value.fraction
            if not by:
                return value
            if by >= self.bits:
                raise _TooWideError("a number beside one with its point far away")
            what = "the numbers before they are combined"
            result = self._value(value.slots, fraction, value.low << by, value.high << by, what)
            shifts = self._constant([-by] * len(value.slots), 0)
            return _Value(self._step(do.SHIFT, value, shifts), fraction, result.low, result.high)

        return moved(a), moved(b)

    def _combined(self, op: int, a: _Value, b: _Value) -> _Value:
        """Combine two values without loss."""
        if op == do.MULTIPLY:
            if len(a.slots) != len(b.slots):
                raise TrigemuError(f"multiplies {len(a.slots)} numbers with {len(b.slots)}")
            ends, fraction = (
                [x * y for x in (a.low, a.high) for y in (b.low, b.high)],
                a.fraction + b.fraction,
            )
        else:
            a, b = self._aligned(a, b)
            fraction = a.fraction
            ends = {
                do.ADD: [a.low + b.low, a.high + b.high],
                do.SUBTRACT: [a.low - b.high, a.high - b.low],
                do.MAXIMUM: [max(a.low, b.low), max(a.high, b.high)],
                do.MINIMUM: [min(a.low, b.low), min(a.high, b.high)],
            }[op]
        self._value(a.slots, fraction, min(ends), max(ends), "a sum or a product")
        return _Value(self._step(op, a, b), fraction, min(ends), max(ends))

    @_follow.register
    def _(self, layer: file.Input) -> _Value:
        if layer.size != self.features:
            raise TrigemuError(f"the network has {layer.size} inputs, the card {self.features}")
        kind = self._type(layer.type)
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
        return _Value(y, kind.fraction, *kind.words)

    @_follow.register
    def _(self, layer: file.Constant) -> _Value:
        kind = self._type(layer.type)
        _check_words(layer.words, kind)
        return self._constant(layer.words, kind.fraction)

    @_follow.register
    def _(self, layer: file.Linear) -> _Value:
        return self._converted(self._of(layer.of), self._type(layer.type))

    @_follow.register
    def _(self, layer: file.ReLU) -> _Value:
        return self._converted(self._of(layer.of), self._type(layer.type), relu=True)

    @_follow.register
    def _(self, layer: file.Shift) -> _Value:
        value, kind = self._of(layer.of), self._type(layer.type)
        if len(layer.by) != len(value.slots):
            raise TrigemuError(f"has {len(layer.by)} shifts for {len(value.slots)} numbers")
        if value.fraction != kind.fraction or not all(abs(by) < kind.width for by in layer.by):
            raise TrigemuError("shifts by more bits than its type has, or to another type")
        right, left = max(0, *layer.by), max(0, *(-by for by in layer.by))
        what = "a shift to the left"
        ends = value.low << left, value.high << left
        result = self._value(value.slots, value.fraction, min(*ends, value.low), max(*ends, value.high), what)
        moved = self._step(do.SHIFT, value, self._constant(layer.by, 0)) if right or left else value.slots
        return self._converted(_Value(moved, value.fraction, result.low, result.high), kind)

    @_follow.register
    def _(self, layer: file.Dense) -> _Value:
        of = _Weights(self, layer.weight, layer.bias, layer.accumulator)
        value = self._of(layer.of)
        return self._converted(of.layer(self, value), self._type(layer.type))

    @_follow.register
    def _(self, layer: file.Convolution) -> _Value:
        value, kind = self._of(layer.of), self._type(layer.type)
        of = _Weights(self, layer.weight, layer.bias, layer.accumulator)
        sizes = (*layer.shape, *layer.window, *layer.stride)
        if min(sizes) < 1 or min(layer.padding) < 0 or max(*sizes, *layer.padding) > 2**12:
            raise TrigemuError("expected sizes of 1 to 4096, and a padding of 0 to 4096")
        if np.prod(layer.shape) != len(value.slots):
            raise TrigemuError(f"reads {layer.shape}, and its input has {len(value.slots)} numbers")
        above, below, left, right = layer.padding
        image = value.slots.reshape(layer.shape)
        if any(layer.padding):
            zero = int(self._constant([0], 0).slots[0])
            image = np.pad(image, ((above, below), (left, right), (0, 0)), constant_values=zero)
        if any(n < m for n, m in zip(image.shape, layer.window, strict=False)):
            raise TrigemuError(f"a window of {layer.window} in an image of {image.shape[:2]}")
        windows = np.lib.stride_tricks.sliding_window_view(
            image, layer.window, (0, 1)
        )  # [y][x][channel][h][w]
        windows = windows[:: layer.stride[0], :: layer.stride[1]].transpose(0, 1, 3, 4, 2)
        low, high = min(value.low, 0), max(value.high, 0)
        results = [
            self._converted(of.layer(self, _Value(window.ravel(), value.fraction, low, high)), kind)
            for row in windows
            for window in row
        ]
        return _joined(results)

    @_follow.register
    def _(self, layer: file.Normalise) -> _Value:
        value = self._of(layer.of)
        n = len(value.slots)
        scale, bias = (self._numbers(numbers, n) for numbers in (layer.scale, layer.bias))
        product = self._combined(do.MULTIPLY, value, scale)
        return self._converted(self._combined(do.ADD, product, bias), self._type(layer.type))

    def _numbers(self, numbers: file.Numbers, n: int) -> _Value:
        """Return n constants, which repeat."""
        kind, words = self._type(numbers.type), numbers.words
        _check_words(words, kind)
        if not words or n % len(words):
            raise TrigemuError(f"has {len(words)} scales or biases for {n} numbers")
        return self._constant(words * (n // len(words)), kind.fraction)

    def _merged(self, op: int, layer: file.Merge) -> _Value:
        a, b = map(self._of, layer.of)
        return self._converted(self._combined(op, a, b), self._type(layer.type))

    @_follow.register
    def _(self, layer: file.Add) -> _Value:
        return self._merged(do.ADD, layer)

    @_follow.register
    def _(self, layer: file.Subtract) -> _Value:
        return self._merged(do.SUBTRACT, layer)

    @_follow.register
    def _(self, layer: file.Multiply) -> _Value:
        return self._merged(do.MULTIPLY, layer)

    @_follow.register
    def _(self, layer: file.Maximum) -> _Value:
        return self._merged(do.MAXIMUM, layer)

    @_follow.register
    def _(self, layer: file.Minimum) -> _Value:
        return self._merged(do.MINIMUM, layer)

    @_follow.register
    def _(self, layer: file.Concatenate) -> _Value:
        kind = self._type(layer.type)
        return _joined([self._converted(self._of(name), kind) for name in layer.of])

    @_follow.register
    def _(self, layer: file.Dot) -> _Value:
        accumulator = self._type(layer.accumulator)
        a, b = map(self._of, layer.of)
        terms = self._converted(self._combined(do.MULTIPLY, a, b), accumulator)
        total = self._sum([terms[i : i + 1] for i in range(len(terms.slots))], accumulator)
        return self._converted(total, self._type(layer.type))

    def _sum(self, terms: Sequence[_Value], accumulator: ApFixed) -> _Value:
        """Add terms in turn, where each sum becomes an accumulator."""
        total = terms[0]
        for term in terms[1:]:
            total = self._converted(self._combined(do.ADD, total, term), accumulator)
        return total


class _Weights:
    """The weights and biases of a layer, checked, with the type of its sums."""

    def __init__(self, tracer: _Tracer, weight: file.Numbers, bias: file.Numbers, accumulator: str) -> None:
        self.accumulator = tracer._type(accumulator)
        self.kind, of_bias = tracer._type(weight.type), tracer._type(bias.type)
        for numbers, kind in ((weight, self.kind), (bias, of_bias)):
            _check_words(numbers.words, kind)
            if any(abs(word) > _MAX_WEIGHT for word in numbers.words):
                raise TrigemuError(f"weights or biases of {kind} that are no float64")
        if not bias.words or not weight.words or len(weight.words) % len(bias.words):
            raise TrigemuError(f"has {len(weight.words)} weights for {len(bias.words)} outputs")
        self.weight = np.array(weight.words, np.int64).reshape(-1, len(bias.words))
        self.bias = self.accumulator.quantise(of_bias.to_float(np.array(bias.words, np.int64)))

    def layer(self, tracer: _Tracer, x: _Value) -> _Value:
        """Return the sums, as accumulators."""
        n_in, n_out = self.weight.shape
        if len(x.slots) != n_in:
            raise TrigemuError(f"has {n_in} × {n_out} weights, and its input has {len(x.slots)} numbers")
        right = x.fraction + self.kind.fraction - self.accumulator.fraction
        is_cut = right > 0 and self.accumulator.rounding != "AP_TRN"
        if is_cut or self.accumulator.overflow != "AP_WRAP":
            return self._term_by_term(tracer, x)
        return self._at_once(tracer, x, right)

    def _at_once(self, tracer: _Tracer, x: _Value, right: int) -> _Value:
        """Use one step: what overflows any sum also overflows the last one."""
        what, bits = "the products of a layer", tracer.bits
        weight = self.weight.astype(object) << max(-right, 0)
        ends = np.array([weight * x.low, weight * x.high])
        if right > 0 or abs(weight).max() >> (bits - 1):
            tracer._value(x.slots, 0, min(ends.min(), weight.min()), max(ends.max(), weight.max()), what)
        if abs(right) >= bits:
            raise _TooWideError(what)
        ends >>= max(right, 0)
        low = int((ends.min(axis=0).sum(axis=0) + self.bias).min())
        high = int((ends.max(axis=0).sum(axis=0) + self.bias).max())
        y = tracer.steps.new(len(self.bias))
        numbers = weight.astype(np.int64), self.bias
        tracer.steps.count_weights(weight.size)
        step = Step(do.LAYER, (x.slots,), y, *numbers, last=max(right, 0))
        tracer.steps.add(weight.size, step)
        lowest, highest = self.accumulator.words
        result = _Value(y, self.accumulator.fraction, low, high)
        if lowest <= low and high <= highest:
            return result
        limit = 1 << (bits - 1)
        wide = _Value(y, result.fraction, -limit, limit - 1)
        return wide if self.accumulator.width == bits else tracer._converted(wide, self.accumulator)

    def _term_by_term(self, tracer: _Tracer, x: _Value) -> _Value:
        n_out = len(self.bias)
        terms = [tracer._constant(self.bias.tolist(), self.accumulator.fraction)]
        for i, row in enumerate(self.weight.tolist()):
            same = _Value(np.repeat(x.slots[i], n_out), x.fraction, x.low, x.high)
            product = tracer._combined(do.MULTIPLY, same, tracer._constant(row, self.kind.fraction))
            terms.append(tracer._converted(product, self.accumulator))
        return tracer._sum(terms, self.accumulator)


def _joined(values: Sequence[_Value]) -> _Value:
    slots = np.concatenate([value.slots for value in values])
    low, high = min(value.low for value in values), max(value.high for value in values)
    return _Value(slots, values[0].fraction, low, high)


def _type(text: str) -> ApFixed:
    return ApFixed.parse(text, MAX_WORD)


def _check_words(words: Sequence[int], kind: ApFixed) -> None:
    low, high = kind.words
    wrong = next((word for word in words if not low <= word <= high), None)
    if wrong is not None:
        raise TrigemuError(f"{wrong} is no word of {kind}: expected {low} to {high}")
