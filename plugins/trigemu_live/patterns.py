"""The triggers of a menu as arrays, and the probability of each pattern of decisions in a filled crossing,
for drawing.

An event of weight w Hz stands for a share w / Σw of the crossings. In a menu with fitted triggers, w is
counted as in its rates: events of both halves count without their fitted triggers, and those of the unseen
half, scaled to the sample, with them in place of the same events without. So drawn rates are those of `run`.
Where few events leave a pattern with a negative sum, it is not drawn; what that adds to the rate is known.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.counting.acceptance import own_decisions, raw_decisions
from trigemu.counting.seeds import postfix
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.simple import Random

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
        own_fired, raw = own_decisions(words, self.menu, bits), raw_decisions(words, self.menu, bits)
        columns = np.zeros((len(words), len(self.names)), np.bool_)
        for column, name in enumerate(self.names):
            trigger = self.menu.trigger(name)
            if trigger.prescale == math.inf or column in self.random:
                continue
            own_counts = trigger.enabled and trigger.seed is not None and trigger.seed.negates
            columns[:, column] = own_fired[name] if own_counts else raw[name]
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
    programs = [postfix(t.seed, position) if t.seed and t.enabled else [] for t in triggers]
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


#: The largest share of the rate of all triggers that patterns with negative sums may have.
MAX_NEGATIVE = 0.01
_TINY = 1e-12


class Patterns(NamedTuple):
    """m patterns; the first has no trigger that fires. c classes of crossings, such as bunches of equal
    luminosity.

    starts: int64[m + 1] and fired: int64[k], the nodes that fire in each, in their order.
    keep: float64[c, m] and other: int64[c, m], Walker's tables of aliases: a pattern is drawn evenly, kept
    with this probability, and otherwise replaced.
    chance: float64[1], the probability that a pattern is drawn in a crossing.
    """

    starts: IntArray
    fired: IntArray
    keep: FloatArray
    other: IntArray
    chance: FloatArray


class Weighed(NamedTuple):
    """fires: bool[m, n]; share: float64[c, m], of the crossings of each class; negative: the share of
    patterns that are not drawn, relative to all with a trigger."""

    fires: BoolArray
    share: FloatArray
    negative: float


def weigh(arrays: MenuArrays, emulations: list[Emulation]) -> Weighed:
    """Return the patterns of a menu and their shares of crossings, in one class for each emulation."""
    found: list[tuple[BoolArray, FloatArray]] = [_of(arrays, emulation) for emulation in emulations]
    everything = np.concatenate([fires for fires, _ in found])
    nothing = np.zeros((1, everything.shape[1]), np.bool_)
    packed = np.packbits(np.concatenate([nothing, everything]), axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    fires = np.concatenate([nothing, everything])[first]
    number, position = number.ravel()[1:], 0
    share = np.zeros((len(found), len(fires)))
    for row, (_, weight) in enumerate(found):
        np.add.at(share[row], number[position : position + len(weight)], weight)
        share[row] /= share[row].sum()
        position += len(weight)
    enabled = arrays.nodes.rows[:, 0] >= 0
    some: BoolArray = np.asarray(fires[:, enabled].any(axis=1))
    negative = float(-np.minimum(share[:, some], 0).sum() / max(share[:, some].sum(), _TINY))
    if negative > MAX_NEGATIVE or (share[:, ~some].sum(axis=1) < 0).any():
        raise TrigemuError(
            f"{arrays.menu.path}: patterns with negative weights have {100 * negative:.2g} % of the rate of "
            f"its triggers: crossings cannot be drawn from them; the samples need more events"
        )
    share = np.maximum(share, 0.0)
    share[:, 0] += share[:, ~some].sum(axis=1) - share[:, 0]  # what fires nothing needs no pattern of its own
    used: BoolArray = np.asarray(some & (share > 0).any(axis=0))
    used[0] = True
    share = share[:, used]
    share[:, 0] = 1.0 - share[:, 1:].sum(axis=1)
    return Weighed(fires[used], share, negative)


def _of(arrays: MenuArrays, emulation: Emulation) -> tuple[BoolArray, FloatArray]:
    catalogue = emulation.catalogue
    if catalogue.table.convention == "luminosity":
        raise SampleError(
            f"{catalogue.path}: the events are single interactions (convention 'luminosity'), not crossings: "
            f"how often two accepts follow each other cannot be drawn from them"
        )
    number = emulation.menus.index(arrays.menu) if arrays.menu in emulation.menus else 0
    counted = emulation.counted(number)
    weight = counted.table.weight
    fires = arrays.fires(counted.table.words, emulation.plan.bits[number])
    fitted = np.array([name in emulation.fitted[number] for name in arrays.names], np.bool_)
    touched = fires[:, fitted].any(axis=1)
    if not touched.any():
        return fires, weight
    unseen = counted.scales.unseen
    without = fires[touched] & ~fitted
    untouched = ~touched
    # w f₀ + s w (f − f₀): with its fitted triggers s w, without them (1 − s) w
    rows = [fires[untouched], fires[touched], without]
    weights = [
        weight[untouched],
        (weight * unseen)[touched],
        (weight * (1.0 - unseen))[touched],
    ]
    return np.concatenate(rows), np.concatenate(weights)


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
    starts = np.concatenate([[0], np.cumsum(weighed.fires.sum(axis=1))]).astype(np.int64)
    fired = np.nonzero(weighed.fires)[1].astype(np.int64)
    return Patterns(starts, fired, keep, other.astype(np.int64), np.array([largest]))


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
