"""The triggers of a menu as arrays, and the probability of each pattern of decisions in a filled crossing,
for drawing.

An event of weight w Hz stands for a share w / Σw of the crossings. In a menu with fitted triggers, w is
counted as in its rates: events of both halves count without their fitted triggers, and those of the unseen
half, scaled to the sample, with them in place of the same events without. So drawn rates are those of `run`.
Where few events leave a pattern with a negative sum, it is not drawn; what that adds to the rate is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.decisions import own_decisions, raw_decisions
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.logic import Random

#: The largest denominator of a prescale: that of 0.01, the step of CMS, and of any usual decimal fraction.
MAX_DENOMINATOR = 10**6
#: The largest numerator, so that counters are int64: with a larger prescale nothing is accepted anyway.
MAX_NUMERATOR = 2**61


class Counter(NamedTuple):
    """A prescale counter."""

    passes: Mapping[str, int]  # Its triggers, and how many of its steps each must pass to accept
    first: int  # first, last: Its steps, in `MenuArrays.steps`
    last: int
    reads: frozenset[str]  # The triggers that the seeds of its own read


@dataclass(frozen=True)
class MenuArrays:
    """The triggers of a menu: t enabled ones, and those that their seeds read."""

    menu: Menu
    names: tuple[str, ...]  #: In the order of the file, in which phases of counters are drawn
    counters: tuple[Counter, ...]  #: Each after those of the triggers that its own read
    steps: IntArray  #: int64[s, 2], a step of a counter accepts the first number out of the second
    #: The triggers of kind `random` without a seed, which are drawn by themselves, with their probabilities.
    random: Mapping[str, float]
    groups: tuple[str, ...]
    levels: tuple[str, ...]
    #: bool[rows, t], the triggers in each row of counts: triggers, groups, levels.
    members: BoolArray
    level_of: IntArray  #: int64[rows], the row of the level of each row

    @property
    def rows(self) -> list[tuple[str, Any]]:
        """The name of each row, and whether it is a trigger, a group or a level."""
        triggers = [trigger.name for trigger in self.menu.enabled]
        kinds = {"trigger": triggers, "group": self.groups, "level": self.levels}
        return [(name, kind) for kind, names in kinds.items() for name in names]

    def fires(self, words: Words, bits: Mapping[str, int]) -> BoolArray:
        """Return the triggers that may accept in each pattern, bool[m, n]: without the seed, unless that
        cannot be true."""
        own_fired, raw = own_decisions(words, self.menu, bits), raw_decisions(words, self.menu, bits)
        columns = np.zeros((len(words), len(self.names)), np.bool_)
        for column, name in enumerate(self.names):
            trigger = self.menu.trigger(name)
            if trigger.prescale < math.inf and name not in self.random:
                own_counts = trigger.enabled and trigger.seed is not None and trigger.seed.negates
                columns[:, column] = own_fired[name] if own_counts else raw[name]
        return columns


def menu_arrays(menu: Menu) -> MenuArrays:
    """Return the triggers of a menu as arrays."""
    enabled = [trigger.name for trigger in menu.enabled]
    read = {name for t in menu.enabled if t.seed for name in t.seed.names()}
    names = tuple(t.name for t in menu.triggers if t.name in enabled or t.name in read)
    random = {
        t.name: 1.0 / t.prescale
        for t in map(menu.trigger, names)
        if t.enabled and isinstance(t.description, Random) and not (t.seed or t.coherent)
        if t.prescale < math.inf
    }
    counters, steps = _counters([menu.trigger(name) for name in names if name not in random])
    groups, levels = tuple(dict.fromkeys(t.group for t in menu.enabled if t.group)), menu.levels or ("",)
    level = np.array([levels.index(t.level or levels[0]) for t in menu.enabled], np.int64)
    group = np.array([groups.index(t.group) if t.group else -1 for t in menu.enabled], np.int64)
    trigger = np.arange(len(enabled))
    numbers = (trigger, len(enabled)), (group, len(groups)), (level, len(levels))
    members = np.array([of == number for of, n in numbers for number in range(n)])
    level_of = [level[row][0] for row in members[: -len(levels)]] + [*range(len(levels))]
    rows = len(members) - len(levels) + np.array(level_of, np.int64)
    ordered = _in_order(menu, counters, set(random))
    return MenuArrays(menu, names, ordered, steps, random, groups, levels, members, rows)


def _counters(triggers: Sequence[Trigger]) -> tuple[list[Counter], IntArray]:
    sets: dict[tuple[bool, str], list[Trigger]] = {}
    for t in triggers:
        shared = t.coherent if t.enabled and t.prescale < math.inf else None
        sets.setdefault((shared is not None, shared or t.name), []).append(t)
    counters: list[Counter] = []
    steps: list[Fraction] = []
    for members in sets.values():
        counted = {t.name: t.prescale for t in members if t.enabled and 1 < t.prescale < math.inf}
        prescales, first = sorted({*counted.values()}), len(steps)
        steps += [_ratio(b, a) for a, b in pairwise((1.0, *prescales))]
        passes = {t.name: 1 + prescales.index(t.prescale) if t.name in counted else 0 for t in members}
        reads = {name for t in members if t.enabled and t.seed for name in t.seed.names()}
        counters.append(Counter(passes, first, len(steps), frozenset(reads)))
    of_steps = [(ratio.denominator, ratio.numerator) for ratio in steps]
    return counters, np.array(of_steps, np.int64).reshape(-1, 2)


def _ratio(larger: float, smaller: float) -> Fraction:
    exact = min(Fraction(repr(larger)) / Fraction(repr(smaller)), Fraction(MAX_NUMERATOR))
    return exact.limit_denominator(min(MAX_DENOMINATOR, int(MAX_NUMERATOR / exact)))


def _in_order(menu: Menu, counters: list[Counter], known: set[str]) -> tuple[Counter, ...]:
    """Return counters such that each comes after those of the triggers that its own read."""
    ordered: list[Counter] = []
    while counters:
        ready = [counter for counter in counters if counter.reads <= known]
        if not ready:
            names = ", ".join(repr(name) for counter in counters for name in counter.passes)
            raise TrigemuError(
                f"{menu.path}: {names} read each other through their coherent sets, so that their counters "
                f"cannot be run one after the other"
            )
        ordered += ready
        counters = [counter for counter in counters if counter not in ready]
        known = known.union(*(counter.passes for counter in ready))
    return tuple(ordered)


#: The largest share of the rate of all triggers that patterns with negative sums may have.
MAX_NEGATIVE = 0.01
_TINY = 1e-12


class Weighed(NamedTuple):
    """Patterns with their shares."""

    fires: BoolArray  # bool[m, n]
    share: FloatArray  # float64[c, m], of the crossings of each class
    negative: float  # The share of patterns that are not drawn, relative to all with a trigger


def weigh(arrays: MenuArrays, emulations: list[Emulation]) -> Weighed:
    """Return the patterns, the first without a trigger, and their shares, in a class for each emulation."""
    weighted = [_of(arrays, emulation) for emulation in emulations]
    everything = np.concatenate([np.zeros((1, len(arrays.names)), np.bool_), *(part for part, _ in weighted)])
    packed = np.packbits(everything, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    fires, number, position = everything[first], number.ravel()[1:], 0
    share = np.zeros((len(weighted), len(fires)))
    for row, (_, weight) in enumerate(weighted):
        np.add.at(share[row], number[position : position + len(weight)], weight)
        share[row] /= share[row].sum()
        position += len(weight)
    enabled = np.array([arrays.menu.trigger(name).enabled for name in arrays.names], np.bool_)
    some: BoolArray = np.asarray(fires[:, enabled].any(axis=1))
    negative = float(-np.minimum(share[:, some], 0).sum() / max(share[:, some].sum(), _TINY))
    if negative > MAX_NEGATIVE or (share[:, ~some].sum(axis=1) < 0).any():
        raise TrigemuError(
            f"{arrays.menu.path}: patterns with negative weights have {100 * negative:.2g} % of the rate of "
            f"its triggers: crossings cannot be drawn from them; the samples need more events"
        )
    share = np.maximum(share, 0.0)
    used: BoolArray = np.asarray(some & (share > 0).any(axis=0))
    used[0] = True
    share = share[:, used]
    share[:, 0] = 1.0 - share[:, 1:].sum(axis=1)  # crossings in which nothing fires are not simulated
    return Weighed(fires[used], share, negative)


def _of(arrays: MenuArrays, emulation: Emulation) -> tuple[BoolArray, FloatArray]:
    number = emulation.menus.index(arrays.menu) if arrays.menu in emulation.menus else 0
    counted = emulation.counted(number)
    weight = counted.table.weight
    fires = arrays.fires(counted.table.words, emulation.plan.bits[number])
    fitted = np.array([name in emulation.fitted[number] for name in arrays.names], np.bool_)
    touched = fires[:, fitted].any(axis=1)
    if not touched.any():
        return fires, weight
    # w f₀ + s w (f − f₀): with its fitted triggers s w, without them (1 − s) w
    unseen = counted.unseen
    rows = [fires[~touched], fires[touched], fires[touched] & ~fitted]
    weights = [weight[~touched], (weight * unseen)[touched], (weight * (1.0 - unseen))[touched]]
    return np.concatenate(rows), np.concatenate(weights)


class Patterns(NamedTuple):
    """m patterns, the first without a trigger, for c classes of crossings."""

    fires: BoolArray  # bool[n, m], where each trigger fires
    keep: FloatArray  # float64[c, m]: keep and other are Walker's tables of aliases
    other: IntArray  # int64[c, m]
    chance: float  # The probability that a pattern is drawn in a crossing

    def drawn(self, uniform: FloatArray, of: IntArray | int) -> IntArray:
        """Return a pattern for each uniform number, and each class of crossings."""
        scaled = uniform * self.keep.shape[1]
        number = np.minimum(scaled.astype(np.int64), self.keep.shape[1] - 1)
        drawn: IntArray = np.where(scaled - number < self.keep[of, number], number, self.other[of, number])
        return drawn


def to_draw(weighed: Weighed, factor: float = 1.0) -> Patterns:
    """Return the patterns for drawing. factor: on the probability of every pattern with a trigger."""
    chance = factor * (1.0 - weighed.share[:, 0])
    largest = float(chance.max())
    if largest > 1.0:
        raise TrigemuError(
            f"triggers fire, before their prescales, in {100 * largest / factor:.3g} % of the crossings: "
            f"that rate cannot be scaled by {factor:.4g}"
        )
    share = weighed.share * factor
    share[:, 0] = largest - chance  # a class with a lower rate draws nothing instead
    keep, other = np.ones(share.shape), np.tile(np.arange(share.shape[1]), (len(share), 1))
    for row in range(len(share)):
        if largest > 0:
            keep[row], other[row] = aliases(share[row] / largest)
    return Patterns(np.ascontiguousarray(weighed.fires.T), keep, other.astype(np.int64), largest)


def aliases(probability: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return Walker's tables: the probability to keep each of m evenly drawn numbers, float64[m], and the
    number that replaces it, int64[m] (M. D. Vose, IEEE Trans. Softw. Eng. 17 (1991) 972)."""
    m = len(probability)
    scaled = probability * (m / probability.sum())
    keep, other = np.ones(m), np.arange(m)
    small = [i for i in range(m) if scaled[i] < 1.0]
    large = [i for i in range(m) if scaled[i] >= 1.0]
    while small and large:
        less, more = small.pop(), large[-1]
        keep[less], other[less] = scaled[less], more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1.0:
            small.append(large.pop())
    return keep, other
