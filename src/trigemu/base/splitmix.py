"""SplitMix64, a hash of integers (Steele, Lea and Flood, doi:10.1145/2660193.2660195)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]


def splitmix64(numbers: Numbers) -> Numbers:
    """Hash integers: one step of the generator for each. numbers: uint64[n]; returns uint64[n]."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
