"""Trees in fixed point on one row at a time, from memory that is laid out once."""

from __future__ import annotations

import numpy as np
from numba import carray, types

from trigemu.base.arrays import Array
from trigemu.base.kernels import address_of, c_function, call_function, kernel, pointer

from .fixed_point import in_range, quantise
from .trees import FixedEnsemble, add_leaves_of

#: The numbers of a row: the number of inputs, the addresses of their words, of flags and of factors; the
#: modes and words of the input and of the score; the base, the address of the sum, and the number of tables.
_HEAD = 15
#: For each table: the numbers of inputs, cuts, buckets and masks, and the addresses of nine arrays.
_TABLE = 13


class FixedRow:
    """function, arguments: addresses for `score_by`; they are valid as long as the object exists."""

    def __init__(self, fixed: FixedEnsemble) -> None:
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
        self._memory = memory, np.array(numbers, np.int64)
        self._arguments = np.array([0, self._memory[1].ctypes.data, 0], np.int64)
        self.arguments = int(self._arguments.ctypes.data)
        self.function = address_of(_of_arguments, types.intp(types.intp))


@kernel
def score_by(function: int, arguments: int, x: int) -> float:
    """Call the function of a `FixedRow` or a `CellRow` for the float32 row at an address: a kernel that
    contained the trees would take long to compile, also for menus without trees."""
    carray(pointer(arguments), (3,), np.int64)[2] = x
    call_function(function, arguments)
    return carray(pointer(arguments), (1,), np.float64)[0]  # type: ignore[no-any-return]


@c_function
def _of_arguments(arguments: int) -> int:
    at = carray(pointer(arguments), (3,), np.int64)
    carray(pointer(arguments), (1,), np.float64)[0] = _score(at[1], at[2])
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
