"""The ranges of thresholds of a score table: those that are asked for, and by default those in which a
trigger's own rate increases and decreases by a factor."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError, nearest
from trigemu.counting.acceptance import raw_decisions
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, merge_tables
from trigemu.emulation.engine import Chunk, Job, Progress, TableTask, over_background
from trigemu.emulation.plan import Plan, bit_of_words, decide
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.triggers.base import ScoreKind

#: The factor by which a trigger's own rate may increase and decrease.
FACTOR = 10
#: Rates that differ by this fraction are the same in the search for default ranges.
_SAME = 1e-9
#: The number of bits of a score that its bin drops; 20 remain: sign, exponent, and a step of at most 0.4 %.
_DROPPED = 44
#: The bin of scores from 0.
_ZERO = 2**19


class ThresholdRange(NamedTuple):
    """The lowest and the highest threshold at which a score table can be evaluated."""

    low: float
    high: float


def requested_ranges(
    menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]
) -> dict[str, ThresholdRange]:
    """Return the ranges that a user requested; raise TrigemuError for an unknown trigger or a wrong range."""
    triggers = {trigger.name: trigger for menu in menus for trigger in menu.used}
    ranges = {}
    for name, (low, high) in vary.items():
        if name not in triggers:
            raise TrigemuError(f"vary {name!r}: no menu has such a trigger enabled{nearest(name, triggers)}")
        trigger = triggers[name]
        if not isinstance(trigger.description, ScoreKind):
            raise TrigemuError(f"{trigger.place}: vary {name!r}: the kind {trigger.kind!r} has no threshold")
        if not -math.inf < low <= high < math.inf:
            raise TrigemuError(f"vary {name!r}: expected LOW ≤ HIGH, both finite, not {low:g} and {high:g}")
        if high - low == math.inf:
            raise TrigemuError(f"vary {name!r}: the range from {low:g} to {high:g} is too wide for a float")
        ranges[name] = ThresholdRange(float(low), float(high))
    return ranges


def ranges_of(
    job: Job, requested: Mapping[str, ThresholdRange], executor: Any, progress: Progress | None
) -> dict[str, ThresholdRange]:
    """Return the range of thresholds of each trigger that has a threshold: the union of its ranges in the
    menus."""
    scored = [
        (trigger.name, bits[trigger.name])
        for menu, bits in zip(job.menus, job.plan.bits, strict=True)
        for trigger in menu.used
        if isinstance(trigger.description, ScoreKind)
    ]
    slots = sorted({slot for name, slot in scored if name not in requested})
    default: dict[int, tuple[float, float]] = {}
    if slots:
        binned = merge_tables([*over_background(job, _Bin(job.menus, tuple(slots)), executor, progress)])
        for slot in slots:
            default[slot] = _range(binned, slot, job.plan.slots[slot].compiled.threshold or 0.0)
    ranges: dict[str, ThresholdRange] = {}
    for name, slot in scored:
        low, high = requested.get(name) or default[slot]
        before = ranges.get(name, ThresholdRange(low, high))
        ranges[name] = ThresholdRange(min(low, before.low), max(high, before.high))
    return ranges


@dataclass(frozen=True)
class _Bin(TableTask):
    """The task that sums the weights of a chunk in bins of scores: the "sample" of the table is the slot, its
    pattern the decision at the present threshold."""

    menus: tuple[Menu, ...]
    slots: tuple[int, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        work, core = Workspace(events), events.core
        words = decide(events, plan, work)[core]
        parts = []
        for slot in self.slots:
            score = np.asarray(plan.slots[slot].compiled.evaluate(work), np.float64)[core]
            rows = np.flatnonzero((score > -np.inf) & self._seed_fires(plan, slot, words))
            fired = bit_of_words(words, slot)[rows, None].astype(np.uint64)
            parts.append(
                count_patterns(slot, fired, events.weight[core][rows], Keys(bin=_bin_of(score[rows])))
            )
        return merge_tables(parts)

    def _seed_fires(self, plan: Plan, slot: int, words: Words) -> BoolArray:
        """Return whether the seed of the first trigger of a slot fires in each event."""
        for menu, bits in zip(self.menus, plan.bits, strict=True):
            for trigger in menu.used:
                if bits.get(trigger.name) == slot and trigger.seed:
                    return trigger.seed.evaluate(raw_decisions(words, menu, bits))
        return np.ones(len(words), np.bool_)


def _bin_of(score: FloatArray) -> IntArray:
    """Return the bin of each score, int64[n] ≥ 0, ascending with the score."""
    return (_ordered(score.view(np.int64)) >> _DROPPED) + _ZERO


def _below(bin_: int) -> float:
    """Return the largest number below all scores of a bin, or the lowest float."""
    edge = _ordered(np.array([(bin_ - _ZERO) << _DROPPED])).view(np.float64)
    return max(math.nextafter(float(edge[0]), -math.inf), -sys.float_info.max)


def _ordered(bits: IntArray) -> IntArray:
    """Return the bits of floats as integers that ascend with them, and these as the bits of floats."""
    return bits ^ (bits >> 63 & np.iinfo(np.int64).max)


def _range(binned: PatternTable, slot: int, threshold: float) -> tuple[float, float]:
    """Return the lowest and the highest threshold of a slot whose present threshold is `threshold`."""
    rows = binned.sample == slot
    bins, place = np.unique(-binned.bin[rows], return_inverse=True)  # from the highest scores on
    weight, fired = binned.weight[rows], binned.words[rows, 0] != 0
    present = weight[fired].sum()
    if present <= 0:
        return threshold, threshold
    above = np.cumsum(np.bincount(place.ravel(), weight))
    loosest = min(int(np.searchsorted(above, FACTOR * present * (1 - _SAME))), len(bins) - 1)
    tightest = min(int(np.searchsorted(above, present / FACTOR * (1 - _SAME))), len(bins) - 1)
    low, high = min(threshold, _below(-int(bins[loosest]))), max(threshold, _below(-int(bins[tightest])))
    digits = 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-300)))
    return _rounded(low, digits, math.floor), _rounded(high, digits, math.ceil)


def _rounded(value: float, digits: int, towards: Callable[[float], int]) -> float:
    """Round a number to some digits after the decimal point; negative: before it."""
    return round(towards(value * 10.0**digits) / 10.0**digits, digits)


def loosest_menu(menu: Menu, threshold_ranges: Mapping[str, ThresholdRange]) -> Menu:
    """Return a menu with its lowest thresholds: that of the range, or the present one if it is lower."""
    triggers = []
    for trigger in menu.triggers:
        kind = trigger.description
        if isinstance(kind, ScoreKind) and trigger.name in threshold_ranges:
            kind = kind.at(min(kind.threshold, threshold_ranges[trigger.name].low))
            trigger = replace(trigger, description=kind, budget=None, solution=None)
        triggers.append(trigger)
    return replace(menu, triggers=tuple(triggers))
