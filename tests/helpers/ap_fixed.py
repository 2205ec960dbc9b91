"""Fixed-point numbers and layers in exact arithmetic, from the manual of Vitis HLS and the C++ of hls4ml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.integer_file import (
    Add,
    Concatenate,
    Constant,
    Convolution,
    Dense,
    Dot,
    Input,
    IntegerFile,
    Linear,
    Maximum,
    Minimum,
    Multiply,
    Normalise,
    Numbers,
    ReLU,
    Shift,
    Subtract,
    Table,
)

Values = list[Fraction]


def by_fractions(kind: ApFixed, value: float | Fraction) -> tuple[int, bool]:
    """Return word and overflow, in exact arithmetic, from the description of each mode in the manual of Vitis
    HLS."""
    exact = Fraction(value) * Fraction(2) ** kind.fraction
    down, up = math.floor(exact), math.ceil(exact)
    nearest = up if up - exact < exact - down else down
    to_zero, from_zero = (down, up) if exact >= 0 else (up, down)
    is_half = up != down and up - exact == exact - down
    full = {
        "AP_TRN": down,
        "AP_TRN_ZERO": to_zero,
        "AP_RND": up if is_half else nearest,
        "AP_RND_ZERO": to_zero if is_half else nearest,
        "AP_RND_INF": from_zero if is_half else nearest,
        "AP_RND_MIN_INF": down if is_half else nearest,
        "AP_RND_CONV": (down if down % 2 == 0 else up) if is_half else nearest,
    }[kind.rounding]
    highest = 2 ** (kind.width - kind.signed) - 1
    lowest = -highest - 1 if kind.signed else 0
    if kind.overflow == "AP_SAT_SYM" and kind.signed and kind.width > 1:
        lowest = -highest
    if lowest <= full <= highest:
        return full, False
    wrapped = full % 2**kind.width
    return {
        "AP_WRAP": wrapped - 2**kind.width if wrapped > highest else wrapped,
        "AP_SAT": max(lowest, min(highest, full)),
        "AP_SAT_ZERO": 0,
        "AP_SAT_SYM": max(lowest, min(highest, full)),
    }[kind.overflow], True


def parsed(text: str) -> ApFixed:
    return ApFixed.parse(text, 64)


def cast(text: str, value: Fraction) -> Fraction:
    """Return the value of a type that another value becomes."""
    kind = parsed(text)
    return by_fractions(kind, value)[0] * Fraction(2) ** -kind.fraction


def constants(numbers: Numbers) -> Values:
    return [word * Fraction(2) ** -parsed(numbers.type).fraction for word in numbers.words]


def summed(sums: str, first: Fraction, products: Sequence[Fraction]) -> Fraction:
    """Add products to a first value: each is cast, and so is each sum."""
    total = cast(sums, first)
    for product in products:
        total = cast(sums, total + cast(sums, product))
    return total


def layer(sums: str, x: Values, weight: Values, bias: Values) -> Values:
    n = len(bias)
    return [summed(sums, bias[j], [value * weight[i * n + j] for i, value in enumerate(x)]) for j in range(n)]


def score_of(network: IntegerFile, x: Sequence[float]) -> Fraction:
    """Return the score of one event."""
    values: dict[str, Values] = {}
    for of in network.layers:
        match of:
            case Input():
                result = [Fraction(value) for value in x]
            case Constant():
                result = constants(Numbers(of.type, of.words))
            case Linear():
                result = values[of.of]
            case ReLU():
                result = [max(value, Fraction(0)) for value in values[of.of]]
            case Shift():
                step = Fraction(2) ** -parsed(of.type).fraction
                moved = [value * Fraction(2) ** -by for value, by in zip(values[of.of], of.by, strict=True)]
                result = [math.floor(value / step) * step for value in moved]
            case Table():
                step = Fraction(2) ** -parsed(of.type).fraction
                (source,) = (layer for layer in network.layers if layer.name == of.of)
                places = [
                    value * Fraction(2) ** parsed(source.type).fraction - of.first for value in values[of.of]
                ]
                result = [of.words[int(place)] * step for place in places]
            case Dense():
                result = layer(of.accumulator, values[of.of], constants(of.weight), constants(of.bias))
            case Convolution():
                result = convolved(of, values[of.of])
            case Normalise():
                scale, bias = constants(of.scale), constants(of.bias)
                n = len(scale)
                result = [value * scale[i % n] + bias[i % n] for i, value in enumerate(values[of.of])]
            case Dot():
                a, b = (values[name] for name in of.of)
                result = [summed(of.accumulator, Fraction(0), [p * q for p, q in zip(a, b, strict=True)])]
            case Concatenate():
                result = values[of.of[0]] + values[of.of[1]]
            case Add() | Subtract() | Multiply() | Maximum() | Minimum():
                pairs = zip(*(values[name] for name in of.of), strict=True)
                result = [MERGED[type(of)](a, b) for a, b in pairs]
        values[of.name] = [cast(of.type, value) for value in result]
    (score,) = values[network.layers[-1].name]
    return score


MERGED = {
    Add: lambda a, b: a + b,
    Subtract: lambda a, b: a - b,
    Multiply: lambda a, b: a * b,
    Maximum: max,
    Minimum: min,
}


def convolved(of: Convolution, x: Values) -> Values:
    (height, width, channels), (rows, columns) = of.shape, of.window
    above, below, left, right = of.padding
    weight, bias, result = constants(of.weight), constants(of.bias), []
    for top in range(-above, height + below - rows + 1, of.stride[0]):
        for start in range(-left, width + right - columns + 1, of.stride[1]):
            window = [
                x[(i * width + j) * channels + c] if 0 <= i < height and 0 <= j < width else Fraction(0)
                for i in range(top, top + rows)
                for j in range(start, start + columns)
                for c in range(channels)
            ]
            result += layer(of.accumulator, window, weight, bias)
    return result
