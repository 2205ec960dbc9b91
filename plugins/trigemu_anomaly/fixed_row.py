"""Trees in fixed point on one row at a time, from memory that is laid out once."""

from __future__ import annotations

import numpy as np
from numba import carray

from trigemu.base.arrays import Array
from trigemu.base.kernels import c_function, kernel, pointer

from .fixed_point import in_range, quantise
from .single_row import Row, row_of
from .trees import FixedEnsemble, add_leaves_of

#: The numbers of a row: the number of inputs, the addresses of their words, of flags and of factors; the
#: modes and words of the input and of the score; the base, the address of the sum, and the number of tables.
_HEAD = 15
#: For each table: the numbers of inputs, cuts, buckets and masks, and the addresses of nine arrays.
_TABLE = 13


def fixed_row(fixed: FixedEnsemble) -> Row:
    """Return memory for one row at a time."""
    inputs, score, d = fixed.precision.input, fixed.precision.score, len(fixed.scales)
    factors = np.append(np.ldexp(1.0, np.array(fixed.scales) + inputs.fraction), score.step)
    memory: list[Array] = [np.zeros(d, np.int64), np.zeros(d, np.bool_), factors, np.zeros(1, np.int64)]
    words, flags, by, total = (array.ctypes.data for array in memory)
    numbers = [d, words, flags, by, *inputs.modes, *inputs.words, *score.modes, *score.words]
    numbers += [fixed.base, total, len(fixed.tables)]
    for table in fixed.tables:
        arrays = [np.ascontiguousarray(array) for array in vars(table).values()]
        memory += arrays
        numbers += [len(table.feature), len(table.cuts), len(table.first), table.masks.shape[1]]
        numbers += [array.ctypes.data for array in arrays]
    return row_of(_run, d, numbers, memory)


@c_function
def _run(arguments: int) -> int:
    at = carray(pointer(arguments), (2,), np.int64)
    carray(pointer(at[1]), (1,), np.float64)[0] = _score(arguments + 16, at[0])
    return 1


@kernel
def _score(address: int, x: int) -> float:
    """Evaluate the finite float32 row at address x; address: of the numbers."""
    t = carray(pointer(address), (_HEAD,), np.int64)
    d = t[0]
    words = carray(pointer(t[1]), (1, d), np.int64)
    flags = carray(pointer(t[2]), (1, d), np.bool_)
    factors = carray(pointer(t[3]), (d + 1,), np.float64)
    row = carray(pointer(x), (1, d), np.float32)
    quantise(row, factors[:d], t[4], t[5], t[6], t[7], words, flags)
    total = carray(pointer(t[13]), (1,), np.int64)
    total[0] = t[12]
    for number in range(t[14]):
        at = carray(pointer(address + 8 * (_HEAD + _TABLE * number)), (_TABLE,), np.int64)
        k, cuts, buckets, m = at[0], at[1], at[2], at[3]
        add_leaves_of(
            words,
            carray(pointer(at[4]), (k,), np.int64),
            carray(pointer(at[5]), (cuts,), np.int64),
            carray(pointer(at[6]), (k,), np.int64),
            carray(pointer(at[7]), (k,), np.int64),
            carray(pointer(at[8]), (k,), np.int64),
            carray(pointer(at[9]), (k,), np.int64),
            carray(pointer(at[10]), (buckets,), np.int64),
            carray(pointer(at[11]), (cuts + k, m), np.int32),
            carray(pointer(at[12]), (32 * m,), np.int64),
            t[9],
            t[10],
            t[11],
            total,
            flags[0],
        )
    return factors[d] * in_range(np.float64(total[0]), t[9], t[10], t[11])  # type: ignore[no-any-return]
