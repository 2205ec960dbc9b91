"""The two halves of a sample: models are fitted on one, the other stays unseen.

Events made from one generated interaction share their `parent` and so stay together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trigemu.events import IntArray

TRAINING, EVALUATION = 0, 1
NAMES = ("training", "evaluation")


def half_of(parent: npt.NDArray[np.uint64]) -> IntArray:
    """int64[n], TRAINING or EVALUATION, by a hash of `parent` (SplitMix64, doi:10.1145/2714064.2660195)."""
    z = parent + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(63)).astype(np.int64)
