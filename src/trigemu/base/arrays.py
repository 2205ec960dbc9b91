"""The types of arrays that kernels and results hold, and a hash of integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: An array of any type.
Array = npt.NDArray[np.generic]
#: float64.
FloatArray = npt.NDArray[np.float64]
#: int64.
IntArray = npt.NDArray[np.int64]
#: bool.
BoolArray = npt.NDArray[np.bool_]
#: Decision bits, 64 triggers a word: uint64[n, words].
Words = npt.NDArray[np.uint64]


def splitmix64(numbers: Words) -> Words:
    """Hash integers, uint64[n], by one step of SplitMix64 for each (Steele, Lea and Flood,
    doi:10.1145/2660193.2660195)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
