"""Kernels: crossings one by one: which triggers accept, whether the rules veto that, and what is counted.

A crossing is given by its pattern, the nodes that fire. Prescale counters come before the rules, as in
hardware: an accept that is vetoed has been counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inlined, inner, kernel
from trigemu.counting.seeds import AND, NOT

from .counts import AFTER, BEFORE, DISTANCES, UNIQUE_AFTER, UNIQUE_BEFORE, UNITS, Counts
from .filling import ORBIT, Filling
from .patterns import Counters, MenuArrays, Nodes
from .rules import Bucket, Buffer, FirstBunches, Gap, InWindow, Rules, Simple

WINDOW, BUCKET, SLOTS = range(3)
#: Before any crossing.
NEVER = -(2**62)


class RuleTable(NamedTuple):
    """r rules. kind, a, b: int64[r]; blocked: bool[r, 3564], slots that are vetoed in one of `a` orbits."""

    kind: IntArray
    a: IntArray
    b: IntArray
    blocked: BoolArray


class RuleState(NamedTuple):
    """recent: int64[h], the crossings of the last accepts, a ring; accepts: int64[1], the number of accepts;
    busy: int64[r], the crossing at which a bucket is empty."""

    recent: IntArray
    accepts: IntArray
    busy: IntArray


def rule_table(rules: Rules, filling: Filling) -> RuleTable:
    """Return the rules as arrays."""
    kinds, a, b = [], [], []
    blocked = np.zeros((len(rules.rules), ORBIT), np.bool_)
    for number, rule in enumerate(rules.rules):
        kind, first, second = SLOTS, 1, 0
        if isinstance(rule, Simple):
            kind, first, second = WINDOW, 1, rule.simple + 1
        elif isinstance(rule, InWindow):
            kind, first, second = WINDOW, rule.at_most, rule.crossings
        elif isinstance(rule, Buffer):
            kind, first, second = WINDOW, rule.places, rule.latency
        elif isinstance(rule, Bucket):
            kind, first, second = BUCKET, rule.size, rule.rate
        elif isinstance(rule, Gap):
            first = rule.every
            blocked[number, rule.gap[0] - 1 : rule.gap[1]] = True
        elif isinstance(rule, FirstBunches):
            blocked[number, filling.slots[filling.position < rule.first_bunches]] = True
        else:
            blocked[number] = ~filling.filled
        kinds.append(kind)
        a.append(first)
        b.append(second)
    return RuleTable(np.array(kinds, np.int64), np.array(a, np.int64), np.array(b, np.int64), blocked)


def longest_memory(table: RuleTable) -> int:
    """Return after how many crossings rules have forgotten how they began. A bucket with as many accepts as
    it empties goes up and down by chance, so it takes the square of its places."""
    crossings = np.where(table.kind == BUCKET, table.a**2 * table.b, 4 * table.b)
    return int(crossings[table.kind != SLOTS].max(initial=0))


def new_state(table: RuleTable) -> RuleState:
    """Return the state before the first accept."""
    longest = int(table.a[table.kind == WINDOW].max(initial=1))
    return RuleState(np.full(longest, NEVER), np.zeros(1, np.int64), np.full(len(table.kind), NEVER))


@inner
def vetoed_by(table: RuleTable, state: RuleState, crossing: int, orbit: int, slot: int) -> int:
    """Return the number of the first rule that vetoes an accept, or −1."""
    size = len(state.recent)
    for r in range(len(table.kind)):
        if table.kind[r] == WINDOW:
            age = (state.accepts[0] - table.a[r]) % size
            if state.recent[age] > crossing - table.b[r]:
                return r
        elif table.kind[r] == BUCKET:
            if state.busy[r] - crossing > (table.a[r] - 1) * table.b[r]:
                return r
        elif table.blocked[r, slot] and orbit % table.a[r] == 0:
            return r
    return -1


@inner
def accept(table: RuleTable, state: RuleState, crossing: int) -> None:
    """Record an accept."""
    state.recent[state.accepts[0] % len(state.recent)] = crossing
    state.accepts[0] += 1
    for r in range(len(table.kind)):
        if table.kind[r] == BUCKET:
            state.busy[r] = max(state.busy[r], crossing) + table.b[r]


class Memory(NamedTuple):
    """What is remembered of crossings.

    accepted: bool[n], the nodes in this crossing. listed: int64[t + 1], the nodes of enabled triggers that
    accept it, and their number. last: int64[t + 1], those of the last accept. at: int64[2], the crossings of
    the last accept, and of the last attempt. stack: bool[k], of expressions. inside: int64[rows], the
    triggers that accept in each row. touched: int64[rows + 1], the rows with any, and their number.
    """

    accepted: BoolArray
    listed: IntArray
    last: IntArray
    at: IntArray
    stack: BoolArray
    inside: IntArray
    touched: IntArray


class Early(NamedTuple):
    """Triggers that fire early. may: bool[n]; probability: float64[1]; salt: uint64[1], for its random
    numbers, which depend on the crossing and the trigger only."""

    may: BoolArray
    probability: FloatArray
    salt: np.ndarray


class Beam(NamedTuple):
    """Everything that a crossing needs. removed: bool[n], the nodes that never accept. first_level: int64[1],
    the row of the level whose accepts the rules are about."""

    nodes: Nodes
    counters: Counters
    rules: RuleTable
    state: RuleState
    memory: Memory
    early: Early
    removed: BoolArray
    first_level: IntArray


def new_memory(arrays: MenuArrays) -> Memory:
    """Return the memory before the first crossing."""
    rows, t, n = len(arrays.nodes.level_of), len(arrays.menu.enabled), len(arrays.names)
    return Memory(
        np.zeros(n, np.bool_),
        np.zeros(t + 1, np.int64),
        np.zeros(t + 1, np.int64),
        np.full(2, NEVER),
        np.zeros(len(arrays.nodes.code) + 1, np.bool_),
        np.zeros(rows, np.int64),
        np.zeros(rows + 1, np.int64),
    )


@inner
def mixed(z: np.uint64) -> np.uint64:
    """Return a hash of an unsigned integer, by SplitMix64."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def fraction(z: np.uint64) -> float:
    """Return a number from 0 to below 1 from a random unsigned integer."""
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@inlined
def _advance(counters: IntArray, steps: IntArray, c: int, crossing: int) -> int:
    """Advance a counter, once in a crossing; return how many of its steps accept."""
    if counters[c, 2] != crossing:
        counters[c, 2] = crossing
        depth = 0
        for s in range(counters[c, 0], counters[c, 1]):
            steps[s, 2] += steps[s, 0]
            if steps[s, 2] < steps[s, 1]:
                break
            steps[s, 2] -= steps[s, 1]
            depth += 1
        counters[c, 3] = depth
    depth_of: int = counters[c, 3]
    return depth_of


@inlined
def _seeded(code: IntArray, start: int, end: int, accepted: BoolArray, stack: BoolArray) -> bool:
    """Return whether an expression over the nodes that accept is true; an empty one is."""
    stack[0] = True
    top = 0
    for k in range(start, end):
        if code[k] >= 0:
            stack[top] = accepted[code[k]]
            top += 1
        elif code[k] == NOT:
            stack[top - 1] = not stack[top - 1]
        elif code[k] == AND:
            top -= 1
            stack[top - 1] = stack[top - 1] and stack[top]
        else:
            top -= 1
            stack[top - 1] = stack[top - 1] or stack[top]
    result: bool = stack[0]
    return result


@inlined
def decide(
    links: IntArray,
    code: IntArray,
    counters: IntArray,
    steps: IntArray,
    accepted: BoolArray,
    stack: BoolArray,
    n: int,
    crossing: int,
) -> bool:
    """Return whether a node that fires in a crossing accepts it; those that it reads are decided. The arrays
    are those of `Nodes`, `Counters` and `Memory`: tuples of them would take longer than the rest."""
    if links[n, 3] > links[n, 2] and not _seeded(code, links[n, 2], links[n, 3], accepted, stack):
        return False
    c = links[n, 0]
    accepts: bool = c < 0 or _advance(counters, steps, c, crossing) > links[n, 1]
    return accepts


@inlined
def add(rows: IntArray, accepted: BoolArray, listed: IntArray, n: int) -> None:
    """Let a node accept this crossing."""
    accepted[n] = True
    if rows[n, 0] >= 0:
        listed[listed[-1]] = n
        listed[-1] += 1


@inner
def _live(beam: Beam, counts: Counts, crossing: int) -> None:
    """Record an accept that the rules allow."""
    accept(beam.rules, beam.state, crossing)
    before = beam.memory.at[0]
    if before != NEVER:
        counts.distances[np.searchsorted(DISTANCES, crossing - before, side="right") - 1] += 1
    beam.memory.at[0] = crossing


@inner
def _fire_early(beam: Beam, counts: Counts, crossing: int, orbit: int, slot: int) -> None:
    """Let triggers that accept a crossing accept the one before as well, by chance."""
    memory, early = beam.memory, beam.early
    fired = 0
    for k in range(memory.listed[-1]):
        n = memory.listed[k]
        if early.may[n]:
            z = mixed(mixed(early.salt[0] ^ np.uint64(crossing)) + np.uint64(n))
            if fraction(z) < early.probability[0]:
                memory.touched[fired] = n
                fired += 1
    before = crossing - 1
    if not fired or memory.at[1] == before or before < 0:
        return
    counts.early[0] += 1
    slot_before = slot - 1 if slot else ORBIT - 1
    if vetoed_by(beam.rules, beam.state, before, orbit if slot else orbit - 1, slot_before) >= 0:
        return
    counts.early[1] += 1
    _live(beam, counts, before)
    memory.last[:fired] = memory.touched[:fired]
    memory.last[-1] = fired


@inner
def _count(beam: Beam, counts: Counts, cause: int) -> None:
    """Count the triggers, groups and levels that accept a crossing. cause: that it is lost by, or −1."""
    memory, rows = beam.memory, beam.nodes.rows
    memory.touched[-1] = 0
    for k in range(memory.listed[-1]):
        for what in range(3):
            row = rows[memory.listed[k], what]
            if row >= 0:
                if memory.inside[row] == 0:
                    memory.touched[memory.touched[-1]] = row
                    memory.touched[-1] += 1
                memory.inside[row] += 1
    because = memory.last[-1] if 0 <= cause < len(beam.rules.kind) and beam.rules.kind[cause] != SLOTS else 0
    for k in range(memory.touched[-1]):
        row = memory.touched[k]
        unique = memory.inside[row] == memory.inside[beam.nodes.level_of[row]]
        counts.now[BEFORE, row] += 1
        counts.now[UNIQUE_BEFORE, row] += unique
        if cause < 0:
            counts.now[AFTER, row] += 1
            counts.now[UNIQUE_AFTER, row] += unique
            continue
        counts.lost[row, cause] += 1
        for j in range(because):  # the first ones have what remains of UNITS / because
            blamed = rows[memory.last[j], 0]
            counts.because[row, blamed] += UNITS // because + (j < UNITS % because)
    for k in range(memory.touched[-1]):
        memory.inside[memory.touched[k]] = 0


@inner
def judge(beam: Beam, counts: Counts, crossing: int, orbit: int, slot: int) -> int:
    """Apply the rules to a crossing whose nodes are decided, and count it. Return the rule that vetoes it, −1
    if it is accepted, −2 if the first level does not accept it."""
    memory = beam.memory
    if memory.listed[-1] == 0:
        return -2
    first_level = beam.first_level[0]
    attempt = False
    for k in range(memory.listed[-1]):
        attempt |= beam.nodes.rows[memory.listed[k], 2] == first_level
    if not attempt:
        _count(beam, counts, len(beam.rules.kind))
        return -2
    if beam.early.probability[0] > 0.0:
        _fire_early(beam, counts, crossing, orbit, slot)
    cause = vetoed_by(beam.rules, beam.state, crossing, orbit, slot)
    memory.at[1] = crossing
    counts.slots[0, slot] += 1
    _count(beam, counts, cause)
    if cause >= 0:
        counts.slot_lost[cause, slot] += 1
        counts.now[BEFORE, len(beam.nodes.level_of) + cause] += 1
        return cause
    counts.slots[1, slot] += 1
    _live(beam, counts, crossing)
    last = 0
    for k in range(memory.listed[-1]):
        if beam.nodes.rows[memory.listed[k], 2] == first_level:
            memory.last[last] = memory.listed[k]
            last += 1
    memory.last[-1] = last
    return cause


@kernel
def run_ordered(
    beam: Beam,
    counts: Counts,
    starts: IntArray,
    fired: IntArray,
    pattern: IntArray,
    random: IntArray,
    hits: BoolArray,
    first: int,
    causes: IntArray,
    accepted: BoolArray,
) -> None:
    """Judge n crossings from the slot `first` on.

    starts, fired: the nodes of each pattern; pattern: int64[n]; random: int64[k], nodes that accept where
    hits: bool[n, k]. causes: int64[n], is set to what `judge` returns; accepted: bool[n, t], the enabled
    triggers.
    """
    rows, links, code = beam.nodes.rows, beam.nodes.links, beam.nodes.code
    counters, steps = beam.counters.counters, beam.counters.steps
    memory = beam.memory
    for k in range(len(pattern)):
        crossing = first + k
        memory.listed[-1] = 0
        for r in range(len(random)):
            if hits[k, r] and not beam.removed[random[r]]:
                add(rows, memory.accepted, memory.listed, random[r])
        for j in range(starts[pattern[k]], starts[pattern[k] + 1]):
            n = fired[j]
            if not beam.removed[n] and decide(
                links, code, counters, steps, memory.accepted, memory.stack, n, crossing
            ):
                add(rows, memory.accepted, memory.listed, n)
        causes[k] = judge(beam, counts, crossing, crossing // ORBIT, crossing % ORBIT)
        for j in range(memory.listed[-1]):
            accepted[k, rows[memory.listed[j], 0]] = True
        memory.accepted[:] = False
