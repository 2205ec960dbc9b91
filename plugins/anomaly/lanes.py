"""Arrange rows for a network such that the score of a row does not depend on the other rows.

The last bits of ONNX Runtime's result for a row depend on its position: sums along the row begin at aligned
addresses, and the last rows of a call go through different code. A row is therefore always placed in the same
one of 16 lanes, determined by its content, and its score depends on nothing else.

Lanes fill at random. With two consecutive buffers, lanes that are ahead continue in the second until the
first is full in all lanes, and very few positions are run without a row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from trigemu.api import Features, FloatArray, IntArray, kernel

#: Rows per call: enough to hide its overhead, few enough for the caches.
BATCH = 1024
#: Number of rows after which the alignment of float32 rows to 64 bytes, the widest vector, repeats.
LANES = 16
_DEPTH = BATCH // LANES
_ALIGNMENT = 64
#: Slots of the hash table for equal rows: a power of 2, twice the rows of both buffers.
_SLOTS = 4 * BATCH

Bits = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]


class Lanes:
    """Collects rows, block by block, and computes their scores. A row is not added again while an equal one
    is waiting.

    Position p of a lane is in buffer p // _DEPTH; one even and one odd buffer are in memory.
    """

    def __init__(self, run: Callable[[Features], FloatArray], features: int) -> None:
        """run: float32[n, features] → float[n], for n a multiple of 16."""
        self._run, self._keys = run, _random_keys(features)
        self._buffers = aligned(2 * BATCH, features)
        self._filled = np.zeros(LANES, np.int64)
        self._slots = np.full(_SLOTS, -1, np.int64)
        self._scores: list[FloatArray] = []
        self._positions: list[IntArray] = []

    def add(self, features: Features) -> None:
        """Add rows, float32[n, k]."""
        rows = np.ascontiguousarray(features).view(np.uint32)
        positions = np.empty(len(rows), np.int64)
        buffers = self._buffers.view(np.uint32)
        self._positions.append(positions)
        first = 0
        while True:
            done = len(self._scores)
            first = _lay_out(rows, first, self._keys, buffers, done, self._filled, self._slots, positions)
            if first == len(rows):
                return
            self._run_buffer()

    def scores(self) -> FloatArray:
        """Return the scores float64[m] of all rows that were added."""
        if not self._positions:
            return np.empty(0)
        while len(self._scores) * _DEPTH < self._filled.max():
            self._run_buffer()
        positions = np.concatenate(self._positions)
        return np.concatenate(self._scores)[positions] if self._scores else np.empty(0)

    def _run_buffer(self) -> None:
        """Run the first buffer that has not been run yet."""
        number = len(self._scores)
        start = number % 2 * BATCH
        rows = self._buffers[start : start + BATCH]
        some = int(self._filled.argmax())
        n = int(min(self._filled[some] - number * _DEPTH, _DEPTH))
        _close(rows.view(np.uint32), number * _DEPTH, n, some, self._filled)
        n *= LANES
        scores = np.empty(BATCH)
        scores[:n] = self._run(rows[:n])
        self._scores.append(scores)


def aligned(rows: int, columns: int) -> Features:
    """Return an uninitialised float32[rows, columns] that is aligned to 64 bytes."""
    raw = np.empty(4 * rows * columns + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + 4 * rows * columns].view(np.float32).reshape(rows, columns)


@lru_cache
def _random_keys(n: int) -> Keys:
    """Return odd random numbers uint64[n] (Knuth's MMIX generator)."""
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
    slots: IntArray,
    positions: IntArray,
) -> int:
    """Place rows from `first` on, until the lane of a row is full, and return the number of that row; `done`
    buffers have been run. positions, int64[n]: position × 16 + lane of each row, the index of its score."""
    for row in range(first, len(rows)):
        hashed = np.uint64(0)
        for column in range(rows.shape[1]):
            hashed += np.uint64(rows[row, column]) * keys[column]
        slot = np.int64((hashed >> np.uint64(36)) & np.uint64(_SLOTS - 1))
        while True:
            position = slots[slot]
            new = position < done * BATCH  # rows that were run have left their slots
            differs = False
            if not new:
                for column in range(rows.shape[1]):
                    differs |= rows[row, column] != buffers[position % (2 * BATCH), column]
            if not differs:
                break
            slot = (slot + 1) % _SLOTS
        if new:
            lane = np.int64(hashed >> np.uint64(60))
            if filled[lane] == (done + 2) * _DEPTH:
                return row
            position = filled[lane] * LANES + lane
            filled[lane] += 1
            for column in range(rows.shape[1]):
                buffers[position % (2 * BATCH), column] = rows[row, column]
            slots[slot] = position
        positions[row] = position
    return len(rows)


@kernel
def _close(rows: Bits, first: int, n: int, some: int, filled: IntArray) -> None:
    """Fill the empty positions among first to first + n of each lane with copies of a row of lane `some`."""
    for lane in range(LANES):
        for position in range(max(filled[lane] - first, 0), n):
            for column in range(rows.shape[1]):
                rows[position * LANES + lane, column] = rows[some, column]
        filled[lane] = max(filled[lane], first + _DEPTH)
