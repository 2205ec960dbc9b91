"""The inputs of a model, for up to sixteen events in one pass.

Models read many numbers of few collections. Computed array by array, each selection and each number costs a
call and a pass over memory. Here, the objects of a few events are selected and summed together, and the
numbers are written to where the model reads them. Loops run over the objects of all these events: the number
of objects in an event, a loop of its own for each, would be guessed wrongly by the processor.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import BoolArray
from trigemu.base.kernels import address_of, c_function, call_function, inner, kernel
from trigemu.observables.workspace import delta_phi, within_dr

from .vectors import numbers_at

#: The inputs of a model: float32[n, k].
Features = npt.NDArray[np.float32]
#: The largest number of events in a pass.
BLOCK = 16
#: Kinds of selections: rows of a collection; objects of another selection, within windows and not close to
#: objects of a third one. Their numbers: (kind, rows), or (kind, source, first test, tests, other selection
#: or −1, ΔR, and four columns: η and φ of both).
ROWS, WITHIN, SELECTION = 0, 1, 10
#: Tests: (column, whether of |v|, the lower bound, which the upper one follows).
TEST = 3
#: Sums of pT: (whether the vector sum is needed, first part, parts). Parts: (selection, column of pT, column
#: of φ). Results: HT, missing HT and its direction.
SUM, PART, RESULT = 3, 3, 3
#: Groups of inputs, which follow each other: of one object, or a number of the event alone: (kind, selection,
#: index of the object, first input, inputs, whether an event without the object is incomplete). Inputs:
#: (column, sum, whether an event without it is incomplete); of an object, a sum is that of its Δφ, else −1.
OBJECT, SCALAR, COUNT, OF_SUM, MISSING, DIRECTION = range(6)
GROUP, INPUT = 6, 3
#: A table has addresses: of selections, tests, sums, parts, groups, inputs, and numbers (the values of
#: missing inputs, then bounds); of columns (address, whether float64) and rows (address of the offsets,
#: address of the rows or 0, the row that these count from); of memory: results of sums by event, and for each
#: selection, where the rows of an event start, the rows, and the event of each. Then the numbers of
#: selections, sums, groups and inputs, and the room for the rows of a selection.
(AT_SELECTIONS, AT_TESTS, AT_SUMS, AT_PARTS, AT_GROUPS, AT_INPUTS, AT_NUMBERS) = range(7)
(AT_COLUMNS, AT_ROWS, AT_RESULTS, AT_STARTS, AT_CHOSEN, AT_OWNERS) = range(7, 13)
(SELECTIONS, SUMS, GROUPS, INPUTS, ROOM_OF_TABLE, TABLE) = range(13, 19)
#: Objects of a block for which there is room at first.
ROOM = 512
#: What `fill_block` returns: it wrote all inputs.
DONE = 0
#: What `fill_block` returns: there is no room for the objects of the events.
FULL = -1
#: What `fill_block` returns: an input is infinite as a float32.
INFINITE = -2


# Arrays that are passed from kernel to kernel take longer than the work on an event; addresses do not.
_integer, _set = numbers_at(types.int64)
_double, _put = numbers_at(types.float64)
_single, _put_single = numbers_at(types.float32)
_, _put_flag = numbers_at(types.uint8)


@inner
def _value(columns: int, column: int, row: int) -> float:
    address, kind = _integer(columns, 2 * column), _integer(columns, 2 * column + 1)
    return np.float64(_single(address, row)) if kind == 0 else _double(address, row)


@inner
def _all_rows(place: int, first: int, n: int, starts: int, chosen: int, owners: int, room: int) -> bool:
    """Select the rows of n events from the first one on; return whether there is room for them."""
    offsets, given, base = _integer(place, 0) + 8 * first, _integer(place, 1), _integer(place, 2)
    low = _integer(offsets, 0)
    count = _integer(offsets, n) - low
    if count >= room:
        return False
    for k in range(count + 1):
        _set(owners, k, 0)
    for event in range(n + 1):
        start = _integer(offsets, event) - low
        _set(starts, event, start)
        if event > 0:
            _set(owners, start, _integer(owners, start) + 1)
    event = 0
    for k in range(count):
        event += _integer(owners, k)
        _set(owners, k, event)
        _set(chosen, k, base + (_integer(given, low + k) if given != 0 else low + k))
    return True


@inner
def _rows_within(t: int, selection: int, count: int, rows: int, lanes: int, chosen: int, owners: int) -> int:
    """Select the rows that pass the tests of a selection, and return their number."""
    columns, numbers = _integer(t, AT_COLUMNS), _integer(t, AT_NUMBERS)
    tests = _integer(t, AT_TESTS) + 8 * TEST * _integer(selection, 2)
    end = tests + 8 * TEST * _integer(selection, 3)
    selected = 0
    for k in range(count):
        row = _integer(rows, k)
        within = True
        for test in range(tests, end, 8 * TEST):
            value, low = _value(columns, _integer(test, 0), row), _integer(test, 2)
            if _integer(test, 1) != 0:
                value = abs(value)
            within &= _double(numbers, low) <= value <= _double(numbers, low + 1)
        _set(chosen, selected, row)
        _set(owners, selected, _integer(lanes, k))
        selected += within
    return selected


@inner
def _without_close(
    t: int, selection: int, count: int, chosen: int, owners: int, others: int, starts: int
) -> int:
    """Keep the rows that are not close to any row of the other selection, and return their number."""
    columns, dr = _integer(t, AT_COLUMNS), _double(_integer(t, AT_NUMBERS), _integer(selection, 5))
    kept = 0
    for k in range(count):
        row, event, is_close = _integer(chosen, k), _integer(owners, k), False
        eta = _value(columns, _integer(selection, 6), row)
        phi = _value(columns, _integer(selection, 7), row)
        for j in range(_integer(starts, event), _integer(starts, event + 1)):
            near = _integer(others, j)
            d_eta = eta - _value(columns, _integer(selection, 8), near)
            is_close |= within_dr(d_eta, phi, _value(columns, _integer(selection, 9), near), dr)
        _set(chosen, kept, row)
        _set(owners, kept, event)
        kept += not is_close
    return kept


@inner
def _count(starts: int, n: int, owners: int, count: int) -> None:
    """Write where the rows of each of n events start."""
    for event in range(n + 1):
        _set(starts, event, 0)
    for k in range(count):
        after = _integer(owners, k) + 1
        _set(starts, after, _integer(starts, after) + 1)
    for event in range(n):
        _set(starts, event + 1, _integer(starts, event) + _integer(starts, event + 1))


@inner
def _select(t: int, first: int, n: int) -> bool:
    """Select the objects of n events; return whether there is room for them."""
    room, rows, all_starts = _integer(t, ROOM_OF_TABLE), _integer(t, AT_ROWS), _integer(t, AT_STARTS)
    all_chosen, all_owners = _integer(t, AT_CHOSEN), _integer(t, AT_OWNERS)
    for s in range(_integer(t, SELECTIONS)):
        selection, start = _integer(t, AT_SELECTIONS) + 8 * SELECTION * s, 8 * room * s
        source, starts = _integer(selection, 1), all_starts + 8 * (BLOCK + 1) * s
        chosen, owners = all_chosen + start, all_owners + start
        if _integer(selection, 0) == ROWS:
            if not _all_rows(rows + 24 * source, first, n, starts, chosen, owners, room):
                return False
            continue
        count = _integer(all_starts + 8 * (BLOCK + 1) * source, n)
        start = 8 * room * source
        count = _rows_within(t, selection, count, all_chosen + start, all_owners + start, chosen, owners)
        other = _integer(selection, 4)
        if other >= 0:
            others = all_chosen + 8 * room * other
            other_starts = all_starts + 8 * (BLOCK + 1) * other
            count = _without_close(t, selection, count, chosen, owners, others, other_starts)
        _count(starts, n, owners, count)
    return True


@inner
def _add_up(t: int, n: int) -> None:
    """Compute the sums of n events."""
    columns, room = _integer(t, AT_COLUMNS), _integer(t, ROOM_OF_TABLE)
    for s in range(_integer(t, SUMS)):
        sums = _integer(t, AT_SUMS) + 8 * SUM * s
        results, is_vector = _integer(t, AT_RESULTS) + 8 * BLOCK * RESULT * s, _integer(sums, 0) != 0
        for k in range(n * RESULT):
            _put(results, k, 0.0)
        part = _integer(t, AT_PARTS) + 8 * PART * _integer(sums, 1)
        for _ in range(_integer(sums, 2)):
            first = _integer(part, 0)
            chosen = _integer(t, AT_CHOSEN) + 8 * room * first
            owners = _integer(t, AT_OWNERS) + 8 * room * first
            for k in range(_integer(_integer(t, AT_STARTS) + 8 * (BLOCK + 1) * first, n)):
                row, result = _integer(chosen, k), results + 8 * RESULT * _integer(owners, k)
                pt = _value(columns, _integer(part, 1), row)
                _put(result, 0, _double(result, 0) + pt)
                if is_vector:
                    phi = _value(columns, _integer(part, 2), row)
                    _put(result, 1, _double(result, 1) - pt * math.cos(phi))
                    _put(result, 2, _double(result, 2) - pt * math.sin(phi))
            part += 8 * PART
        if is_vector:
            for event in range(n):
                result = results + 8 * RESULT * event
                px, py = _double(result, 1), _double(result, 2)
                _put(result, 1, math.hypot(px, py))
                _put(result, 2, math.atan2(py, px))


@inner
def _write(
    t: int, group: int, first: int, n: int, features: int, of_event: int, of_input: int, complete: int
) -> bool:
    """Write a group of inputs of n events; return whether all are finite."""
    kind, of, index, begin = _integer(group, 0), _integer(group, 1), _integer(group, 2), _integer(group, 3)
    columns, end, is_finite = _integer(t, AT_COLUMNS), begin + _integer(group, 4), True
    starts = _integer(t, AT_STARTS) + 8 * (BLOCK + 1) * of
    chosen = _integer(t, AT_CHOSEN) + 8 * _integer(t, ROOM_OF_TABLE) * of
    for event in range(n):
        row, place, after = first + event, _integer(starts, event) + index, _integer(starts, event + 1)
        if kind == OBJECT:
            if place >= after:
                if _integer(group, 5) != 0:
                    _put_flag(complete, event, 0)
                continue
            row = _integer(chosen, place)
        for i in range(begin, end):
            item = _integer(t, AT_INPUTS) + 8 * INPUT * i
            total = _integer(item, 1)
            results = _integer(t, AT_RESULTS) + 8 * RESULT * (BLOCK * total + event)
            if kind <= SCALAR:
                value = _value(columns, _integer(item, 0), row)
                if total >= 0:
                    value = delta_phi(value, _double(results, 2))
            elif kind == COUNT:
                value = float(after - place)
            else:
                value = _double(results, kind - OF_SUM)
            if value == value:
                single = np.float32(value)
                _put_single(features, of_event * event + of_input * i, single)
                is_finite &= not math.isinf(single)
            elif _integer(item, 2) != 0:
                _put_flag(complete, event, 0)
    return is_finite


@c_function
def fill_block(arguments: int) -> int:
    """Write the inputs of some events. arguments: the address of a table, the number of the first event and
    of events, the address of the inputs, the distances from event to event and from input to input, and the
    address of bool[n]: whether an event has all inputs that have no padding."""
    t, features = _integer(arguments, 0), _integer(arguments, 3)
    first, n = _integer(arguments, 1), _integer(arguments, 2)
    of_event, of_input, complete = _integer(arguments, 4), _integer(arguments, 5), _integer(arguments, 6)
    if not _select(t, first, n):
        return FULL
    _add_up(t, n)
    numbers, is_finite = _integer(t, AT_NUMBERS), True
    for event in range(n):
        _put_flag(complete, event, 1)
        for i in range(_integer(t, INPUTS)):
            _put_single(features, of_event * event + of_input * i, np.float32(_double(numbers, i)))
    for k in range(_integer(t, GROUPS)):
        group = _integer(t, AT_GROUPS) + 8 * GROUP * k
        is_finite &= _write(t, group, first, n, features, of_event, of_input, complete)
    return DONE if is_finite else INFINITE


@kernel
def fill_events(fill: int, t: int, features: Features, complete: BoolArray) -> int:
    """Write the inputs of n events, float32[n, k], and which of them are complete, bool[n]; `fill_block` in
    turn, which also says what is returned. fill: its address."""
    n, k = features.shape
    is_finite = True
    block = np.array([t, 0, 0, 0, k, 1, 0], np.int64)
    for first in range(0, n, BLOCK):
        block[1], block[2] = first, min(BLOCK, n - first)
        block[3], block[6] = features.ctypes.data + 4 * k * first, complete.ctypes.data + first
        result = call_function(fill, block.ctypes.data)
        if result == FULL:
            return FULL
        is_finite &= result == DONE
    return DONE if is_finite else INFINITE


@cache
def inputs_function() -> int:
    """Return the address of `fill_block`: code that calls it by address is not compiled with it each time."""
    return address_of(fill_block, types.intp(types.intp))
