"""The rules as arrays, and the kernel that applies them to the accepts of the first level, one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import inlined, kernel

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
    """What rules remember."""

    recent: IntArray  # int64[h], the crossings of the last accepts, a ring
    busy: IntArray  # int64[r], the crossing at which a bucket is empty
    numbers: IntArray  # int64[3], of accepts, and the crossings of the last accept and attempt


def rule_table(rules: Rules, filling: Filling) -> RuleTable:
    """Return the rules as arrays."""
    rows, blocked = [], np.zeros((len(rules.rules), ORBIT), np.bool_)
    for number, rule in enumerate(rules.rules):
        match rule:
            case Simple():
                rows.append((WINDOW, 1, rule.simple + 1))
            case InWindow():
                rows.append((WINDOW, rule.at_most, rule.crossings))
            case Buffer():
                rows.append((WINDOW, rule.places, rule.latency))
            case Bucket():
                rows.append((BUCKET, rule.size, rule.rate))
            case Gap():
                rows.append((SLOTS, rule.every, 0))
                blocked[number, rule.gap[0] - 1 : rule.gap[1]] = True
            case FirstBunches():
                rows.append((SLOTS, 1, 0))
                blocked[number, filling.slots[filling.position < rule.first_bunches]] = True
            case _:
                rows.append((SLOTS, 1, 0))
                blocked[number] = ~filling.filled
    kind, a, b = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    return RuleTable(kind, a, b, blocked)


def check_not_all(rules: Rules, filling: Filling, table: RuleTable) -> None:
    """Raise TrigemuError if rules veto every filled slot of every orbit."""
    always = table.blocked[table.a == 1][:, filling.slots]
    if len(always) and bool(always.any(axis=0).all()):
        raise TrigemuError(
            f"rules {rules.name!r}: {', '.join(rules.labels)} veto every filled slot of {filling.name!r}: "
            f"nothing could be recorded"
        )


def longest_memory(table: RuleTable) -> int:
    """Return after how many crossings rules have forgotten how they began."""
    # A bucket with as many accepts as it empties goes up and down by chance: the square of its places.
    crossings = np.where(table.kind == BUCKET, table.a**2 * table.b, 4 * table.b)
    return int(crossings[table.kind != SLOTS].max(initial=0))


def new_state(table: RuleTable) -> RuleState:
    """Return the state before the first accept."""
    longest = int(table.a[table.kind == WINDOW].max(initial=1))
    return RuleState(
        np.full(longest, NEVER), np.full(len(table.kind), NEVER), np.array([0, NEVER, NEVER], np.int64)
    )


@inlined
def _vetoed_by(table: RuleTable, state: RuleState, crossing: int) -> int:
    """Return the number of the first rule that vetoes an accept, or −1."""
    for r in range(len(table.kind)):
        if table.kind[r] == WINDOW:
            age = (state.numbers[0] - table.a[r]) % len(state.recent)
            if state.recent[age] > crossing - table.b[r]:
                return r
        elif table.kind[r] == BUCKET:
            if state.busy[r] - crossing > (table.a[r] - 1) * table.b[r]:
                return r
        elif table.blocked[r, crossing % ORBIT] and crossing // ORBIT % table.a[r] == 0:
            return r
    return -1


@inlined
def _accept(table: RuleTable, state: RuleState, crossing: int) -> None:
    state.recent[state.numbers[0] % len(state.recent)] = crossing
    state.numbers[0] += 1
    state.numbers[1] = crossing
    for r in range(len(table.kind)):
        if table.kind[r] == BUCKET:
            state.busy[r] = max(state.busy[r], crossing) + table.b[r]


@kernel
def apply_rules(
    table: RuleTable,
    state: RuleState,
    crossing: IntArray,
    early: BoolArray,
    cause: IntArray,
    blocker: IntArray,
    live: IntArray,
) -> tuple[int, int, int, int]:
    """Apply the rules to attempts to accept, int64[n], each after one a crossing early where `early`.

    Sets cause: int64[n], the rule that vetoes each, −1: none; blocker: int64[n], the
    accept before it: k for that of attempt k, n + k for the one early to it, −1 for one before all; and the
    beginning of live: int64[2 n], the crossings of accepts. Returns their number; those of early attempts and
    accepts; and the last accept, as in `blocker`.
    """
    n, accepts, early_attempts, early_accepts, last = len(crossing), 0, 0, 0, -1
    for k in range(n):
        x = crossing[k]
        if early[k] and state.numbers[2] != x - 1 and x > 0:
            early_attempts += 1
            if _vetoed_by(table, state, x - 1) < 0:
                _accept(table, state, x - 1)
                live[accepts] = x - 1
                accepts += 1
                early_accepts += 1
                last = n + k
        state.numbers[2] = x
        blocker[k] = last
        cause[k] = _vetoed_by(table, state, x)
        if cause[k] < 0:
            _accept(table, state, x)
            live[accepts] = x
            accepts += 1
            last = k
    return accepts, early_attempts, early_accepts, last
