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
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.decisions import own_decisions, raw_decisions
from trigemu.counting.quantities import groups_of
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.logic import Random

#: The largest denominator of a prescale: that of 0.01, the step of CMS, and of any usual decimal fraction.
MAX_DENOMINATOR = 10**6
#: The largest numerator, so that counters are int64: with a larger prescale nothing is accepted anyway.
MAX_NUMERATOR = 2**61


Kind = Literal["trigger", "group", "level"]


class Counter(NamedTuple):
    """A prescale counter."""

    passes: Mapping[str, int]  # Its triggers, and how many of its steps each must pass to accept
    first: int  # first, last: Its steps, in `MenuArrays.steps`
    last: int
    reads: frozenset[str]  # The triggers that the seeds of its own read


class Row(NamedTuple):
    """What is counted: a trigger, a group, or a level."""

    name: str
    kind: Kind
    level: str  # Its level; empty in a menu without levels


@dataclass(frozen=True)
class MenuArrays:
    """The triggers of a menu: t enabled ones, and those that their seeds read."""

    menu: Menu
    names: tuple[str, ...]  #: In the order of the file, in which phases of counters are drawn
    counters: tuple[Counter, ...]  #: Each after those of the triggers that its own read
    steps: IntArray  #: int64[s, 2], a step of a counter accepts the first number out of the second
    #: The triggers of kind `random` without a seed, which are drawn by themselves, with their probabilities.
    random: Mapping[str, float]
    rows: tuple[Row, ...]  #: The enabled triggers, then the groups, then the levels
    members: BoolArray  #: bool[rows, t], the triggers in each row
    level_of: IntArray  #: int64[rows], the row of the level of each row

    @property
    def first(self) -> int:
        """The row of the first level."""
        return int(self.level_of.min())

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
    levels = menu.levels or ("",)
    given: dict[Kind, Sequence[str]] = {
        "trigger": enabled,
        "group": [t.group or "" for t in menu.enabled],
        "level": [t.level or levels[0] for t in menu.enabled],
    }
    names_of: dict[Kind, Sequence[str]] = {"trigger": enabled, "group": groups_of(menu), "level": levels}
    kinds = [(kind, name) for kind, of_kind in names_of.items() for name in of_kind]
    members = np.array([np.equal(given[kind], name) for kind, name in kinds])
    own = (given["level"][int(row.argmax())] for row in members[: -len(levels)])
    rows = tuple(Row(name, kind, level) for (kind, name), level in zip(kinds, [*own, *levels], strict=True))
    level_of = np.array([len(rows) - len(levels) + levels.index(row.level) for row in rows])
    return MenuArrays(menu, names, _in_order(menu, counters), steps, random, rows, members, level_of)


def _counters(triggers: Sequence[Trigger]) -> tuple[list[Counter], IntArray]:
    sets: dict[tuple[bool, str], list[Trigger]] = {}
    for t in triggers:
        shared = t.coherent if t.enabled and t.prescale < math.inf else None
        sets.setdefault((shared is not None, shared or t.name), []).append(t)
    counters: list[Counter] = []
    steps: list[tuple[int, int]] = []
    for members in sets.values():
        counted = {t.name: t.prescale for t in members if t.enabled and 1 < t.prescale < math.inf}
        prescales, first = sorted({*counted.values()}), len(steps)
        for smaller, larger in pairwise((1.0, *prescales)):
            ratio = min(Fraction(repr(larger)) / Fraction(repr(smaller)), Fraction(MAX_NUMERATOR))
            ratio = ratio.limit_denominator(min(MAX_DENOMINATOR, int(MAX_NUMERATOR / ratio)))
            steps.append((ratio.denominator, ratio.numerator))
        passes = {t.name: 1 + prescales.index(t.prescale) if t.name in counted else 0 for t in members}
        reads = {name for t in members if t.enabled and t.seed for name in t.seed.names()}
        counters.append(Counter(passes, first, len(steps), frozenset(reads)))
    return counters, np.array(steps, np.int64).reshape(-1, 2)


def _in_order(menu: Menu, counters: Sequence[Counter]) -> tuple[Counter, ...]:
    """Return counters such that each comes after those of the triggers that its own read."""
    counter_of = {name: number for number, counter in enumerate(counters) for name in counter.passes}
    before = {
        number: {counter_of[name] for name in counter.reads if name in counter_of}
        for number, counter in enumerate(counters)
    }
    try:
        return tuple(counters[number] for number in TopologicalSorter(before).static_order())
    except CycleError as error:
        names = ", ".join(repr(name) for number in {*error.args[1]} for name in counters[number].passes)
        raise TrigemuError(
            f"{menu.path}: {names} read each other through their coherent sets, so that their counters "
            f"cannot be run one after the other"
        ) from None


#: The largest share of the rate of all triggers that patterns with negative sums may have.
MAX_NEGATIVE = 0.01


class Patterns(NamedTuple):
    """m patterns, the first without a trigger."""

    fires: BoolArray  # bool[n, m], where each trigger fires
    keep: FloatArray  # float64[m]: keep and other are Walker's tables of aliases
    other: IntArray  # int64[m]
    chance: float  # The probability that a pattern with a trigger is drawn in a crossing
    negative: float  # The share of patterns that are not drawn, relative to all with a trigger

    def drawn(self, uniform: FloatArray) -> IntArray:
        """Return a pattern with a trigger for each uniform number."""
        scaled = uniform * len(self.keep)
        number = np.minimum(scaled.astype(np.int64), len(self.keep) - 1)
        drawn: IntArray = np.where(scaled - number < self.keep[number], number, self.other[number])
        return drawn


def patterns_of(arrays: MenuArrays, emulation: Emulation, factor: float = 1.0) -> Patterns:
    """Return the patterns of an emulation for drawing. factor: on the probability of every pattern with a
    trigger."""
    counted = emulation.counted(0)
    weight, unseen = counted.table.weight, counted.unseen
    all_fire = arrays.fires(counted.table.words, emulation.plan.bits[0])
    fitted = np.array([name in emulation.fitted[0] for name in arrays.names], np.bool_)
    touched = all_fire[:, fitted].any(axis=1)
    # w f₀ + s w (f − f₀): with its fitted triggers s w, without them (1 − s) w
    rows = [all_fire[~touched], all_fire[touched], all_fire[touched] & ~fitted]
    weights = [weight[~touched], (weight * unseen)[touched], (weight * (1.0 - unseen))[touched]]
    everything = np.concatenate([np.zeros((1, len(fitted)), np.bool_), *rows])
    packed = np.packbits(everything, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    fires = everything[first]
    share = np.bincount(number.ravel(), np.concatenate([[0.0], *weights])).astype(np.float64)
    share /= share.sum()
    enabled = np.array([arrays.menu.trigger(name).enabled for name in arrays.names], np.bool_)
    some: BoolArray = np.asarray(fires[:, enabled].any(axis=1))
    negative = float(-np.minimum(share[some], 0).sum() / max(share[some].sum(), 1e-12))
    if negative > MAX_NEGATIVE or share[~some].sum() < 0:
        raise TrigemuError(
            f"{arrays.menu.path}: patterns with negative weights have {100 * negative:.2g} % of the rate of "
            f"its triggers: crossings cannot be drawn from them; the samples need more events"
        )
    used = some & (share > 0)
    used[0] = True
    share = factor * share[used]
    share[0] = 0.0  # crossings in which nothing fires are not simulated
    chance = float(share.sum())
    if chance > 1.0 + 1e-9:
        raise TrigemuError(
            f"triggers fire, before their prescales, in {100 * chance / factor:.3g} % of the crossings: "
            f"that rate cannot be scaled by {factor:.4g}"
        )
    return Patterns(np.ascontiguousarray(fires[used].T), *aliases(share / (chance or 1.0)), chance, negative)


def aliases(probability: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return Walker's tables: the probability to keep each of m evenly drawn numbers, float64[m], and the
    number that replaces it, int64[m] (M. D. Vose, IEEE Trans. Softw. Eng. 17 (1991) 972)."""
    m = len(probability)
    scaled = probability * (m / (probability.sum() or 1.0))
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
