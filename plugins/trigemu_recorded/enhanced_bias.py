"""The probability that triggers with prescales collect an event.

An event is collected if any trigger accepts it: trigger t, with raw decision d_t and prescale PS_t, accepts
with probability a_t = d_t / PS_t, independently of the others unless they share a counter:

    P = 1 − Π over counters C (1 − max of a_t, t in C)

Each event that was collected stands for 1/P that the experiment saw. With the weight 1/P the sum over
collected events of f is an unbiased estimate of the sum of f over all, and, since crossings are collected
independently, Σ (f/P)² is its variance: errors of rates, which are Σw², need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray


def collected(triggers: Iterable[tuple[int, BoolArray, FloatArray]], n: int) -> FloatArray:
    """Return the probability that each event is collected, float64[n]; 0 if no trigger explains it.

    triggers: of each the number of its counter, its raw decisions bool[n], and one over its prescale when the
    event was taken, float64[n], 0 if it was off. Triggers that share a counter follow one another.
    """
    lost = np.ones(n)
    for _, sharing in groupby(triggers, itemgetter(0)):
        best = np.zeros(n)
        for _, fired, accept in sharing:
            np.maximum(best, accept, out=best, where=fired)
        lost *= 1.0 - best
    return 1.0 - lost
