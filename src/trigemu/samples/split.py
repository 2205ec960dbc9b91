"""The two halves of a sample: models are fitted on one, the other stays unseen.

Events made from one generated interaction share their `parent` and so stay together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.support import BoolArray, IntArray

TRAINING, EVALUATION = 0, 1
HALF_NAMES = ("training", "evaluation")


def half_of(parent: npt.NDArray[np.uint64]) -> IntArray:
    """int64[n], TRAINING or EVALUATION."""
    return (_hashed(parent) >> np.uint64(63)).astype(np.int64)


def is_quarter(parent: npt.NDArray[np.uint64]) -> BoolArray:
    """bool[n]: a quarter of either half, such as stops a fit early."""
    quarter = (_hashed(parent) >> np.uint64(61)) & np.uint64(3)
    chosen: BoolArray = quarter == 0
    return chosen


def _hashed(parent: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea and Flood, doi:10.1145/2714064.2660195)."""
    z = parent + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
