"""The arrays of a program, from the table of their addresses."""

from __future__ import annotations

import numpy as np
from numba import carray

from trigemu.api import FloatArray, IntArray, kernel, pointer


@kernel
def integers(table: IntArray, number: int) -> IntArray:
    return carray(pointer(table[1 + 2 * number]), (table[2 + 2 * number],), np.int64)  # type: ignore[no-any-return]


@kernel
def floats(table: IntArray, number: int) -> FloatArray:
    return carray(pointer(table[1 + 2 * number]), (table[2 + 2 * number],), np.float64)  # type: ignore[no-any-return]
