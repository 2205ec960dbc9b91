"""Test events for firmware: events of a sample, and rows at and next to the thresholds of the trees."""

from __future__ import annotations

import numpy as np

from trigemu.api import Features, FloatArray
from trigemu_anomaly import FixedEnsemble

from .project import Vectors

#: Largest number of events from the sample; they are evenly spread.
EVENTS = 200_000
#: Smallest number of rows of a project.
MIN_EVENTS = 100_000
#: Smallest number of rows generated around thresholds.
MIN_AROUND = 20_000
#: Number of rows for the simulation of VHDL, which takes about 1 ms each.
SIMULATED = 5_000


def make_vectors(fixed: FixedEnsemble, sample: Features) -> tuple[Vectors, int]:
    """Return shuffled rows with their words and scores, and the number of rows from the sample, float32[n,
    d]."""
    chosen = sample[np.linspace(0, len(sample) - 1, min(EVENTS, len(sample))).astype(np.int64)]
    generated = around(fixed, max(MIN_AROUND, MIN_EVENTS - len(chosen)))
    x = np.random.default_rng(1).permutation(np.concatenate([chosen, generated]))
    return Vectors(x, fixed.inputs(x), fixed.predict(x)), len(chosen)


def scaled(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return the scaled inputs, float64[n, d], exact; conifer's C++ converts them to the type of inputs."""
    values: FloatArray = np.ldexp(x.astype(np.float64), np.array(fixed.scales))
    return values


def around(fixed: FixedEnsemble, count: int) -> Features:
    """Return random combinations, float32[count, d], of thresholds, values within a step of them, and values
    at the ends of the type and beyond."""
    trees, step = fixed.ensemble, fixed.precision.input.step
    random = np.random.default_rng(0)
    columns = []
    for feature, scale in enumerate(fixed.scales):
        thresholds = np.unique(trees.threshold[trees.feature == feature])
        offsets = np.ldexp(np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * step, -scale)
        values = [np.add.outer(thresholds, offsets).ravel(), _ends(fixed, scale), np.zeros(1)]
        some = random.choice(np.concatenate(values).astype(np.float32), count)
        towards = random.choice(np.array([-np.inf, np.inf], np.float32), count)
        columns.append(np.where(random.random(count) < 0.5, some, np.nextafter(some, towards)))
    return np.column_stack(columns).astype(np.float32)


def _ends(fixed: FixedEnsemble, scale: int) -> FloatArray:
    """Return values at and beyond the ends of the type, as inputs before their scale."""
    type_ = fixed.precision.input
    span = type_.highest - type_.lowest
    ends = np.array([type_.lowest, type_.lowest - 0.3 * span, type_.highest, type_.highest + 0.3 * span])
    return ends * 2.0**-scale
