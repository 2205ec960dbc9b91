"""The two halves of a sample: models are trained on one, and judged on the other.

Events made from the same generated interaction share their `parent` and are in the same half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import IntArray, splitmix64

#: The half that models are trained on.
TRAINING = 0
#: The half that training never uses.
EVALUATION = 1
#: The names of both.
HALF_NAMES = ("training", "evaluation")


def half_of(parent: npt.NDArray[np.uint64]) -> IntArray:
    """Return the half of each event. parent: uint64[n]; returns int64[n]."""
    return (splitmix64(parent) >> np.uint64(63)).astype(np.int64)


def other_half(half: int) -> int:
    """Return the other half."""
    return TRAINING if half == EVALUATION else EVALUATION
