"""Kernel: crossings in order, from one that a trigger fires in to the next.

Crossings are independent. The number of filled crossings up to the next one with a pattern, or with a
`random` trigger, is drawn from a geometric distribution, so empty crossings take no time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trigemu.api import FloatArray, IntArray, inlined, inner, kernel

from .counts import AFTER, BEFORE, LOST, Counts
from .crossing_kernels import Beam, add, decide, fraction, judge, mixed
from .filling import ORBIT
from .patterns import Patterns


class Slots(NamedTuple):
    """slot: int64[f], the filled slots; of: int64[f], their classes in `Patterns`."""

    slot: IntArray
    of: IntArray


class Draws(NamedTuple):
    """What is drawn. random: int64[k], nodes; idle: float64[k + 1], log(1 − p) of patterns, and of each
    random trigger; next: int64[k + 1], the filled crossing of each next one; state: uint64[1], of the
    generator."""

    random: IntArray
    idle: FloatArray
    next: IntArray
    state: np.ndarray


@inlined
def _uniform(state: np.ndarray) -> float:
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return fraction(mixed(state[0]))


@inlined
def _gap(state: np.ndarray, idle: float) -> int:
    """Return the number of filled crossings up to the next one of a kind, at least 1."""
    steps = 1e15
    if idle < 0.0:
        steps = min(steps, math.log(1.0 - _uniform(state)) / idle)
    return 1 + int(steps)


@inlined
def _drawn(state: np.ndarray, keep: FloatArray, other: IntArray, of: int) -> int:
    """Draw a pattern by Walker's tables."""
    m = keep.shape[1]
    scaled = _uniform(state) * m
    number = min(int(scaled), m - 1)
    drawn: int = number if scaled - number < keep[of, number] else other[of, number]
    return drawn


@inner
def _end_part(counts: Counts, orbits: int) -> None:
    """Add the counts of a part of the time to the sums."""
    for row in range(counts.now.shape[1]):
        counts.now[LOST, row] = counts.now[BEFORE, row] - counts.now[AFTER, row]
        for what in range(LOST + 1):
            number = counts.now[what, row]
            counts.total[what, row] += number
            counts.squares[what, row] += float(number) * number
            counts.products[what, row] += float(number) * orbits
            counts.now[what, row] = 0


@kernel
def _run_part(beam: Beam, counts: Counts, patterns: Patterns, slots: Slots, draws: Draws, end: int) -> None:
    """Run up to the filled crossing `end`."""
    rows, links, code = beam.nodes.rows, beam.nodes.links, beam.nodes.code
    counters, steps = beam.counters.counters, beam.counters.steps
    accepted, stack, listed = beam.memory.accepted, beam.memory.stack, beam.memory.listed
    starts, fired, keep, other = patterns.starts, patterns.fired, patterns.keep, patterns.other
    following, state, filled, removed = draws.next, draws.state, len(slots.slot), beam.removed
    while True:
        y = following.min()
        if y >= end:
            break
        orbit = y // filled
        slot = slots.slot[y - orbit * filled]
        crossing = orbit * ORBIT + slot
        listed[-1] = number = 0
        for k in range(len(draws.random)):
            if following[k + 1] == y:
                following[k + 1] += _gap(state, draws.idle[k + 1])
                if not removed[draws.random[k]]:
                    add(rows, accepted, listed, draws.random[k])
        if following[0] == y:
            following[0] += _gap(state, draws.idle[0])
            number = _drawn(state, keep, other, slots.of[y - orbit * filled])
        for k in range(starts[number], starts[number + 1]):
            n = fired[k]
            if not removed[n] and decide(links, code, counters, steps, accepted, stack, n, crossing):
                add(rows, accepted, listed, n)
        if listed[-1]:
            judge(beam, counts, crossing, orbit, slot)
        for k in range(starts[number], starts[number + 1]):
            accepted[fired[k]] = False
        for k in range(len(draws.random)):
            accepted[draws.random[k]] = False


@kernel
def run_orbits(
    beam: Beam,
    counts: Counts,
    patterns: Patterns,
    slots: Slots,
    draws: Draws,
    edges: IntArray,
) -> None:
    """Run the orbits from the first edge to the last one, in parts between the edges."""
    for k in range(len(draws.next)):
        draws.next[k] = edges[0] * len(slots.slot) + _gap(draws.state, draws.idle[k]) - 1
    for part in range(len(edges) - 1):
        _run_part(beam, counts, patterns, slots, draws, edges[part + 1] * len(slots.slot))
        _end_part(counts, edges[part + 1] - edges[part])
