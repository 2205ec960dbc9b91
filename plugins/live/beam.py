"""Beam time: independent beams of consecutive orbits, the same for any number of workers.

A beam has its own random numbers, from the seed and its number. Its prescale counters begin with it, and run
on to its end. With counters at random phases the time is that of several beams, so that their spread has that
of the phases; before each, orbits are run that are not counted, so that rules remember accepts as in a beam
that runs on. With counters at zero it is one beam, or one for each section of luminosity, without accepts
before it, and errors are from the spread of its parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from trigemu.api import BoolArray, IntArray, TrigemuError

from .beam_kernels import Draws, Slots, run_orbits
from .counts import Counts, new_counts
from .crossing_kernels import Beam, Early, new_memory
from .filling import ORBIT, Filling
from .menu_arrays import Counters, MenuArrays
from .patterns import Patterns
from .rule_kernels import RuleTable, longest_memory, new_state
from .rules import Rules

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
