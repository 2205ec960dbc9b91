"""The two halves of a sample: models are trained on one, the other remains unseen.

Events made from the same generated interaction share their `parent` and are in the same half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.support import BoolArray, IntArray, splitmix64

TRAINING, EVALUATION = 0, 1
HALF_NAMES = ("training", "evaluation")


def half_of(parent: npt.NDArray[np.uint64]) -> IntArray:
    """Return the half of each event, int64[n]: TRAINING or EVALUATION."""
    return (splitmix64(parent) >> np.uint64(63)).astype(np.int64)


def other_half(half: int) -> int:
    return TRAINING if half == EVALUATION else EVALUATION


def is_quarter(parent: npt.NDArray[np.uint64]) -> BoolArray:
    """Select a quarter of each half, bool[n], for example for early stopping."""
    quarter = (splitmix64(parent) >> np.uint64(61)) & np.uint64(3)
    chosen: BoolArray = quarter == 0
    return chosen
