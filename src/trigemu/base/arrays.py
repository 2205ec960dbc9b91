"""The types of arrays that kernels and results hold."""

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
