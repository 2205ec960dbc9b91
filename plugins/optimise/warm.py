"""Compile the kernels of a search in advance, for `trigemu warm`."""

from __future__ import annotations

import numpy as np

from trigemu.api import Emulation

from .kernels import Layout, Rows, missed_sums


def warm(emulation: Emulation) -> None:
    """Compile the kernels on a row."""
    zero, one = np.zeros(1, np.int64), np.ones((1, 1))
    rows = Rows(
        np.zeros((1, 1), np.uint8),
        np.zeros(2, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.int32),
        np.zeros((0, 1), np.uint8),
        one,
    )
    layout = Layout(zero, np.ones((1, 1), np.bool_), zero, zero.reshape(1, 1), zero)
    covered = np.zeros(1, np.uint8)
    breaks, sums = np.zeros((2, 3), np.int64), np.zeros((1, 2, 2))
    missed_sums(rows, np.ones(1), layout, zero, one, -1, -1, covered, breaks, sums)
