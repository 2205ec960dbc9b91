"""Kernel: accepts of independent crossings through rules."""

from __future__ import annotations

import math

import numpy as np

from trigemu.api import FloatArray, IntArray, kernel

from .crossing_kernels import fraction, mixed
from .filling import ORBIT, Filling
from .rule_kernels import RuleState, RuleTable, accept, new_state, vetoed_by


def accepts_of(
    table: RuleTable, filling: Filling, chance: float, attempts: int, batches: int, seed: int
) -> IntArray:
    """Return the number of accepts that the rules allow in each batch, int64[batches]."""
    live = np.zeros(batches, np.int64)
    luminosity = np.ones(len(filling.slots)) if filling.luminosity is None else filling.luminosity
    largest = min(1.0, chance * float(luminosity.max()))
    state = np.array([np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]])
    idle = math.log1p(-largest) if largest < 1.0 else -math.inf
    kept = np.minimum(chance * luminosity, 1.0) / largest
    _run_accepts(table, new_state(table), filling.slots, kept, idle, state, attempts // batches, live)
    return live


@kernel
def _run_accepts(
    table: RuleTable,
    rules: RuleState,
    slots: IntArray,
    kept: FloatArray,
    idle: float,
    state: np.ndarray,
    size: int,
    live: IntArray,
) -> None:
    """Draw `size` accepts for each batch, one in so many filled crossings; kept: float64[f], the fraction
    that counts in each filled slot."""
    y = -1
    for batch in range(len(live)):
        done = 0
        while done < size:
            state[0] += np.uint64(0x9E3779B97F4A7C15)
            y += 1 + int(math.log(1.0 - fraction(mixed(state[0]))) / idle)
            orbit = y // len(slots)
            at = y - orbit * len(slots)
            state[0] += np.uint64(0x9E3779B97F4A7C15)
            if fraction(mixed(state[0])) >= kept[at]:
                continue
            done += 1
            crossing = orbit * ORBIT + slots[at]
            if vetoed_by(table, rules, crossing, orbit, slots[at]) < 0:
                accept(table, rules, crossing)
                live[batch] += 1
