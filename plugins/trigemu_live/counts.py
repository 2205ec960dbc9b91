"""What is counted of crossings: accepts by trigger, rule, slot and distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray

from .filling import ORBIT
from .patterns import MenuArrays

#: The parts of an accept that its triggers share: divisible by every number up to 16, so that shares are
#: whole.
UNITS = 720_720
#: The numbers of accepts that are counted.
BEFORE, AFTER, UNIQUE_BEFORE, UNIQUE_AFTER, LOST = range(5)
#: Edges of intervals of the distance between accepts: eight to an octave, up to 2²⁷ crossings.
DISTANCES = np.unique(np.floor(2.0 ** (np.arange(8 * 27 + 1) / 8)).astype(np.int64))


class Counts(NamedTuple):
    """Numbers of accepts. Rows are t triggers, then groups, then levels; causes are the r rules, then "not
    accepted by the first level".

    now: int64[5, rows + r], in the current part of the time, and of the accepts of the first level that each
    rule vetoes; total: int64[5, rows + r], of all; squares and products: float64[5, rows + r], the sums over
    parts of their squares, and of them times the orbits of the part.
    lost: int64[rows, r + 1], by cause. because: int64[rows, t], by the trigger whose accept blocked, in
    `UNITS`. slots: int64[2, 3564], accepts of the first level before and after the rules; slot_lost:
    int64[r + 1, 3564]. distances: int64[d]. early: int64[2], accepts one crossing early, before and after.
    """

    now: IntArray
    total: IntArray
    squares: FloatArray
    products: FloatArray
    lost: IntArray
    because: IntArray
    slots: IntArray
    slot_lost: IntArray
    distances: IntArray
    early: IntArray


def new_counts(arrays: MenuArrays, rules: int) -> Counts:
    """Return empty counts."""
    rows, t = len(arrays.nodes.level_of), len(arrays.menu.enabled)
    return Counts(
        np.zeros((5, rows + rules), np.int64),
        np.zeros((5, rows + rules), np.int64),
        np.zeros((5, rows + rules)),
        np.zeros((5, rows + rules)),
        np.zeros((rows, rules + 1), np.int64),
        np.zeros((rows, t), np.int64),
        np.zeros((2, ORBIT), np.int64),
        np.zeros((rules + 1, ORBIT), np.int64),
        np.zeros(len(DISTANCES), np.int64),
        np.zeros(2, np.int64),
    )
