"""Kernels: whether the rules veto an accept, given the accepts before it.

A rule that blocks after an accept (simple dead time, a buffer of fixed latency) is a window: at most `a`
accepts in `b` crossings. Crossings are numbered from the beginning, with the empty slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.api import BoolArray, IntArray, inner

from .filling import ORBIT, Filling
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
            at = (state.accepts[0] - table.a[r]) % size
            if state.recent[at] > crossing - table.b[r]:
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
