"""Instructions of programs: the arrays that they read, computations of numbers, and the search for legs."""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import c_function, kernel, pointer
from trigemu.observables.expressions import PARALLEL
from trigemu.observables.workspace import delta_phi
from trigemu.triggers.combination import CUT, search
from trigemu.triggers.pairs import delta_r, pair_mass

from . import opcodes as do


@kernel
def integers(table: IntArray, number: int) -> IntArray:
    return carray(pointer(table[1 + 2 * number]), (table[2 + 2 * number],), np.int64)  # type: ignore[no-any-return]


@kernel
def floats(table: IntArray, number: int) -> FloatArray:
    return carray(pointer(table[1 + 2 * number]), (table[2 + 2 * number],), np.float64)  # type: ignore[no-any-return]


@kernel
def compute(op: int, i: IntArray, r: FloatArray) -> float:
    """Return the result of an instruction whose operands are all registers."""
    a: float = r[i[2]]
    b: float = r[i[3]]
    if op == do.ADD:
        return a + b
    if op == do.SUBTRACT:
        return a - b
    if op == do.MULTIPLY:
        return a * b
    if op == do.DIVIDE:
        return a / b
    if op == do.NEGATIVE:
        return -a
    if op == do.ABSOLUTE:
        return abs(a)
    if op == do.LARGER:  # of the operands that have a value
        return a if a >= b or b != b else b
    if op == do.SMALLER:
        return a if a <= b or b != b else b
    if op == do.ABOVE:
        return 1.0 if a > b else 0.0
    if op == do.AT_LEAST:
        return 1.0 if a >= b else 0.0
    if op == do.BELOW:
        return 1.0 if a < b else 0.0
    if op == do.AT_MOST:
        return 1.0 if a <= b else 0.0
    if op == do.EQUAL:
        return 1.0 if a == b else 0.0
    if op == do.UNEQUAL:  # the one comparison that is true for NaN in IEEE 754
        return 1.0 if a < b or a > b else 0.0
    if op == do.AND:
        return a * b
    if op == do.OR:
        return max(a, b)
    if op == do.NOT:
        return 1.0 - a
    return _kinematic(op, i, r)


@kernel
def _kinematic(op: int, i: IntArray, r: FloatArray) -> float:
    a: float = r[i[2]]
    b: float = r[i[3]]
    if op == do.X:
        return a * math.cos(b)
    if op == do.Y:
        return a * math.sin(b)
    if op == do.Z:
        return a * math.sinh(b)
    if op == do.ENERGY:
        return a * math.cosh(b)
    if op == do.TRANSVERSE:
        return math.hypot(a, b)
    if op == do.AZIMUTH:
        return math.atan2(b, a)
    if op == do.PSEUDORAPIDITY:
        return math.asinh(r[i[4]] / math.hypot(a, b))
    if op == do.MASS:
        z, e = r[i[4]], r[i[5]]
        square: float = e * e - a * a - b * b - z * z
        return 0.0 if square < PARALLEL * e * e else math.sqrt(square)
    if op == do.DELTA_PHI:
        return delta_phi(a, b)
    if op == do.DELTA_R:
        return delta_r(a, b, r[i[4]], r[i[5]])
    return pair_mass(a, b, r[i[4]], r[i[5]], r[i[6]], r[i[7]])


@c_function
def choose(table: int) -> int:
    """Return whether any choice of objects fits a combination of i[3] legs and i[4] cuts, or REFUSED. The
    pool has the twins of the legs, what is added to their rows, then for each leg its selection and columns
    (−1: not read), then the cuts."""
    t = carray(pointer(table), (do.TABLE,), np.int64)
    i = carray(pointer(t[do.INSTRUCTION]), (do.WIDTH,), np.int64)
    pool, columns, rows = integers(t, do.POOL), floats(t, do.COLUMNS), integers(t, do.ROWS)
    starts = integers(t, do.STARTS).reshape(-1, 2)
    objects = floats(t, do.OBJECTS).reshape(do.LINES, -1)
    legs, place = i[3], i[2] + 2 * i[3]
    total = 0
    for leg in range(legs):
        selection = pool[place]
        if rows[selection] == 0:
            return 0
        starts[leg, 0] = total
        for n in range(selection + 1, selection + 1 + rows[selection]):
            row = rows[n]
            objects[0, total] = row + pool[i[2] + legs + leg]
            for line in range(1, do.LINES):
                if pool[place + line] >= 0:
                    objects[line, total] = columns[pool[place + line] + row]
            total += 1
        starts[leg, 1] = total
        place += do.LINES
    twins = pool[i[2] : i[2] + legs]
    cuts = pool[place : place + CUT * i[4]].reshape(-1, CUT)
    numbers = floats(t, do.REGISTERS)[i[5] : i[5] + i[6]]
    found = carray(pointer(t[1 + 2 * do.FOUND]), (1,), np.int64)
    found[0] = -1
    chosen = integers(t, do.CHOSEN)
    if search(starts[:legs], objects, twins, cuts, numbers, chosen, found, 0, i[8]) >= 0:
        return do.REFUSED
    return int(found[0] >= 0)
