"""Rows laid out for a network so that the score of a row does not depend on its company.

What ONNX Runtime gives for a row depends, in the last bits, on where the row stands: sums along it begin at
aligned addresses, and the last rows of a call go through other code. A row therefore always stands in the
same of 16 lanes, which its content decides: its score depends on nothing else.

Lanes fill at random. Two buffers, one after the other, let the ones that are ahead go on until the first
buffer is full in all of them, so that hardly a place is run for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from trigemu.observables import Features
from trigemu.support import FloatArray, IntArray, kernel

#: Rows a call: enough to hide its cost, few enough for the caches.
BATCH = 1024
#: Rows of float32 of any length repeat their alignment to 64 bytes, the widest vector, after so many.
LANES = 16
_DEPTH = BATCH // LANES
_ALIGNMENT = 64
#: Of the table in which equal rows are found: a power of 2, twice the rows of both buffers.
_SLOTS = 4 * BATCH

Bits = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]


class Lanes:
    """Takes rows, block by block, and gives their scores. A row is not run again while an equal one waits.

    Place p of a lane is in buffer p // _DEPTH, of which an even and an odd one are kept.
    """

    def __init__(self, run: Callable[[Features], FloatArray], features: int) -> None:
        """run: float32[n, features] → float[n], n being a multiple of 16."""
        self._run, self._keys = run, _random_keys(features)
        self._buffers = aligned(2 * BATCH, features)
        self._filled = np.zeros(LANES, np.int64)
        self._known = np.full(_SLOTS, -1, np.int64)
        self._scores: list[FloatArray] = []
        self._places: list[IntArray] = []

    def add(self, features: Features) -> None:
        """float32[n, k]"""
        rows = np.ascontiguousarray(features).view(np.uint32)
        places = np.empty(len(rows), np.int64)
        buffers = self._buffers.view(np.uint32)
        self._places.append(places)
        first = 0
        while True:
            done = len(self._scores)
            first = _lay_out(rows, first, self._keys, buffers, done, self._filled, self._known, places)
            if first == len(rows):
                return
            self._run_buffer()

    def scores(self) -> FloatArray:
        """float64[m] of all rows that were added."""
        if not self._places:
            return np.empty(0)
        while len(self._scores) * _DEPTH < self._filled.max():
            self._run_buffer()
        places = np.concatenate(self._places)
        return np.concatenate(self._scores)[places] if self._scores else np.empty(0)

    def _run_buffer(self) -> None:
        """The first that was not run yet."""
        number = len(self._scores)
        start = number % 2 * BATCH
        rows = self._buffers[start : start + BATCH]
        n = _close(rows.view(np.uint32), number, self._filled)
        scores = np.empty(BATCH)
        scores[:n] = self._run(rows[:n])
        self._scores.append(scores)


def aligned(rows: int, columns: int) -> Features:
    """float32[rows, columns], uninitialised."""
    raw = np.empty(4 * rows * columns + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + 4 * rows * columns].view(np.float32).reshape(rows, columns)


@lru_cache
def _random_keys(n: int) -> Keys:
    """uint64[n], odd (Knuth's MMIX generator)."""
    keys, state = [], 1
    for _ in range(n):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        keys.append(state | 1)
    return np.array(keys, np.uint64)


@kernel
def _lay_out(
    rows: Bits,
    first: int,
    keys: Keys,
    buffers: Bits,
    done: int,
    filled: IntArray,
    known: IntArray,
    places: IntArray,
) -> int:
    """Lays out rows from `first` on, until one's lane has no room, and says which; `done` buffers were run.
    places, int64[n]: of each row, place × 16 + lane, which is where its score will stand."""
    for row in range(first, len(rows)):
        hashed = np.uint64(0)
        for column in range(rows.shape[1]):
            hashed += np.uint64(rows[row, column]) * keys[column]
        slot = np.int64((hashed >> np.uint64(36)) & np.uint64(_SLOTS - 1))
        while True:
            place = known[slot]
            new = place < done * BATCH  # what was run has left its slot
            other = False
            if not new:
                for column in range(rows.shape[1]):
                    other |= rows[row, column] != buffers[place % (2 * BATCH), column]
            if not other:
                break
            slot = (slot + 1) % _SLOTS
        if new:
            lane = np.int64(hashed >> np.uint64(60))
            if filled[lane] == (done + 2) * _DEPTH:
                return row
            place = filled[lane] * LANES + lane
            filled[lane] += 1
            for column in range(rows.shape[1]):
                buffers[place % (2 * BATCH), column] = rows[row, column]
            known[slot] = place
        places[row] = place
    return len(rows)


@kernel
def _close(rows: Bits, number: int, filled: IntArray) -> int:
    """How many rows of buffer `number` are to be run; what no row filled is run too, as a copy of one."""
    first = number * _DEPTH
    n = int(min(filled.max() - first, _DEPTH))
    some = filled.argmax()
    for lane in range(LANES):
        for place in range(max(filled[lane] - first, 0), n):
            rows[place * LANES + lane] = rows[some]
        filled[lane] = max(filled[lane], first + _DEPTH)
    return n * LANES
