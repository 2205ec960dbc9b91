"""The steps of an integer network, run for sixteen events at a time or for one, with the same results."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from trigemu.base.kernels import c_function, inner, numbers_at

from .fixed_point import in_range, rounded
from .word_code import block_layer, combine, convert, put_word, row_layer, word_at

#: The numbers of a step: what it does; where it writes, y; where it reads, a, b; a place in the list, or the
#: shift of a layer; its size n, in vectors. Of a layer: a, where weights and bias begin, the numbers of
#: outputs and of inputs, the shift.
WIDTH = 8
ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM, SHIFT = range(6)
CONVERT, LAYER, COPY, INPUT, SCORE = range(6, 11)
#: The numbers of an input, in order: whether it is scaled; the beginning and the width of a bin; the lowest
#: and the highest bin; the bins of a circle, or 0; whether the bin is halved.
SCALED, FIRST, STEP, LOWEST, HIGHEST, PERIOD, HALVED = range(7)
INPUT_WIDTH = 7

_integer, _ = numbers_at(types.int64)
_double, _put_double = numbers_at(types.float64)
_single, _put_single = numbers_at(types.float32)


@c_function
def run_short_words(table: int) -> int:
    """Run steps of words of 32 bits, as `evaluator.run_steps` runs those of float32."""
    return _run(table, np.int32(0))  # type: ignore[arg-type]


@c_function
def run_long_words(table: int) -> int:
    """Run steps of words of 64 bits."""
    return _run(table, np.int64(0))  # type: ignore[arg-type]


@inner
def _run(table: int, word: int) -> int:
    first, lists, w, m = _integer(table, 0), _integer(table, 1), _integer(table, 2), _integer(table, 3)
    lanes, size = _integer(table, 5), _integer(table, 6)
    for number in range(_integer(table, 4)):
        s = first + 8 * WIDTH * number
        op, n = _integer(s, 0), _integer(s, 5)
        y, a, b = (m + size * _integer(s, 1), m + size * _integer(s, 2), m + size * _integer(s, 3))
        listed = lists + 8 * _integer(s, 4)
        if op == LAYER:
            weight, bias = w + size * _integer(s, 3), w + size * _integer(s, 4)
            if lanes == 1:
                row_layer(a, weight, bias, _integer(s, 6), n, y, _integer(s, 7), word)
            else:
                block_layer(a, weight, bias, _integer(s, 6), n, y, _integer(s, 7), word)
        elif op == CONVERT:
            convert(y, a, listed, n, word)
        elif op == COPY:
            places = lists + 8 * _integer(s, 2)
            for i in range(n):
                place = _integer(places, i)
                for k in range(lanes):
                    put_word(y, i * lanes + k, np.int64(word_at(m, place + k, word)), word)
        elif op == INPUT:
            _read(y, a, listed, n, lanes, word)
        elif op == SCORE:
            step = _double(listed, 0)
            for k in range(lanes):
                _put_single(y, k, np.float32(np.float64(word_at(a, k, word)) * step))
        else:
            combine(op, y, a, b, n, word)
    _put_double(_integer(table, 8), 0, np.float64(_single(_integer(table, 7), 0)))
    return 0


@inner
def _read(y: int, x: int, listed: int, n: int, lanes: int, word: int) -> None:
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
