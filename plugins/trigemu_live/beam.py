"""Beam time: independent beams of consecutive orbits, the same for any number of workers.

A beam has its own random numbers, from the seed and its number. Its prescale counters begin with it, and run
on to its end. With counters at random phases the time is that of several beams, so that their spread has that
of the phases; before each, orbits are run that are not counted, so that rules remember accepts as in a beam
that runs on. With counters at zero it is one beam, or one for each section of luminosity, without accepts
before it, and errors are from the spread of its parts.

Crossings are drawn and decided in blocks, seeds as columns of booleans. Prescale counters come before the
rules, as in hardware: an accept that is vetoed has been counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words, splitmix64
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import kernel

from .filling import ORBIT, Filling
from .patterns import MenuArrays, Patterns
from .rules import Rules
from .vetoes import SLOTS, RuleTable, apply_rules, longest_memory, new_state

#: The parts of an accept that its triggers share: divisible by every number up to 16, so that shares are
#: whole.
UNITS = 720_720
#: The numbers of accepts that are counted in each part of the time.
BEFORE, AFTER, UNIQUE_BEFORE, UNIQUE_AFTER = range(4)
#: Edges of intervals of the distance between accepts: eight to an octave, up to 2²⁷ crossings.
DISTANCES = np.unique(np.floor(2.0 ** (np.arange(8 * 27 + 1) / 8)).astype(np.int64))
#: Where prescale counters begin: at random, at zero at first, or at zero in each section of luminosity.
Start = Literal["random", "zero", "section"]
#: Orbits in a section of luminosity: 23.3 s, as in CMS.
SECTION = 2**18
#: The parts of the time from whose spread errors follow: an error is then known to 1 / √(2 · 31) = 13 %.
PARTS = 32
#: Crossings with a trigger that are decided together: their columns stay in the cache of a core.
BLOCK = 2**15


class Counts:
    """Accepts before and after the rules. Rows are t triggers, then groups, then levels; causes are the r
    rules, then "not accepted by the first level"."""

    def __init__(self, menu: MenuArrays, rules: int, parts: int = 1) -> None:
        rows, t = menu.members.shape
        #: int64[p, 4, rows + r], by part of the time; of each rule, the accepts of the first level it vetoes.
        self.parts = np.zeros((parts, 4, rows + rules), np.int64)
        self.lost = np.zeros((rows, rules + 1), np.int64)  #: By cause
        self.because = np.zeros((rows, t), np.int64)  #: By the trigger whose accept blocked, in `UNITS`
        self.slots = np.zeros((2, ORBIT), np.int64)  #: Accepts of the first level before and after the rules
        self.slot_lost = np.zeros((rules, ORBIT), np.int64)
        self.distances = np.zeros(len(DISTANCES), np.int64)
        self.early = np.zeros(2, np.int64)  #: Accepts one crossing early, before and after the rules

    @property
    def total(self) -> IntArray:
        """int64[4, rows + r], of all parts."""
        total: IntArray = self.parts.sum(axis=0)
        return total

    def __iadd__(self, other: Counts) -> Counts:
        for name, sums in vars(self).items():
            if name != "parts":
                sums += vars(other)[name]
        self.parts = np.concatenate([self.parts, other.parts])
        return self


@dataclass
class State:
    """What one beam remembers between crossings: prescale counters, and the accepts that rules look at."""

    menu: MenuArrays
    fires: BoolArray  # bool[n, m], the triggers in each pattern
    rules: Rules
    table: RuleTable
    never: frozenset[str]  # Triggers that never accept
    salt: np.uint64  # Of the random numbers of early triggers, by crossing and trigger only

    def __post_init__(self) -> None:
        self.phase = np.zeros(len(self.menu.steps), np.int64)  # of each step
        self._rules = new_state(self.table)
        t = len(self.menu.menu.enabled)
        self._of_first = self.menu.members[self.menu.level_of.min()]
        self._last = np.zeros((t, 1), np.bool_)  # the triggers of the accept before
        self._row = {name: k for k, name in enumerate(self.menu.names) if name not in self.never}
        rows = [[self._row[name] for name in c.passes if name in self._row] for c in self.menu.counters]
        advances = np.array([self.fires[of_counter].any(axis=0) for of_counter in rows])
        self._unseeded = np.array([not c.reads and c.first < c.last for c in self.menu.counters])
        # Whether a pattern may accept whatever these counters say, and those of them that it advances.
        self._sure: BoolArray = np.asarray(advances[~self._unseeded].any(axis=0))
        advanced = advances & self._unseeded[:, None]
        starts = np.concatenate([[0], np.cumsum(advanced.sum(axis=0))]).astype(np.int64)
        self._advanced = starts, np.nonzero(advanced.T)[1].astype(np.int64)

    def decide(self, number: IntArray, random: Mapping[str, BoolArray]) -> tuple[IntArray, BoolArray]:
        """Return the crossings with an accept before the rules, int64[k], and its triggers, bool[t, k], from
        patterns int64[crossings], and where triggers accept that are drawn by themselves."""
        at, counter, depth = self._advance(number, *self._advanced)
        some = self._sure[number]
        some[at] = True
        for accepts in random.values():
            some |= accepts
        kept = np.flatnonzero(some)
        at, number = np.searchsorted(kept, at), number[kept]
        columns = {name: accepts[kept] for name, accepts in random.items()}
        for k, of in enumerate(self.menu.counters):
            seen = {}
            for name in of.passes:
                trigger = self.menu.menu.trigger(name)
                row = self._row.get(name)
                seen[name] = np.zeros(len(kept), np.bool_) if row is None else self.fires[row][number]
                if trigger.seed and trigger.enabled:
                    seen[name] &= trigger.seed.evaluate(columns)
            passed = np.zeros(len(kept), np.int64)
            if self._unseeded[k]:
                passed[at[counter == k]] = depth[counter == k]
            elif of.first < of.last:
                fired = np.logical_or.reduce([*seen.values()]).astype(np.int64)
                own, _, own_depth = self._advance(fired, np.array([0, 0, 1]), np.array([k]))
                passed[own] = own_depth
            columns |= {name: seen[name] & (passed >= least) for name, least in of.passes.items()}
        accepted = np.array([columns[trigger.name] for trigger in self.menu.menu.enabled])
        any_of = accepted.any(axis=0)
        return kept[any_of], accepted[:, any_of]

    def _advance(self, number: IntArray, starts: IntArray, counter: IntArray) -> IntArray:
        """Advance the counters of the pattern of each crossing; see `_advance_counters`."""
        accepts = np.empty((3, int(np.diff(starts)[number].sum())), np.int64)
        ends = np.array([(c.first, c.last) for c in self.menu.counters], np.int64).reshape(-1, 2)
        n = _advance_counters(number, starts, counter, ends, self.menu.steps, self.phase, accepts)
        return accepts[:, :n]

    def count(self, counts: Counts, part: int, crossing: IntArray, accepted: BoolArray) -> IntArray:
        """Apply the rules to accepts, bool[t, k], count them, and return the cause of each loss, or −1."""
        rows, rules = len(self.menu.members), len(self.table.kind)
        at = np.flatnonzero(accepted[self._of_first].any(axis=0))
        early, before = self._early(crossing[at], accepted[:, at]), int(self._rules.numbers[1])
        has_early: BoolArray = np.asarray(early.any(axis=0))
        vetoed, blocker, live = (np.empty(n, np.int64) for n in (len(at), len(at), 2 * len(at)))
        how = self.table, self._rules, crossing[at], has_early
        n, *numbers, last = apply_rules(*how, vetoed, blocker, live)
        counts.early += numbers
        distances = np.diff(live[:n] if before < 0 else np.append(before, live[:n]))
        interval = np.searchsorted(DISTANCES, distances, side="right") - 1
        counts.distances += np.bincount(interval, minlength=len(DISTANCES))
        blockers = np.hstack([accepted[:, at] & self._of_first[:, None], early, self._last])
        self._last = blockers[:, [last]]
        slot, is_vetoed = crossing[at] % ORBIT, vetoed >= 0
        counts.slots += [np.bincount(slots, minlength=ORBIT) for slots in (slot, slot[~is_vetoed])]
        np.add.at(counts.slot_lost, (vetoed[is_vetoed], slot[is_vetoed]), 1)
        now = counts.parts[part]
        now[BEFORE, rows:] += np.bincount(vetoed[is_vetoed], minlength=rules)
        cause = np.full(len(crossing), rules)
        cause[at] = vetoed
        joint = self.menu.members[len(accepted) :]  # groups and levels
        inside = np.vstack([accepted, *(accepted[members].sum(axis=0, dtype=np.int16) for members in joint)])
        is_inside, is_live = inside > 0, cause < 0
        unique = is_inside & (inside == inside[self.menu.level_of])
        for what, columns in ((BEFORE, is_inside), (UNIQUE_BEFORE, unique)):
            now[what, :rows] += columns.sum(axis=1)
            now[what + 1, :rows] += columns[:, is_live].sum(axis=1)
        for number in range(rules + 1):
            counts.lost[:, number] += is_inside[:, cause == number].sum(axis=1)
        blocked = is_vetoed & (self.table.kind[vetoed] != SLOTS) if rules else is_vetoed
        share = blockers[:, blocker[blocked]]
        whole, rest = np.divmod(UNITS, np.maximum(share.sum(axis=0), 1))  # the first ones have the rest
        parts = share * (whole + (np.cumsum(share, axis=0) <= rest))
        lost = is_inside[:, at[blocked]].astype(np.float64) @ parts.T.astype(np.float64)
        counts.because += lost.astype(np.int64)
        return cause

    def _early(self, crossing: IntArray, accepted: BoolArray) -> BoolArray:
        """Return the triggers that accept the crossing before as well, by chance, bool[t, k]."""
        early, prefire = np.zeros(accepted.shape, np.bool_), self.rules.prefire
        for row, trigger in enumerate(self.menu.menu.enabled if prefire else ()):
            assert prefire is not None
            if self._of_first[row] and (prefire.triggers is None or trigger.name in prefire.triggers):
                node = np.uint64(self.menu.names.index(trigger.name))
                hashed = splitmix64(splitmix64(self.salt ^ crossing.astype(np.uint64)) + node)
                early[row] = accepted[row] & (fraction(hashed) < prefire.prefire)
        return early


@kernel
def _advance_counters(
    number: IntArray,
    starts: IntArray,
    counter: IntArray,
    ends: IntArray,
    steps: IntArray,
    phase: IntArray,
    accepts: IntArray,
) -> int:
    """Advance the counters counter[starts[p] : starts[p + 1]] of the pattern p of each crossing; set the
    first n of accepts, int64[3, a]: the crossing, the counter, and how many steps accept; return n."""
    n = 0
    for at in range(len(number)):
        for k in range(starts[number[at]], starts[number[at] + 1]):
            depth = 0
            for step in range(ends[counter[k], 0], ends[counter[k], 1]):
                phase[step] += steps[step, 0]
                if phase[step] < steps[step, 1]:
                    break
                phase[step] -= steps[step, 1]
                depth += 1
            if depth:
                accepts[0, n], accepts[1, n], accepts[2, n] = at, counter[k], depth
                n += 1
    return n


#: The step of SplitMix64 between two numbers.
GOLDEN = 0x9E3779B97F4A7C15


def fraction(hashed: Words) -> FloatArray:
    """Return numbers from 0 to below 1 from random unsigned integers."""
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Uniform:
    """Uniform random numbers from a state, by SplitMix64."""

    def __init__(self, state: int) -> None:
        self._state = state

    def draw(self, n: int) -> FloatArray:
        """Return the next n numbers."""
        steps = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        numbers = fraction(splitmix64(steps + np.uint64(self._state)))
        self.back(-n)
        return numbers

    def back(self, n: int) -> None:
        """Give the last n numbers back."""
        self._state = (self._state - n * GOLDEN) % 2**64


class Process:
    """Crossings that occur by chance, each with a further random number."""

    def __init__(self, chance: float, state: int) -> None:
        self._idle = math.log1p(-chance) if chance < 1 else -math.inf
        self._chance, self._uniform, self._next = chance, Uniform(state), 0

    def begin(self, first: int) -> None:
        """Begin at a filled crossing."""
        if self._chance > 0:
            self._next = first + int(self._gaps(self._uniform.draw(1))[0]) - 1

    def _gaps(self, uniform: FloatArray) -> IntArray:
        """Return numbers of filled crossings up to the next one, at least 1."""
        gaps: IntArray = 1 + np.minimum(np.log(1.0 - uniform) / self._idle, 1e15).astype(np.int64)
        return gaps

    def until(self, end: int) -> tuple[IntArray, FloatArray]:
        """Return the filled crossings before `end`, int64[n], and a random number for each, float64[n]."""
        parts: list[tuple[IntArray, FloatArray]] = [(np.zeros(0, np.int64), np.zeros(0))]
        while self._chance > 0 and self._next < end:
            expected = (end - self._next) * self._chance
            most = int(expected + 4 * math.sqrt(expected)) + 8
            drawn = self._uniform.draw(2 * most)
            crossings = np.cumsum(np.append(self._next, self._gaps(drawn[::2])))
            n = int(np.searchsorted(crossings[:-1], end))
            parts.append((crossings[:n], drawn[1 : 2 * n : 2]))
            self._next = int(crossings[n])
            self._uniform.back(2 * (most - n))
        crossings, uniform = (np.concatenate(part) for part in zip(*parts, strict=True))
        return crossings, uniform


@dataclass(frozen=True)
class Beam:
    """The menu, filling scheme, rules and seed of a simulation."""

    menu: MenuArrays
    patterns: Patterns
    filling: Filling
    class_of: IntArray  # int64[f], the class of each filled slot in `patterns`
    rules: Rules
    table: RuleTable
    without: frozenset[str]  # Triggers that never accept
    factor: float  # On all rates
    start: Start
    seed: int
    orbits: int

    @cached_property
    def edges(self) -> IntArray:
        """int64[p + 1], the first orbit of each part, and the end of the last one."""
        edges = np.arange(PARTS + 1) * self.orbits // PARTS
        return np.union1d(edges, np.arange(0, self.orbits, SECTION)) if self.start == "section" else edges

    def run(self, workers: int = 1) -> Counts:
        """Run the beams in threads (kernels and NumPy release the GIL), and return the sums of counts."""
        if self.start == "random":
            beams = [self.edges[part : part + 2] for part in range(PARTS)]
        else:
            length = SECTION if self.start == "section" else self.orbits
            firsts = np.searchsorted(self.edges, np.arange(0, self.orbits, length))
            beams = [self.edges[a : b + 1] for a, b in pairwise([*firsts.tolist(), len(self.edges) - 1])]
        with ThreadPoolExecutor(workers) as pool:
            each: Iterator[Counts] = (pool.map if workers > 1 else map)(self._beam, range(len(beams)), beams)
            total = next(each)
            for counts in each:
                total += counts
        return total

    def _beam(self, number: int, edges: IntArray) -> Counts:
        """Run one beam."""
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(number,))))
        salt, first = rng.integers(0, 2**64, 2, np.uint64)
        state = State(self.menu, self.patterns.fires, self.rules, self.table, self.without, salt)
        lead = 0
        if self.start == "random":
            state.phase[:] = rng.integers(0, self.menu.steps[:, 1])
            lead = min(-(-longest_memory(self.table) // ORBIT), int(edges[1] - edges[0]))
        processes = {"": Process(self.patterns.chance, int(first))}
        for name, chance in self.menu.random.items():
            of = int(rng.integers(0, 2**64, dtype=np.uint64))
            processes[name] = Process(0.0 if name in self.without else min(chance * self.factor, 1.0), of)
        if lead:
            not_counted = Counts(self.menu, len(self.rules.rules))
            self._orbits(state, not_counted, processes, edges[0] + np.array([0, lead]))
        counts = Counts(self.menu, len(self.rules.rules), len(edges) - 1)
        self._orbits(state, counts, processes, edges + lead)
        return counts

    def _orbits(
        self, state: State, counts: Counts, processes: Mapping[str, Process], edges: IntArray
    ) -> None:
        """Run the orbits from the first edge to the last one, in parts between the edges."""
        filled = len(self.filling.slots)
        for process in processes.values():
            process.begin(int(edges[0]) * filled)
        for part, (first, last) in enumerate(pairwise((edges * filled).tolist())):
            blocks = 1 + int((last - first) * self.patterns.chance / BLOCK)
            for block in range(1, blocks + 1):
                end = first + (last - first) * block // blocks
                drawn = {name: process.until(end) for name, process in processes.items()}
                y, uniform = drawn.pop("")
                k = y % filled if len(self.patterns.keep) > 1 else None
                number = self.patterns.drawn(uniform, 0 if k is None else self.class_of[k])
                random = {}
                if drawn:
                    own, y = y, np.unique(np.concatenate([y, *(at for at, _ in drawn.values())]))
                    patterns, number = number, np.zeros(len(y), np.int64)
                    number[np.searchsorted(y, own)] = patterns
                    random = {name: np.isin(y, at, assume_unique=True) for name, (at, _) in drawn.items()}
                kept, accepted = state.decide(number, random)
                orbit, slot = np.divmod(y[kept], filled)
                state.count(counts, part, orbit * ORBIT + self.filling.slots[slot], accepted)


def check_start(start: str) -> None:
    """Raise TrigemuError for an unknown start of counters."""
    if start not in get_args(Start):
        raise TrigemuError(f"counters {start!r}: expected one of {', '.join(get_args(Start))}")
