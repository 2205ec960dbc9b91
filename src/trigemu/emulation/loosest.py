"""The default ranges of thresholds of a score table: from ten times the present rate of a trigger to a tenth.

One pass sums the weights of events in bins of their scores, which are narrow at any scale: the leading bits
of the score as a float.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from trigemu.counting import check_array, check_within, raw_decisions
from trigemu.emulation.chunks import Chunk
from trigemu.emulation.engine import Job, Progress, over_background
from trigemu.emulation.plan import Plan, decide
from trigemu.emulation.stored_results import check_result
from trigemu.menus import Menu
from trigemu.observables import Workspace
from trigemu.samples import Events
from trigemu.support import BoolArray, FloatArray, IntArray, TrigemuError, Words

#: The factor by which a trigger's own rate may increase and decrease.
FACTOR = 10
#: The leading bits that make a bin: sign, exponent, and a step of at most 0.4 %.
_BITS = 20
_REST = 64 - _BITS
#: Weights are summed as integers, so that sums do not depend on the order of events.
_PER_HZ = 2.0**20
_LOWEST = -(2**63)


@dataclass(frozen=True)
class BinnedScores:
    """Weights in bins of the scores of slots, ordered by both. slot, bin: int64[k]. weight, present:
    int64[k], the sum of all events, and of events that fire at the present thresholds."""

    slot: IntArray
    bin: IntArray
    weight: IntArray
    present: IntArray


def default_ranges(
    job: Job, slots: Sequence[int], executor: Any, progress: Progress | None
) -> dict[int, tuple[float, float]]:
    """Return the range of thresholds of some slots with a score, in one pass over the background."""
    task = _Bin(job.menus, tuple(slots))
    binned = task.merge([*over_background(job, task, executor, progress)])
    thresholds = {slot: job.plan.slots[slot].compiled.threshold or 0.0 for slot in slots}
    return {slot: _range(binned, slot, threshold) for slot, threshold in thresholds.items()}


@dataclass(frozen=True)
class _Bin:
    """The task that bins the scores of a chunk."""

    menus: tuple[Menu, ...]
    slots: tuple[int, ...]
    classes: ClassVar[tuple[type, ...]] = (BinnedScores,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> BinnedScores:
        work, core = Workspace(events), events.core
        words = decide(events, plan, work)[core]
        weight = np.rint(events.weight[core] * _PER_HZ).astype(np.int64)
        parts = []
        for slot in self.slots:
            score = np.asarray(plan.slots[slot].compiled.evaluate(work), np.float64)[core]
            fired = (words[:, slot // 64] >> np.uint64(slot % 64)) & np.uint64(1) != 0
            rows = np.flatnonzero((score > -np.inf) & self._seed_fires(plan, slot, words))
            present = np.where(fired, weight, 0)[rows]
            parts.append(BinnedScores(np.full(len(rows), slot), _bin_of(score[rows]), weight[rows], present))
        return self.merge(parts)

    def _seed_fires(self, plan: Plan, slot: int, words: Words) -> BoolArray:
        """Return whether the seed of the first trigger of a slot fires in each event."""
        for menu, bits in zip(self.menus, plan.bits, strict=True):
            for trigger in menu.used:
                if bits.get(trigger.name) == slot and trigger.seed:
                    return trigger.seed.evaluate(raw_decisions(words, menu, bits))
        return np.ones(len(words), np.bool_)

    def merge(self, parts: Sequence[BinnedScores]) -> BinnedScores:
        names = ("slot", "bin", "weight", "present")
        slot, bins, weight, present = (np.concatenate([getattr(p, name) for p in parts]) for name in names)
        order = np.lexsort((bins, slot))
        slot, bins = slot[order], bins[order]
        first = np.flatnonzero(np.diff(slot, prepend=-1) | np.diff(bins, prepend=_LOWEST))
        if not len(first):
            return BinnedScores(slot, bins, weight, present)
        sums = (np.add.reduceat(values[order], first) for values in (weight, present))
        return BinnedScores(slot[first], bins[first], *sums)


@check_result.register
def _(task: _Bin, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, BinnedScores):
        raise TrigemuError("it has no weights in bins of scores")
    check_array("slot", part.slot, np.dtype("i8"), None)
    for field in fields(part):
        check_array(field.name, getattr(part, field.name), np.dtype("i8"), len(part.slot))
    check_within("the slot", part.slot, max(task.slots, default=-1) + 1)
    check_within("the bin, from the lowest one on,", part.bin + 2**_BITS, 2 ** (_BITS + 1))


def _bin_of(score: FloatArray) -> IntArray:
    """Return the bin of each score, int64[n], ascending with the score; negative below 0."""
    bits = score.view(np.int64) >> _REST
    return np.where(bits < 0, -1 - (bits & (2 ** (_BITS - 1) - 1)), bits)


def _below(bin_: int) -> float:
    """Return the largest number below all scores of a bin, or the lowest float."""
    size = bin_ << _REST if bin_ >= 0 else (-bin_ << _REST) - 1
    edge = float(np.array([size], np.int64).view(np.float64)[0])
    return max(math.nextafter(edge if bin_ >= 0 else -edge, -math.inf), -sys.float_info.max)


def _range(binned: BinnedScores, slot: int, threshold: float) -> tuple[float, float]:
    """Return the lowest and the highest threshold of a slot whose present threshold is `threshold`."""
    own = binned.slot == slot
    bins, weight, present = binned.bin[own][::-1], binned.weight[own][::-1], int(binned.present[own].sum())
    if present <= 0:
        return threshold, threshold
    above = np.cumsum(weight)
    loosest = min(int(np.searchsorted(above, FACTOR * present)), len(bins) - 1)
    tightest = min(int(np.searchsorted(above, present / FACTOR)), len(bins) - 1)
    low, high = min(threshold, _below(int(bins[loosest]))), max(threshold, _below(int(bins[tightest])))
    digits = 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-300)))
    return _rounded(low, digits, math.floor), _rounded(high, digits, math.ceil)


def _rounded(value: float, digits: int, towards: Callable[[float], int]) -> float:
    """Round a number to some digits after the decimal point; negative: before it."""
    return round(towards(value * 10.0**digits) / 10.0**digits, digits)
