"""The steps of a network, of float32 or of words, run for sixteen events at a time or for one."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from trigemu.base.arrays import FloatArray
from trigemu.base.kernels import c_function, call_function, inner, kernel

from . import vectors
from .fixed_point import in_range, rounded
from .inputs import Features
from .vectors import (
    LANES,
    block_copy,
    block_layer,
    convert,
    elementwise,
    number_at,
    numbers_at,
    put_word,
    row_copy,
    row_layer,
)

#: The numbers of a step: what it does; where it writes, y; where it reads, a, b, c, or a place in the list;
#: its size n, in vectors. Of a layer: a, where weights and bias begin, the numbers of outputs and of inputs,
#: whether a ReLU follows, or the shift of words. Of a sum, in rows alone: n, how many numbers. Of a copy: a,
#: where the list of places begins. Places are in numbers of the type.
WIDTH = 8
ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM, SHIFT = range(6)
DIVIDE, EQUAL, CHOOSE, ABSOLUTE, RELU, SQUARE_ROOT, EXPONENTIAL, LOGARITHM, TANGENT = range(6, 15)
LAYER, COPY, CONVERT, INPUT, SCORE, SUM, TABLE = range(15, 22)
#: Steps whose list belongs to all of y, which cannot be computed in part.
WHOLE = (INPUT, SCORE, TABLE)
#: The numbers of an input of words, in order: whether it is scaled; the beginning and the width of a bin; the
#: lowest and the highest bin; the bins of a circle, or 0; whether the bin is halved.
SCALED, FIRST, STEP, LOWEST, HIGHEST, PERIOD, HALVED = range(7)
INPUT_WIDTH = 7

_BOTH: vectors.Operations = {
    ADD: lambda a, b: a + b,
    SUBTRACT: lambda a, b: a - b,
    MULTIPLY: lambda a, b: a * b,
    MAXIMUM: vectors.maximum,
    MINIMUM: vectors.minimum,
}
_FLOATS: vectors.Operations = {
    DIVIDE: lambda a, b: a / b,
    EQUAL: lambda a, b: a.equals(b).choose(a.constant(1.0), a.constant(0.0)),
    CHOOSE: lambda a, b, c: a.equals(0.0).choose(c, b),
    ABSOLUTE: lambda a: a.call("fabs"),
    RELU: vectors.relu,
    SQUARE_ROOT: lambda a: a.call("sqrt"),
    EXPONENTIAL: vectors.exponential,
    LOGARITHM: vectors.logarithm,
    TANGENT: vectors.hyperbolic_tangent,
}
_elementwise = elementwise({**_BOTH, **_FLOATS}, {**_BOTH, SHIFT: vectors.shifted})
_integer, _ = numbers_at(types.int64)
_single, _put_single = numbers_at(types.float32)
_double, _put_double = numbers_at(types.float64)


@c_function
def run_floats(table: int) -> int:
    """Run steps of float32. The table has the addresses of the steps, lists, weights and memory, the numbers
    of steps and of lanes, the size of a number, and the addresses of the score and its float64."""
    return _run(table, np.float32(0))


@c_function
def run_short_words(table: int) -> int:
    """Run steps of words of 32 bits."""
    return _run(table, np.int32(0))


@c_function
def run_long_words(table: int) -> int:
    """Run steps of words of 64 bits."""
    return _run(table, np.int64(0))


@inner
def _run(table: int, word: np.generic) -> int:
    first, lists, w, m = _integer(table, 0), _integer(table, 1), _integer(table, 2), _integer(table, 3)
    lanes, size = _integer(table, 5), _integer(table, 6)
    for number in range(_integer(table, 4)):
        s = first + 8 * WIDTH * number
        op, n = _integer(s, 0), _integer(s, 5)
        y, a, b = (m + size * _integer(s, 1), m + size * _integer(s, 2), m + size * _integer(s, 3))
        c, listed = m + size * _integer(s, 4), lists + 8 * _integer(s, 4)
        if op == LAYER:
            weight, bias = w + size * _integer(s, 3), w + size * _integer(s, 4)
            if lanes == 1:
                row_layer(a, weight, bias, _integer(s, 6), n, y, _integer(s, 7), word)
            else:
                block_layer(a, weight, bias, _integer(s, 6), n, y, _integer(s, 7), word)
        elif op < LAYER:
            _elementwise(op, y, a, b, c, n, word)
        elif op == COPY:
            places = lists + 8 * _integer(s, 2)
            if lanes == 1:
                row_copy(y, m, places, n, word)
            else:
                block_copy(y, m, places, n, word)
        elif op == CONVERT:
            convert(y, a, listed, n, word)
        elif op == INPUT:
            _read(y, a, listed, n, lanes, word)
        elif op == TABLE:
            last = _integer(listed, 1) - 1
            for k in range(n * lanes):
                place = np.int64(number_at(a, k, word)) - _integer(listed, 0)
                put_word(y, k, _integer(listed, 2 + min(max(place, 0), last)), word)
        elif op == SUM:
            _put_single(y, 0, _sum(a, n))
        else:
            step = _double(listed, 0)
            for k in range(lanes):
                _put_single(y, k, np.float32(np.float64(number_at(a, k, word)) * step))
    _put_double(_integer(table, 8), 0, np.float64(_single(_integer(table, 7), 0)))
    return 0


@inner
def _sum(x: int, n: int) -> np.float32:
    """Return the sum of n numbers of a row, in the order of a layer of a block whose weights are 1."""
    a = b = c = d = np.float32(0)
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        a, b = a + _single(x, i), b + _single(x, i + 1)
        c, d = c + _single(x, i + 2), d + _single(x, i + 3)
    for i in range(whole, n):
        a += _single(x, i)
    return (a + c) + (b + d)


@inner
def _read(y: int, x: int, listed: int, n: int, lanes: int, word: np.generic) -> None:
    """Convert n inputs, float32, to words. listed: the factor of words, the modes and the lowest and highest
    word of their type, and the numbers of each input."""
    factor, rounding, overflow = _double(listed, 0), _integer(listed, 1), _integer(listed, 2)
    lowest, highest = _integer(listed, 3), _integer(listed, 4)
    for i in range(n):
        at = listed + 8 * (5 + INPUT_WIDTH * i)
        is_scaled = _double(at, SCALED) != 0.0
        for k in range(lanes):
            value = np.float64(_single(x, i * lanes + k))
            number = _scaled(value, at) if is_scaled else value
            integer = rounded(number * factor, rounding)
            put_word(y, i * lanes + k, in_range(integer, overflow, lowest, highest), word)


@inner
def _scaled(value: float, at: int) -> float:
    """Return the bin of a value, on a scale of the hardware."""
    number = math.floor((value - _double(at, FIRST)) / _double(at, STEP))
    period = _double(at, PERIOD)
    if period != 0.0:
        number -= math.floor(number / period) * period
    number = min(max(number, _double(at, LOWEST)), _double(at, HIGHEST))
    return math.floor(number * 0.5) if _double(at, HALVED) != 0.0 else np.float64(number)


@kernel
def score_blocks(run: int, table: int, at: int, features: Features, scores: FloatArray) -> None:
    """Compute the scores of features float32[n, k] by `run`, sixteen events at a time."""
    n, d = features.shape
    out = _integer(table, 7)
    for first in range(0, n, LANES):
        m = min(LANES, n - first)
        for k in range(m):
            for i in range(d):
                _put_single(at, i * LANES + k, features[first + k, i])
        call_function(run, table)
        for k in range(m):
            scores[first + k] = _single(out, k)
