"""Beam time: independent beams of consecutive orbits, the same for any number of workers.

A beam has its own random numbers, from the seed and its number. Its prescale counters begin with it, and run
on to its end. With counters at random phases the time is that of several beams, so that their spread has that
of the phases; before each, orbits are run that are not counted, so that rules remember accepts as in a beam
that runs on. With counters at zero it is one beam without accepts before it, and errors are from the spread
of its parts.

Crossings are drawn and decided in blocks, seeds as columns of booleans. Prescale counters come before the
rules, as in hardware: an accept that is vetoed has been counted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.menus.menu import Menu

from .filling import ORBIT, Filling
from .patterns import MenuArrays, Patterns
from .rules import SLOTS, Rules, Veto, apply_rules, uniform, veto_of

#: The parts of an accept that its triggers share: divisible by every number up to 16, so that shares are
#: whole.
UNITS = 720_720
#: The numbers of accepts that are counted in each part of the time.
BEFORE, AFTER, UNIQUE_BEFORE, UNIQUE_AFTER = range(4)
#: What a crossing is lost by that the first level does not accept.
NOT_ACCEPTED = "first level"
#: Edges of intervals of the distance between accepts: eight to an octave, up to 2²⁷ crossings.
DISTANCES = np.unique(np.floor(2.0 ** (np.arange(8 * 27 + 1) / 8)).astype(np.int64))
#: Where prescale counters begin: at random in each of several beams, or at zero in one.
Start = Literal["random", "zero"]
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

    def causes(self, row: int, rules: Sequence[str], menu: Menu) -> dict[str, Any]:
        """Return the lost accepts of a row by rule, `lost`, and by the trigger that blocked, `because`."""
        lost = zip([*rules, NOT_ACCEPTED], self.lost[row].tolist(), strict=True)
        parts = zip([trigger.name for trigger in menu.enabled], self.because[row].tolist(), strict=True)
        return {
            "lost": {rule: n for rule, n in lost if n or rule != NOT_ACCEPTED},
            "because": {name: part / UNITS for name, part in parts if part},
        }

    def __iadd__(self, other: Counts) -> Counts:
        for name, sums in vars(self).items():
            if name != "parts":
                sums += vars(other)[name]
        self.parts = np.concatenate([self.parts, other.parts])
        return self


class State:
    """What one beam remembers between crossings: prescale counters, and the accepts that rules look at.

    fires: bool[n, m], the triggers in each pattern. without: triggers that never accept.
    """

    def __init__(self, menu: MenuArrays, fires: BoolArray, veto: Veto, without: Collection[str]) -> None:
        off = [name in without for name in menu.names]
        self.menu, self.fires, self.veto = menu, fires & ~np.array(off, np.bool_)[:, None], veto
        self.phase = np.zeros(len(menu.steps), np.int64)  # of each step
        self._of_first = menu.members[menu.first]
        # The accept before: its triggers, bool[t, 1], and its crossing, if there is one.
        self._last, self._crossing = np.zeros((len(self._of_first), 1), np.bool_), np.zeros(0, np.int64)
        # The patterns in which a counter without seeds advances, bool[m], by its number, and those that may
        # accept whatever these counters say.
        self._advanced: dict[int, BoolArray] = {}
        self._sure = np.zeros(fires.shape[1], np.bool_)
        for number, counter in enumerate(menu.counters):
            any_fires = self.fires[[menu.names.index(name) for name in counter.passes]].any(axis=0)
            if counter.first < counter.last and not counter.reads:
                self._advanced[number] = np.asarray(any_fires)
            else:
                self._sure |= any_fires

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
                fired[name] = self.fires[self.menu.names.index(name)][pattern]
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
        rows, rules = len(self.menu.members), len(self.veto.kind)
        first = np.flatnonzero(accepted[self._of_first].any(axis=0))
        vetoed = apply_rules(self.veto, crossing[first])
        slot, is_live = crossing[first] % ORBIT, vetoed < 0
        counts.slots += [np.bincount(slots, minlength=ORBIT) for slots in (slot, slot[is_live])]
        np.add.at(counts.slot_lost, (vetoed[~is_live], slot[~is_live]), 1)
        live = np.append(self._crossing, crossing[first][is_live])
        interval = np.searchsorted(DISTANCES, np.diff(live), side="right") - 1
        counts.distances += np.bincount(interval, minlength=len(DISTANCES))
        now = counts.parts[part]
        now[BEFORE, rows:] += np.bincount(vetoed[~is_live], minlength=rules)
        cause = np.full(len(crossing), rules)
        cause[first] = vetoed
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
        # The number of the accept before each attempt, and before the next block, from 1; 0: that of the last
        # block.
        blocker = np.maximum.accumulate(np.append(0, np.arange(1, len(first) + 1) * is_live))
        blockers = np.hstack([self._last, accepted[:, first] & self._of_first[:, None]])
        self._last, self._crossing = blockers[:, blocker[-1:]], live[-1:]
        blocked = np.flatnonzero(~is_live)
        blocked = blocked[self.veto.kind[vetoed[blocked]] != SLOTS]
        share = blockers[:, blocker[blocked]]
        whole, rest = np.divmod(UNITS, np.maximum(share.sum(axis=0), 1))  # the first ones have the rest
        parts = share * (whole + (np.cumsum(share, axis=0) <= rest))
        because = is_inside[:, first[blocked]].astype(np.float64) @ parts.T.astype(np.float64)
        counts.because += because.astype(np.int64)
        return cause


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
    rules: Rules
    without: frozenset[str]  # Triggers that never accept
    factor: float  # On all rates
    start: Start
    seed: int
    orbits: int

    @property
    def edges(self) -> IntArray:
        """int64[p + 1], the first orbit of each part, and the end of the last one."""
        return np.arange(PARTS + 1) * self.orbits // PARTS

    def run(self, workers: int = 1) -> Counts:
        """Run the beams in threads (kernels and NumPy release the GIL), and return the sums of counts."""
        beams = [np.array(part) for part in pairwise(self.edges)] if self.start == "random" else [self.edges]
        with ThreadPoolExecutor(workers) as pool:
            each: Iterator[Counts] = (pool.map if workers > 1 else map)(self._beam, range(len(beams)), beams)
            total = next(each)
            for counts in each:
                total += counts
        return total

    def _beam(self, number: int, edges: IntArray) -> Counts:
        """Run one beam of parts between edges."""
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(number,))))
        own = int(rng.integers(0, 2**64, 2, np.uint64)[1])
        state = State(self.menu, self.patterns.fires, veto_of(self.rules, self.filling), self.without)
        lead = 0
        if self.start == "random":
            state.phase[:] = rng.integers(0, self.menu.steps[:, 1])
            lead = min(-(-state.veto.memory // ORBIT), int(edges[1] - edges[0]))
        processes = {"": Process(self.patterns.chance, own)}
        for name, chance in self.menu.random.items():
            own = int(rng.integers(0, 2**64, dtype=np.uint64))
            processes[name] = Process(0.0 if name in self.without else min(chance * self.factor, 1.0), own)
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
                fired, numbers = drawn.pop("")
                y, pattern, random = fired, self.patterns.drawn(numbers), {}
                if drawn:  # in further crossings no other trigger fires: pattern 0
                    y = np.unique(np.concatenate([fired, *(crossings for crossings, _ in drawn.values())]))
                    of_fired, pattern = pattern, np.zeros(len(y), np.int64)
                    pattern[np.searchsorted(y, fired)] = of_fired
                    random = {name: np.isin(y, x, assume_unique=True) for name, (x, _) in drawn.items()}
                kept, accepted = state.decide(pattern, random)
                orbit, slot = np.divmod(y[kept], filled)
                state.count(counts, part, orbit * ORBIT + self.filling.slots[slot], accepted)
