"""Beam time: independent beams of consecutive orbits, the same for any number of workers.

A beam has its own random numbers, from the seed and its number. Its prescale counters begin with it, and run
on to its end. With counters at random phases the time is that of several beams, so that their spread has that
of the phases; before each, orbits are run that are not counted, so that rules remember accepts as in a beam
that runs on. With counters at zero it is one beam, or one for each section of luminosity, without accepts
before it, and errors are from the spread of its parts.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import inlined, inner, kernel

from .counts import AFTER, BEFORE, LOST, Counts, new_counts
from .crossing_kernels import (
    Beam,
    Early,
    RuleTable,
    add,
    decide,
    fraction,
    judge,
    longest_memory,
    mixed,
    new_memory,
    new_state,
)
from .filling import ORBIT, Filling
from .patterns import Counters, MenuArrays, Patterns
from .rules import Rules


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
def _drawn(state: np.ndarray, keep: FloatArray, other: IntArray, total: int) -> int:
    """Draw a pattern by Walker's tables."""
    m = keep.shape[1]
    scaled = _uniform(state) * m
    number = min(int(scaled), m - 1)
    drawn: int = number if scaled - number < keep[total, number] else other[total, number]
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


#: Where prescale counters begin: at random, at zero at first, or at zero in each section of luminosity.
Start = Literal["random", "zero", "section"]
#: Orbits in a section of luminosity: 23.3 s, as in CMS.
SECTION = 2**18
#: The parts of the time from whose spread errors follow: an error is then known to 1 / √(2 · 31) = 13 %.
PARTS = 32


@dataclass(frozen=True)
class Setup:
    """What is run. removed: bool[n], the nodes that never accept; of: int64[f], the class of each filled
    slot."""

    arrays: MenuArrays
    patterns: Patterns
    filling: Filling
    of: IntArray
    rules: Rules
    table: RuleTable
    removed: BoolArray
    factor: float
    start: Start
    seed: int
    orbits: int

    @cached_property
    def edges(self) -> IntArray:
        """int64[p + 1], the first orbit of each part, and the end of the last one."""
        edges = np.arange(PARTS + 1) * self.orbits // PARTS
        return np.union1d(edges, np.arange(0, self.orbits, SECTION)) if self.start == "section" else edges

    @property
    def beams(self) -> list[IntArray]:
        """The edges of the parts of each beam."""
        if self.start == "random":
            return [self.edges[part : part + 2] for part in range(PARTS)]
        length = SECTION if self.start == "section" else self.orbits
        firsts = np.searchsorted(self.edges, np.arange(0, self.orbits, length))
        return [self.edges[a : b + 1] for a, b in pairwise([*firsts.tolist(), len(self.edges) - 1])]


def check_start(start: str) -> None:
    """Raise TrigemuError for an unknown start of counters."""
    if start not in get_args(Start):
        raise TrigemuError(f"counters {start!r}: expected one of {', '.join(get_args(Start))}")


def run(setup: Setup, workers: int = 1) -> Counts:
    """Run all beams, and return the sums of their counts."""
    total: Counts | None = None
    for counts in _each(setup, workers):
        if total is None:
            total = counts
        else:
            for sums, part in zip(total, counts, strict=True):
                np.add(sums, part, out=sums)
    assert total is not None
    return total


def _each(setup: Setup, workers: int) -> Iterator[Counts]:
    """Yield the counts of each beam in order; threads suffice, because kernels release the GIL."""
    if workers == 1:
        yield from (_beam(setup, *beam) for beam in enumerate(setup.beams))
        return
    waiting = deque(enumerate(setup.beams))
    running: deque[Future[Counts]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        while waiting or running:
            while waiting and len(running) < 2 * workers:
                running.append(pool.submit(_beam, setup, *waiting.popleft()))
            yield running.popleft().result()


def _beam(setup: Setup, number: int, edges: IntArray) -> Counts:
    """Run one beam."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(setup.seed, spawn_key=(number,))))
    salt, state = rng.integers(0, 2**64, 2, np.uint64)
    beam = beam_of(setup.arrays, setup.rules, setup.table, setup.removed, salt)
    counts = new_counts(setup.arrays, len(setup.rules.rules))
    random = np.minimum(setup.arrays.chance * setup.factor, 1.0)
    with np.errstate(divide="ignore"):  # a probability of 1
        idle = np.log1p(-np.append(setup.patterns.chance, random))
    draws = Draws(setup.arrays.random, idle, np.zeros(len(idle), np.int64), np.array([state]))
    slots = Slots(setup.filling.slots, setup.of)
    if setup.start == "random":
        beam.counters.steps[:, 2] = rng.integers(0, beam.counters.steps[:, 1])
        lead = min(-(-longest_memory(setup.table) // ORBIT), int(edges[1] - edges[0]))
        if lead:
            not_counted = new_counts(setup.arrays, len(setup.rules.rules))
            run_orbits(beam, not_counted, setup.patterns, slots, draws, edges[0] + np.array([0, lead]))
            edges = edges + lead
    run_orbits(beam, counts, setup.patterns, slots, draws, edges)
    return counts


def beam_of(arrays: MenuArrays, rules: Rules, table: RuleTable, removed: BoolArray, salt: np.uint64) -> Beam:
    """Return what the first crossing needs: no accept before it, and counters at zero."""
    first_level = int(arrays.nodes.level_of.min(initial=len(arrays.nodes.level_of)))
    prefire = rules.prefire
    named = prefire.triggers if prefire and prefire.triggers is not None else arrays.names
    may = np.array([name in named for name in arrays.names], np.bool_)
    early = Early(
        may & (arrays.nodes.rows[:, 2] == first_level),
        np.array([prefire.prefire if prefire else 0.0]),
        np.array([salt]),
    )
    counters = Counters(arrays.counters.counters.copy(), arrays.counters.steps.copy())
    memory = new_memory(arrays)
    return Beam(
        arrays.nodes, counters, table, new_state(table), memory, early, removed, np.array([first_level])
    )
