"""The two halves of a sample: models are fitted on one, the other stays unseen.

Events made from one generated interaction share their `parent` and so stay together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.support import BoolArray, IntArray, splitmix64

TRAINING, EVALUATION = 0, 1
HALF_NAMES = ("training", "evaluation")


def half_of(parent: npt.NDArray[np.uint64]) -> IntArray:
    """int64[n], TRAINING or EVALUATION."""
    return (splitmix64(parent) >> np.uint64(63)).astype(np.int64)


def is_quarter(parent: npt.NDArray[np.uint64]) -> BoolArray:
    """bool[n]: a quarter of either half, such as stops a fit early."""
    quarter = (splitmix64(parent) >> np.uint64(61)) & np.uint64(3)
    chosen: BoolArray = quarter == 0
    return chosen
