"""Instructions that compute a number from numbers."""

from __future__ import annotations

import math

from trigemu.api import FloatArray, IntArray, kernel, momenta

from . import opcodes as do


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
        return momenta.momentum_x(a, b)
    if op == do.Y:
        return momenta.momentum_y(a, b)
    if op == do.Z:
        return momenta.momentum_z(a, b)
    if op == do.ENERGY:
        return momenta.energy(a, b)
    if op == do.TRANSVERSE:
        return math.hypot(a, b)
    if op == do.AZIMUTH:
        return math.atan2(b, a)
    if op == do.PSEUDORAPIDITY:
        return momenta.pseudorapidity(a, b, r[i[4]])
    if op == do.MASS:
        return momenta.mass(a, b, r[i[4]], r[i[5]])
    if op == do.DELTA_PHI:
        return momenta.delta_phi(a, b)
    if op == do.DELTA_R:
        return momenta.delta_r(a, b, r[i[4]], r[i[5]])
    return momenta.pair_mass(a, b, r[i[4]], r[i[5]], r[i[6]], r[i[7]])
