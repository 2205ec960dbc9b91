"""One row through a network, with memory that is bound once; and how sure a decision on it is.

In a run of its own, a row goes through other code than among others (`lanes.py`): its score differs from that
of `Network.score` in the last bits, and so settles a decision only where it is not near the cut.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np

from trigemu.observables import Features
from trigemu.support import FloatArray, kernel, pointer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

#: A score this near to the cut, relative to the score where that is above 1, does not settle a decision.
#: Sums in float32 that are taken in another order differ by a thousandth of that.
NEAR = 1e-3
#: The same, by how far rows on trial are off.
_TIMES_TRIAL = 1000.0


class Row:
    """features: float32[1, k], which `run` reads (or more rows). score: float32[1] or float64[1], which it
    writes. near: how near to the cut a score does not settle a decision."""

    def __init__(self, session: InferenceSession, features: Features) -> None:
        (given,), (output,) = session.get_inputs(), session.get_outputs()
        kind = np.float64 if output.type == "tensor(double)" else np.float32
        shape = session.run(None, {given.name: features})[0].shape
        binding = session.io_binding()
        self.features, self.score, self.near = features, np.zeros(shape, kind).reshape(-1), NEAR
        binding.bind_input(given.name, "cpu", 0, np.float32, features.shape, features.ctypes.data)
        binding.bind_output(output.name, "cpu", 0, kind, shape, self.score.ctypes.data)
        self._session, self._binding = session, binding

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def compare(self, rows: Features, scores: FloatArray) -> None:
        """Widen `near` where rows are off from their scores by more than float32 makes one expect."""
        for row, score in zip(rows, scores.tolist(), strict=True):
            self.features[:] = row
            self.run()
            apart = abs(self.score.item() - score) / max(1.0, abs(score))
            if apart < math.inf:  # and a number
                self.near = max(self.near, _TIMES_TRIAL * apart)

    @property
    def address(self) -> tuple[int, int]:
        """Of the score, and its bytes."""
        return self.score.ctypes.data, self.score.itemsize


@kernel
def score_at(address: int, size: int) -> float:
    """The number of so many bytes at an address."""
    if size == 4:
        return np.float64(numba.carray(pointer(address), (1,), np.float32)[0])
    return numba.carray(pointer(address), (1,), np.float64)[0]  # type: ignore[no-any-return]


@kernel
def settled_decision(y: float, score: float, cut: float, near: float) -> int:
    """1: the score, made of y, is above the cut; 0: it is not; −1: too near to say, or not a number."""
    if abs(score - cut) > near * max(1.0, abs(y)):
        return 1 if score > cut else 0
    return -1
