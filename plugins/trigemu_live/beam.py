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
from typing import Literal

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words, splitmix64

from .filling import ORBIT, Filling
from .patterns import MenuArrays, Patterns
from .rules import SLOTS, Rules, RuleTable, apply_rules, longest_memory, new_state

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
        self._of_first = self.menu.members[self.menu.first]
        self._last = np.zeros((len(self._of_first), 1), np.bool_)  # the triggers of the accept before
        # The patterns in which a counter without seeds advances, bool[m], by its number, and those that may
        # accept whatever these counters say.
        self._advanced: dict[int, BoolArray] = {}
        self._sure = np.zeros(self.fires.shape[1], np.bool_)
        for number, counter in enumerate(self.menu.counters):
            rows = [self.menu.names.index(name) for name in counter.passes if name not in self.never]
            if counter.first < counter.last and not counter.reads:
                self._advanced[number] = np.asarray(self.fires[rows].any(axis=0))
            else:
                self._sure |= self.fires[rows].any(axis=0)

    def decide(self, pattern: IntArray, random: Mapping[str, BoolArray]) -> tuple[IntArray, BoolArray]:
        """Return the crossings with an accept before the rules, int64[k], and its triggers, bool[t, k], from
        patterns int64[n], and where triggers accept that are drawn by themselves."""
        some, passes = self._sure[pattern], {}
        for number, fires in self._advanced.items():
            passes[number] = self._advance(number, np.flatnonzero(fires[pattern]))
            some[passes[number][0]] = True
        for drawn in random.values():
            some |= drawn
        kept = np.flatnonzero(some)
        pattern, accepts = pattern[kept], {name: drawn[kept] for name, drawn in random.items()}
        for number, counter in enumerate(self.menu.counters):
            fired = {}
            for name in counter.passes:
                trigger = self.menu.menu.trigger(name)
                fired[name] = self.fires[self.menu.names.index(name)][pattern] & (name not in self.never)
                if trigger.seed and trigger.enabled:
                    fired[name] &= trigger.seed.evaluate(accepts)
            passed = np.zeros(len(kept), np.int64)
            if number in passes:
                crossings, steps = passes[number]
                passed[np.searchsorted(kept, crossings)] = steps
            elif counter.first < counter.last:
                crossings, steps = self._advance(number, np.flatnonzero(np.any([*fired.values()], axis=0)))
                passed[crossings] = steps
            accepts |= {name: fired[name] & (passed >= least) for name, least in counter.passes.items()}
        accepted = np.array([accepts[trigger.name] for trigger in self.menu.menu.enabled])
        any_of = np.flatnonzero(accepted.any(axis=0))
        return kept[any_of], accepted[:, any_of]

    def _advance(self, number: int, crossings: IntArray) -> tuple[IntArray, IntArray]:
        """Advance a counter in crossings in which its triggers fire, int64[n]; return those that it accepts,
        int64[k], and by how many of its steps."""
        counter, accepts = self.menu.counters[number], np.arange(len(crossings))
        passed = np.zeros(len(crossings), np.int64)
        for step in range(counter.first, counter.last):
            (part, full), before = self.menu.steps[step].tolist(), int(self.phase[step])
            turns, self.phase[step] = divmod(before + part * len(accepts), full)
            accepts = accepts[-((before - full * np.arange(1, turns + 1)) // part) - 1]
            passed[accepts] += 1
        accepts = np.flatnonzero(passed)
        return crossings[accepts], passed[accepts]

    def count(self, counts: Counts, part: int, crossing: IntArray, accepted: BoolArray) -> IntArray:
        """Apply the rules to accepts, bool[t, k], count them, and return the cause of each loss, or −1."""
        rows, rules = len(self.menu.members), len(self.table.kind)
        at = np.flatnonzero(accepted[self._of_first].any(axis=0))
        early, last_live = self._early(crossing[at], accepted[:, at]), int(self._rules.numbers[1])
        has_early: BoolArray = np.asarray(early.any(axis=0))
        vetoed, blocker, live = (np.empty(n, np.int64) for n in (len(at), len(at), 2 * len(at)))
        how = self.table, self._rules, crossing[at], has_early
        n, *numbers, last = apply_rules(*how, vetoed, blocker, live)
        counts.early += numbers
        distances = np.diff(live[:n] if last_live < 0 else np.append(last_live, live[:n]))
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
        is_inside = inside > 0
        unique = is_inside & (inside == inside[self.menu.level_of])
        lost = np.flatnonzero(cause >= 0)
        for what, columns in ((BEFORE, is_inside), (UNIQUE_BEFORE, unique)):
            before = columns.sum(axis=1)
            now[what, :rows] += before
            now[what + 1, :rows] += before - columns[:, lost].sum(axis=1)
        np.add.at(counts.lost.T, cause[lost], is_inside[:, lost].T)
        blocked = is_vetoed & (self.table.kind[vetoed] != SLOTS) if rules else is_vetoed
        share = blockers[:, blocker[blocked]]
        whole, rest = np.divmod(UNITS, np.maximum(share.sum(axis=0), 1))  # the first ones have the rest
        parts = share * (whole + (np.cumsum(share, axis=0) <= rest))
        because = is_inside[:, at[blocked]].astype(np.float64) @ parts.T.astype(np.float64)
        counts.because += because.astype(np.int64)
        return cause

    def _early(self, crossing: IntArray, accepted: BoolArray) -> BoolArray:
        """Return the triggers that accept the crossing before as well, by chance, bool[t, k]."""
        early, prefire = np.zeros(accepted.shape, np.bool_), self.rules.prefire
        if prefire is None or prefire.prefire is None:
            return early
        for row, trigger in enumerate(self.menu.menu.enabled):
            if self._of_first[row] and (prefire.triggers is None or trigger.name in prefire.triggers):
                node = np.uint64(self.menu.names.index(trigger.name))
                hashed = splitmix64(splitmix64(self.salt ^ crossing.astype(np.uint64)) + node)
                early[row] = accepted[row] & (fraction(hashed) < prefire.prefire)
        return early


#: The step of SplitMix64 between two numbers.
GOLDEN = 0x9E3779B97F4A7C15


def fraction(hashed: Words) -> FloatArray:
    """Return numbers from 0 to below 1 from random unsigned integers."""
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform(state: int, first: int, n: int) -> FloatArray:
    """Return n uniform random numbers, from the number `first` on of those that follow from a state, by
    SplitMix64."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    return fraction(splitmix64(steps + np.uint64((state + first * GOLDEN) % 2**64)))


class Process:
    """Crossings that occur by chance, each with a further random number."""

    def __init__(self, chance: float, state: int) -> None:
        self._idle = math.log1p(-chance) if chance < 1 else -math.inf
        self._chance, self._state, self._used, self._next = chance, state, 0, 0

    def _gaps(self, numbers: FloatArray) -> IntArray:
        """Return numbers of filled crossings up to the next one, at least 1."""
        gaps: IntArray = 1 + np.minimum(np.log(1.0 - numbers) / self._idle, 1e15).astype(np.int64)
        return gaps

    def begin(self, first: int) -> None:
        """Begin at a filled crossing."""
        if self._chance > 0:
            self._next = first + int(self._gaps(uniform(self._state, self._used, 1))[0]) - 1
            self._used += 1

    def until(self, end: int) -> tuple[IntArray, FloatArray]:
        """Return the filled crossings before `end`, int64[n], and a random number for each, float64[n]."""
        parts: list[tuple[IntArray, FloatArray]] = [(np.zeros(0, np.int64), np.zeros(0))]
        while self._chance > 0 and self._next < end:
            expected = (end - self._next) * self._chance
            most = int(expected + 4 * math.sqrt(expected)) + 8
            drawn = uniform(self._state, self._used, 2 * most)
            crossings = np.cumsum(np.append(self._next, self._gaps(drawn[::2])))
            n = int(np.searchsorted(crossings[:-1], end))
            parts.append((crossings[:n], drawn[1 : 2 * n : 2]))
            self._next = int(crossings[n])
            self._used += 2 * n
        crossings, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return crossings, numbers


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
