"""The triggers of a menu as arrays: what fires in a pattern, prescale counters, seeds, levels and groups.

A node is a trigger that can accept, or that another one has as a seed. Triggers of a coherent set share a
counter. Its steps are the distinct prescales of the set in ascending order: the second step counts what the
first one accepts, so that the rarest trigger accepts only together with the others. One step with prescale p
is a counter of which each p-th event is accepted; a fractional prescale, as a ratio of integers, accepts
after p rounded up or down, in turn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trigemu.api import (
    BoolArray,
    Expression,
    FloatArray,
    IntArray,
    Menu,
    Random,
    Trigger,
    Words,
    own_decisions,
    raw_decisions,
)

#: Operations in `Nodes.code`.
AND, OR, NOT = -1, -2, -3
#: The largest denominator of a prescale: that of 0.01, the step of CMS, and of any usual decimal fraction.
MAX_DENOMINATOR = 10**6
#: The largest numerator, so that counters are int64: with a larger prescale nothing is accepted anyway.
MAX_NUMERATOR = 2**61


class Nodes(NamedTuple):
    """n nodes, each after those that it reads.

    rows: int64[n, 3], the row of the trigger in counts, of its group, or −1, and of its level; −1 if it is
    only a seed. level_of: int64[rows], the row of the level of each row.
    links: int64[n, 4], the prescale counter of each and its step, −1 if it always accepts; and where its seed
    begins and ends in code: int64[k], nodes, AND, OR, NOT.
    """

    rows: IntArray
    level_of: IntArray
    links: IntArray
    code: IntArray


class Counters(NamedTuple):
    """Prescale counters. counters: int64[c, 4], where the steps of each begin and end, the crossing in which
    it was advanced last, and how many of its steps accepted. steps: int64[s, 3]: a step accepts the first
    number out of the second; the third is its state."""

    counters: IntArray
    steps: IntArray


@dataclass(frozen=True)
class MenuArrays:
    """The triggers of a menu.

    menu: the menu. names: of the nodes. random: the positions of the triggers of kind `random` without a
    seed, which are drawn by themselves, and chance: float64[k], the probability of each in a crossing.
    groups, levels: their names.
    """

    menu: Menu
    nodes: Nodes
    counters: Counters
    random: IntArray
    chance: FloatArray
    groups: tuple[str, ...]
    levels: tuple[str, ...]
    names: tuple[str, ...]

    def fires(self, words: Words, bits: Mapping[str, int]) -> BoolArray:
        """Return the nodes that may accept in each pattern, bool[m, n]: without its seed, unless that cannot
        be true."""
        own, raw = own_decisions(words, self.menu, bits), raw_decisions(words, self.menu, bits)
        columns = np.zeros((len(words), len(self.names)), np.bool_)
        for column, name in enumerate(self.names):
            trigger = self.menu.trigger(name)
            if trigger.prescale == math.inf or column in self.random:
                continue
            own_counts = trigger.enabled and trigger.seed is not None and _negates(trigger.seed)
            columns[:, column] = own[name] if own_counts else raw[name]
        return columns


def menu_arrays(menu: Menu) -> MenuArrays:
    """Return the triggers of a menu as arrays."""
    enabled = {trigger.name: row for row, trigger in enumerate(menu.enabled)}
    read = {name for t in menu.enabled if t.seed for name in t.seed.names()}
    names = tuple(name for name in menu.order if name in enabled or name in read)
    triggers = [menu.trigger(name) for name in names]
    groups = tuple(dict.fromkeys(t.group for t in menu.enabled if t.group))
    levels = menu.levels or ("",)
    position = {name: number for number, name in enumerate(names)}
    programs = [_postfix(t.seed, position) if t.seed and t.enabled else [] for t in triggers]
    counter, step, counters = _counters(triggers)
    ends = np.cumsum([0, *map(len, programs)])
    nodes = Nodes(
        *_rows(menu, triggers, enabled, groups, levels),
        np.column_stack([counter, step, ends[:-1], ends[1:]]),
        np.array([code for program in programs for code in program], np.int64),
    )
    random = [n for n, t in enumerate(triggers) if t.enabled and _is_random(t) and t.prescale < math.inf]
    chance = np.array([1.0 / triggers[n].prescale for n in random])
    return MenuArrays(menu, nodes, counters, np.array(random, np.int64), chance, groups, levels, names)


def _rows(
    menu: Menu,
    triggers: Sequence[Trigger],
    enabled: Mapping[str, int],
    groups: Sequence[str],
    levels: Sequence[str],
) -> tuple[IntArray, IntArray]:
    """Return `Nodes.rows` and `Nodes.level_of`."""
    t, g = len(enabled), len(groups)
    rows = np.full((len(triggers), 3), -1, np.int64)
    level_of = np.arange(t + g + len(levels))
    for number, trigger in enumerate(triggers):
        if trigger.enabled:
            level = t + g + levels.index(trigger.level or levels[0])
            group = t + groups.index(trigger.group) if trigger.group else -1
            rows[number] = enabled[trigger.name], group, level
            level_of[rows[number][rows[number] >= 0]] = level
    return rows, level_of


def _is_random(trigger: Trigger) -> bool:
    return isinstance(trigger.description, Random) and trigger.seed is None and trigger.coherent is None


def _counters(triggers: Sequence[Trigger]) -> tuple[IntArray, IntArray, Counters]:
    sets: dict[Hashable, list[int]] = {}
    for number, trigger in enumerate(triggers):
        if trigger.enabled and trigger.prescale < math.inf and not _is_random(trigger):
            key = ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)
            sets.setdefault(key, []).append(number)
    counter, step = np.full((2, len(triggers)), -1, np.int64)
    starts, ratios = [0], []
    for number, members in enumerate(sets.values()):
        prescales = sorted({triggers[n].prescale for n in members})
        ratios += [_ratio(b, a) for a, b in zip((1.0, *prescales), prescales, strict=False)]
        starts.append(len(ratios))
        for n in members:
            counter[n], step[n] = number, prescales.index(triggers[n].prescale)
    steps = [(ratio.denominator, ratio.numerator, 0) for ratio in ratios]
    state = [(start, end, -1, 0) for start, end in pairwise(starts)]
    counters = np.array(state, np.int64).reshape(-1, 4)
    return counter, step, Counters(counters, np.array(steps, np.int64).reshape(-1, 3))


def _ratio(larger: float, smaller: float) -> Fraction:
    exact = min(Fraction(repr(larger)) / Fraction(repr(smaller)), Fraction(MAX_NUMERATOR))
    return exact.limit_denominator(min(MAX_DENOMINATOR, int(MAX_NUMERATOR / exact)))


def _negates(expression: Expression) -> bool:
    return expression.operation == "not" or any(map(_negates, expression.operands))


def _postfix(expression: Expression, position: Mapping[str, int]) -> list[int]:
    if not expression.operation:
        return [position[expression.name]]
    steps = [_postfix(operand, position) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]
