"""The steps of a network, run for sixteen events at a time or for one, with the same bits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import FloatArray
from trigemu.base.kernels import c_function, call_function, inner, kernel, numbers_at

from . import vector_code as code
from .vector_code import LANES, copying, dense, elementwise, reduction

Floats = npt.NDArray[np.float32]

#: The numbers of a step: what it does; where it writes, y; where it reads, a, b, c; its size n, in vectors.
#: Of a layer: a, where weights and bias begin, the numbers of outputs and of inputs, whether a ReLU follows.
#: Of a copy: a, where the list of places begins. Of a sum: n, how many numbers. Places are in float32.
WIDTH = 8
(
    ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM, EQUAL, CHOOSE, IF_NEGATIVE, NEGATIVE, ABSOLUTE, NOT,
    RELU, SQUARE_ROOT, EXPONENTIAL, LOGARITHM, TANGENT,
) = range(17)  # fmt: skip
(POWER, COPY, DENSE, SUM, PRODUCT, LARGEST, SMALLEST) = range(17, 24)

#: In the order of their numbers.
_elementwise = elementwise(
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: code.maximum(a, b),
    lambda a, b: code.minimum(a, b),
    lambda a, b: a.compare("==", b).as_number(),
    lambda a, b, c: a.compare("==", 0.0).choose(c, b),
    lambda a, b: a.compare("<", 0.0).choose(b, a),
    lambda a: a * -1.0,
    lambda a: a.call("fabs"),
    lambda a: a.compare("==", 0.0).as_number(),
    lambda a: code.relu(a),
    lambda a: a.call("sqrt"),
    lambda a: code.exponential(a),
    lambda a: code.logarithm(a),
    lambda a: code.hyperbolic_tangent(a),
)
_block_layer, _row_layer = dense(row=False, together=4), dense(row=True, together=2)
_block_sum, _row_sum = reduction(lambda a, b: a + b, 0.0)
_block_product, _row_product = reduction(lambda a, b: a * b, 1.0)
_block_largest, _row_largest = reduction(code.maximum, -math.inf)
_block_smallest, _row_smallest = reduction(code.minimum, math.inf)
_block_copy, _row_copy = copying(row=False), copying(row=True)
_integer, _ = numbers_at(types.int64)
_single, _put_single = numbers_at(types.float32)
_, _put_double = numbers_at(types.float64)


@c_function
def run_steps(table: int) -> int:
    """Run steps whose input is written. The table has the addresses of the steps, of lists, weights and
    memory, the numbers of steps and of lanes, 16 or 1, the size of a number, and the addresses of the score,
    and of a copy of it as a float64."""
    first, lists, w, m = _integer(table, 0), _integer(table, 1), _integer(table, 2), _integer(table, 3)
    lanes = _integer(table, 5)
    for number in range(_integer(table, 4)):
        s = first + 8 * WIDTH * number
        op, n = _integer(s, 0), _integer(s, 5)
        y, a = m + 4 * _integer(s, 1), m + 4 * _integer(s, 2)
        b, c = m + 4 * _integer(s, 3), m + 4 * _integer(s, 4)
        if op == DENSE:
            at, of, is_relu = w + 4 * _integer(s, 3), w + 4 * _integer(s, 4), _integer(s, 7) != 0
            if lanes == 1:
                _row_layer(a, at, of, _integer(s, 6), n, y, is_relu)
            else:
                _block_layer(a, at, of, _integer(s, 6), n, y, is_relu)
        elif op < POWER:
            _elementwise(op, y, a, b, c, n)
        elif op == COPY:
            places = lists + 8 * _integer(s, 2)
            if lanes == 1:
                _row_copy(y, m, places, n)
            else:
                _block_copy(y, m, places, n)
        elif op == POWER:
            for i in range(n * LANES):
                power = math.pow(np.float64(_single(a, i)), np.float64(_single(b, i)))
                _put_single(y, i, np.float32(power))
        elif lanes == 1:
            _reduce_row(op, y, a, n)
        else:
            _reduce_block(op, y, a, n)
    _put_double(_integer(table, 8), 0, np.float64(_single(_integer(table, 7), 0)))
    return 0


@inner
def _reduce_row(op: int, y: int, a: int, n: int) -> None:
    if op == SUM:
        _row_sum(y, a, n)
    elif op == PRODUCT:
        _row_product(y, a, n)
    elif op == LARGEST:
        _row_largest(y, a, n)
    else:
        _row_smallest(y, a, n)


@inner
def _reduce_block(op: int, y: int, a: int, n: int) -> None:
    if op == SUM:
        _block_sum(y, a, n)
    elif op == PRODUCT:
        _block_product(y, a, n)
    elif op == LARGEST:
        _block_largest(y, a, n)
    else:
        _block_smallest(y, a, n)


@kernel
def score_blocks(run: int, table: int, at: int, out: int, features: Floats, scores: FloatArray) -> None:
    """Compute the scores float64[n] of features float32[n, k], sixteen events at a time. run: the address of
    `run_steps`; at, out: the addresses of the input and of the score."""
    n, d = features.shape
    for first in range(0, n, LANES):
        m = min(LANES, n - first)
        for k in range(m):
            for i in range(d):
                _put_single(at, i * LANES + k, features[first + k, i])
        call_function(run, table)
        for k in range(m):
            scores[first + k] = _single(out, k)
