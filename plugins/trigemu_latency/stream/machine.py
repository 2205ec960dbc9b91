"""The interpreter of programs: one kernel, independent of the menu, runs the instructions of a flat table on
one event.

A program works on registers (float64; NaN: no value; conditions are 1 and 0) and on selections: the number of
selected objects in the current event, then their rows. All arrays are created once, and kernels receive a
table of their addresses: each array argument of a call from Python costs an allocation, and passing several
arrays from kernel to kernel takes longer than most instructions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.kernels import c_function, call_function, kernel, pointer
from trigemu.observables.expressions import PARALLEL
from trigemu.observables.workspace import delta_phi
from trigemu.triggers.pairs import CUT, delta_r, pair_mass, search

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
    if op == do.EQUAL:
        return 1.0 if a == b else 0.0
    if op == do.UNEQUAL:  # the one comparison that is true for NaN in IEEE 754
        return 1.0 if a < b or a > b else 0.0
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


@kernel
def _store(address: int, value: float, padding: float) -> int:
    """Write a float32. Return 1, 0 without value and padding, or REFUSED if it is infinite."""
    single = carray(pointer(address), (1,), np.float32)
    missing = value != value
    lacking = missing and padding != padding
    single[0] = 0.0 if lacking else padding if missing else value
    if math.isinf(single[0]):
        return do.REFUSED
    return 0 if lacking else 1


@kernel
def _store_object(t: IntArray, i: IntArray) -> int:
    """Write i[6] inputs of object i[3] of selection i[2], to the address i[1] on, as `_store`. i[4]:
    the register of the first padding. The pool has (column, register of an angle to subtract or −1) pairs."""
    pool, rows = integers(t, do.POOL), integers(t, do.ROWS)
    columns, r = floats(t, do.COLUMNS), floats(t, do.REGISTERS)
    row = rows[i[2] + 1 + i[3]] if i[3] < rows[i[2]] else -1
    complete = 1
    for k in range(i[6]):
        value, angle = math.nan, pool[i[5] + 2 * k + 1]
        if row >= 0:
            value = columns[pool[i[5] + 2 * k] + row]
            if angle >= 0:
                value = delta_phi(value, r[angle])
        stored = _store(i[1] + 4 * k, value, r[i[4] + k])
        if stored == do.REFUSED:
            return do.REFUSED
        complete &= stored
    return complete


@kernel
def _sum(t: IntArray, i: IntArray) -> float:
    """Σ pT: the pool has (selection, column) pairs."""
    pool, columns, rows = integers(t, do.POOL), floats(t, do.COLUMNS), integers(t, do.ROWS)
    total = 0.0
    for k in range(i[2], i[2] + 2 * i[3], 2):
        for n in range(pool[k] + 1, pool[k] + 1 + rows[pool[k]]):
            total += columns[pool[k + 1] + rows[n]]
    return total


@kernel
def _missing(t: IntArray, i: IntArray) -> None:
    """−Σ px and −Σ py: the pool has (selection, column of pT, column of φ) triples."""
    pool, columns, rows = integers(t, do.POOL), floats(t, do.COLUMNS), integers(t, do.ROWS)
    px = py = 0.0
    for k in range(i[2], i[2] + 3 * i[3], 3):
        for n in range(pool[k] + 1, pool[k] + 1 + rows[pool[k]]):
            row = rows[n]
            pt, phi = columns[pool[k + 1] + row], columns[pool[k + 2] + row]
            px -= pt * math.cos(phi)
            py -= pt * math.sin(phi)
    r = floats(t, do.REGISTERS)
    r[i[1]], r[i[1] + 1] = px, py


@kernel
def _all(t: IntArray, i: IntArray, event: int) -> None:
    """Select all objects of a collection whose offsets begin at i[2], in the crossing that is i[3] later."""
    offsets, rows = integers(t, do.OFFSETS), integers(t, do.ROWS)
    row = event + i[3]
    if row < 0 or row >= t[0]:
        rows[i[1]] = 0
        return
    first = offsets[i[2] + row]
    count = offsets[i[2] + row + 1] - first
    rows[i[1]] = count
    for n in range(count):
        rows[i[1] + 1 + n] = first + n


@kernel
def _passes(value: float, mode: int, first: int, second: int, r: FloatArray) -> bool:
    """Whether a value passes a test. first, second: the registers of the bounds; for AMONG, the register of
    the first value, and the number of values; for BITS, the bits."""
    if mode == do.WITHIN:
        return bool(r[first] <= value <= r[second])
    if mode == do.ABSOLUTELY:
        return bool(r[first] <= abs(value) <= r[second])
    if mode == do.AROUND:
        return bool(value >= r[first] or value <= r[second])
    if mode == do.BITS:
        return bool(np.int64(value) & first == first)
    for k in range(first, first + second):  # noqa: SIM110 (a generator is slow in numba)
        if value == r[k]:
            return True
    return False


@kernel
def _within_windows(t: IntArray, i: IntArray) -> None:
    """Select the objects that pass i[4] tests: (column, mode, first, second, what follows)."""
    pool, columns, r = integers(t, do.POOL), floats(t, do.COLUMNS), floats(t, do.REGISTERS)
    rows = integers(t, do.ROWS)
    end = i[1] + 1
    for n in range(i[2] + 1, i[2] + 1 + rows[i[2]]):
        row = rows[n]
        passing, in_window, in_any = True, True, False
        for k in range(i[3], i[3] + do.TEST * i[4], do.TEST):
            in_window &= _passes(columns[pool[k] + row], pool[k + 1], pool[k + 2], pool[k + 3], r)
            if pool[k + 4] != do.MORE:
                in_any |= in_window
                in_window = True
                if pool[k + 4] == do.END:
                    passing &= in_any
                    in_any = False
        rows[end] = row
        end += passing
    rows[i[1]] = end - i[1] - 1


@kernel
def _clear(t: IntArray, i: IntArray) -> None:
    """Select the objects of i[2] without one of i[3] within dR; i[4:8]: columns of η and φ."""
    columns, rows, dr = floats(t, do.COLUMNS), integers(t, do.ROWS), floats(t, do.REGISTERS)[i[8]]
    end = i[1] + 1
    for n in range(i[2] + 1, i[2] + 1 + rows[i[2]]):
        row = rows[n]
        clear = True
        for k in range(i[3] + 1, i[3] + 1 + rows[i[3]]):
            other = rows[k]
            d_eta = columns[i[4] + row] - columns[i[6] + other]
            if clear and abs(d_eta) < dr:  # hypot is never smaller than that
                d_phi = delta_phi(columns[i[5] + row], columns[i[7] + other])
                clear = not math.hypot(d_eta, d_phi) < dr
        rows[end] = row
        end += clear
    rows[i[1]] = end - i[1] - 1


@kernel
def _called(t: IntArray, i: IntArray) -> bool:
    """Call the function at i[2] on the registers from i[1] on, copies of i[4] that the pool names, with the
    result at i[5], NaN if any is NaN. Return whether the call succeeded."""
    r, pool = floats(t, do.REGISTERS), integers(t, do.POOL)
    complete = True
    for n in range(i[4]):
        value = r[pool[i[3] + n]]
        r[i[1] + n] = value
        complete &= value == value
    r[i[5]] = math.nan
    return not complete or call_function(i[2], t[1 + 2 * do.REGISTERS] + 8 * i[1]) != 0


@kernel
def _look(t: IntArray, i: IntArray, event: int) -> None:
    """Run an instruction that reads the columns and selections of the event."""
    r, op = floats(t, do.REGISTERS), i[0]
    if op == do.SCALAR:
        r[i[1]] = floats(t, do.COLUMNS)[i[2] + event]
    elif op == do.BIT:
        row = event + i[4]
        inside = 0 <= row < t[0]
        r[i[1]] = np.int64(floats(t, do.COLUMNS)[i[2] + row]) >> i[3] & 1 if inside else 0
    elif op == do.COUNT:
        r[i[1]] = integers(t, do.ROWS)[i[2]]
    elif op == do.SUM:
        r[i[1]] = _sum(t, i)
    elif op == do.MISSING:
        _missing(t, i)
    elif op == do.WINDOWS:
        _within_windows(t, i)
    elif op == do.CLEAR:
        _clear(t, i)
    else:
        _all(t, i, event)


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


@kernel
def run(address: int, event: int) -> int:
    """Run the program on an event: write its decisions into DECISIONS and the inputs of models to their
    memory. Return the models to run, one per bit, or REFUSED. address: of the table."""
    t = carray(pointer(address), (do.TABLE,), np.int64)
    if event < 0 or event >= t[0]:
        return do.REFUSED
    code, rows = integers(t, do.CODE), integers(t, do.ROWS)
    r, columns = floats(t, do.REGISTERS), floats(t, do.COLUMNS)
    decisions = carray(pointer(t[1 + 2 * do.DECISIONS]), (t[2 + 2 * do.DECISIONS],), np.uint64)
    decisions[:] = 0
    first, requested, position = t[1 + 2 * do.CODE], 0, 0
    complete = 1
    while position < len(code):
        i = code[position : position + do.WIDTH]
        position += do.WIDTH
        op = i[0]
        if op < do.ELEMENT:
            r[i[1]] = compute(op, i, r)
        elif op == do.ELEMENT:
            r[i[1]] = columns[i[4] + rows[i[2] + 1 + i[3]]] if i[3] < rows[i[2]] else math.nan
        elif op == do.CHOICE:
            t[do.INSTRUCTION] = first + 8 * (position - do.WIDTH)
            fits = call_function(i[7], address)
            if fits == do.REFUSED:
                return do.REFUSED
            r[i[1]] = fits
        elif op < do.SKIP:
            _look(t, i, event)
        elif op == do.SKIP:
            if r[i[1]] == 0.0:
                position += do.WIDTH * i[2]
        elif op == do.STORE:
            stored = _store(i[1], r[i[2]], r[i[3]])
            if stored == do.REFUSED:
                return do.REFUSED
            complete &= stored
        elif op == do.OBJECT:
            stored = _store_object(t, i)
            if stored == do.REFUSED:
                return do.REFUSED
            complete &= stored
        elif op == do.REQUEST:
            if i[3] == 0:
                requested |= complete << i[1]
            elif complete:
                decision = call_function(i[3], i[4])
                if decision < 0:
                    return do.REFUSED
                if decision > 0:
                    decisions[i[2] // 64] |= np.uint64(1) << np.uint64(i[2] % 64)
            complete = 1
        elif op == do.CALL:
            if not _called(t, i):
                return do.REFUSED
        elif r[i[2]] != 0.0:  # FIRE
            decisions[i[1] // 64] |= np.uint64(1) << np.uint64(i[1] % 64)
    return requested


@kernel
def run_many(address: int, start: int, stop: int, words: Words, requested: IntArray) -> None:
    """Run the program on events: write a row of words and the models to run, or REFUSED, of each."""
    t = carray(pointer(address), (do.TABLE,), np.int64)
    decisions = carray(pointer(t[1 + 2 * do.DECISIONS]), (t[2 + 2 * do.DECISIONS],), np.uint64)
    for event in range(start, stop):
        requested[event - start] = run(address, event)
        words[event - start] = decisions
