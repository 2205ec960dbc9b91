"""Make score tables: the default ranges of thresholds, and the pass over the events."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, nearest
from trigemu.base.fingerprint import fingerprint
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import raw_decisions
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.counting.score_table import ScoreTable, merge_score_tables
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import (
    Chunk,
    Job,
    Progress,
    over_background,
    over_samples,
)
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.emulation.scores import Scores, Stored, ThresholdRange, definition, range_mistake
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenusLike, menus_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import INTERACTIONS
from trigemu.samples.split import half_of
from trigemu.triggers.base import ScoreKind

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
    binned = task.merge([])
    for part in over_background(job, task, executor, progress):
        binned = task.merge([binned, part])
    thresholds = {slot: job.plan.slots[slot].compiled.threshold or 0.0 for slot in slots}
    return {slot: _range(binned, slot, threshold) for slot, threshold in thresholds.items()}


@dataclass(frozen=True)
class _Bin:
    """The task that bins the scores of a chunk."""

    menus: tuple[Menu, ...]
    slots: tuple[int, ...]

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
        slot, bins, weight, present = (
            np.concatenate([np.empty(0, np.int64), *(getattr(part, field.name) for part in parts)])
            for field in fields(BinnedScores)
        )
        order = np.lexsort((bins, slot))
        slot, bins = slot[order], bins[order]
        first = np.flatnonzero(np.diff(slot, prepend=-1) | np.diff(bins, prepend=_LOWEST))
        if not len(first):
            return BinnedScores(slot, bins, weight, present)
        sums = (np.add.reduceat(values[order], first) for values in (weight, present))
        return BinnedScores(slot[first], bins[first], *sums)


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
    rows = binned.slot == slot
    bins, weight, present = binned.bin[rows][::-1], binned.weight[rows][::-1], int(binned.present[rows].sum())
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


@dataclass(frozen=True)
class ScorePass:
    """The pass over the events that collects scores.

    Attributes
    ----------
    menus : tuple of Menu
        The menus.
    catalogue : Catalogue
        The samples.
    parts : callable
        Returns an iterator over the tables of chunks, each with the name of its signal, or '' for the
        background.
    signals : tuple of str
        The names of the signals.
    threshold_ranges, stored, made_with
        As in `Scores`.
    """

    menus: tuple[Menu, ...]
    catalogue: Catalogue
    parts: Callable[[], Iterator[tuple[str, ScoreTable]]]
    signals: tuple[str, ...]
    threshold_ranges: Mapping[str, ThresholdRange]
    stored: Mapping[str, Stored]
    made_with: frozenset[str]


def score_table(
    menus: MenusLike,
    catalogue: SamplesLike = None,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: str | Sequence[str] = (),
    executor: Any = None,
    progress: Progress | None = None,
) -> Scores:
    """Collect the scores of all events that menus may accept at their lowest thresholds.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus. Rate budgets are solved first.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples, as in `emulate`.
    vary : mapping of str to tuple of float, optional
        The lowest and the highest threshold of triggers, by name. By default, the thresholds at which a
        trigger's own rate is ten times the present one and a tenth of it, which needs one more pass.
    signals : str or sequence of str
        Names of samples of which all events are stored, in addition to the background.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Scores

    Raises
    ------
    TrigemuError
        If a trigger to vary is unknown or has no threshold, or a budget cannot be met.
    SampleError
        If a sample lacks a column that a trigger needs.

    Examples
    --------
    >>> import trigemu
    >>> scores = trigemu.score_table("menus/primary.toml", vary={"J100": (60, 160), "G30": (20, 50)})
    >>> emulation = scores.emulation("menus/primary.toml")
    >>> f"{trigemu.rates_of(emulation).rate.hz / 1e3:.2f} kHz"
    '21.41 kHz'
    """
    collected = score_pass(menus, catalogue, vary=vary, signals=signals, executor=executor, progress=progress)
    tables: dict[str, list[ScoreTable]] = {name: [] for name in ("", *collected.signals)}
    for name, part in collected.parts():
        tables[name].append(part)
    table, *of_signals = (merge_score_tables(parts) for parts in tables.values())
    return Scores(
        collected.menus,
        collected.catalogue,
        table,
        dict(zip(collected.signals, of_signals, strict=True)),
        collected.threshold_ranges,
        collected.stored,
        collected.made_with,
    )


def score_pass(
    menus: MenusLike,
    catalogue: SamplesLike = None,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: str | Sequence[str] = (),
    executor: Any = None,
    progress: Progress | None = None,
) -> ScorePass:
    """Find the ranges of thresholds, and return the pass that collects scores; the arguments are those of
    `score_table`."""
    engine = engine_of(executor)
    catalogue = samples_of(catalogue, executor=engine)
    chosen = [catalogue.sample(name) for name in names_of("the signals", signals)]
    if in_background := [sample.name for sample in chosen if sample in catalogue.background]:
        raise TrigemuError(f"{in_background[0]!r} is a background sample, which the table always includes")
    input_menus = menus_of(menus)
    requested = _requested(input_menus, vary or {})
    solved = input_menus
    if any(menu.budgeted for menu in input_menus):  # scores alone need no prescales
        solved = solve_budgets(input_menus, catalogue, executor=engine, progress=progress)
    plan = make_plan(solved)
    plan.check_background(catalogue)
    for sample in chosen:
        plan.check(sample)
    threshold_ranges = _threshold_ranges(Job(solved, plan, catalogue), requested, engine, progress)
    loosest = tuple(_loosest(menu, threshold_ranges) for menu in solved)
    plan = make_plan(loosest)
    task, stored = _collection(loosest, plan, frozenset(sample.number for sample in chosen), catalogue)
    job = Job(loosest, plan, catalogue)
    made_with = {sha256 for models in plan.models for sha256 in models.values()}
    made_with |= {plugin.sha256 for menu in solved for plugin in menu.plugins}

    def parts() -> Iterator[tuple[str, ScoreTable]]:
        yield from (("", part) for part in over_background(job, task, engine, progress))
        for sample in chosen:
            yield from ((sample.name, part) for part in over_samples([sample], job, task, engine, progress))

    names = tuple(sample.name for sample in chosen)
    return ScorePass(solved, catalogue, parts, names, threshold_ranges, stored, frozenset(made_with))


def passes_to_score(menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]) -> int:
    """Return the number of passes of `score_table` over the background, for a progress bar."""
    budgets = any(menu.budgeted for menu in menus)
    open_ = any(isinstance(t.description, ScoreKind) and t.name not in vary for m in menus for t in m.used)
    return 1 + budgets + open_


def _requested(menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]) -> dict[str, ThresholdRange]:
    """Return the ranges that a user requested; raise TrigemuError for an unknown trigger or a wrong range."""
    triggers = {trigger.name: trigger for menu in menus for trigger in menu.used}
    ranges = {}
    for name, (low, high) in vary.items():
        if name not in triggers:
            raise TrigemuError(f"vary {name!r}: no menu has such a trigger enabled{nearest(name, triggers)}")
        trigger = triggers[name]
        if not isinstance(trigger.description, ScoreKind):
            raise TrigemuError(f"{trigger.place}: vary {name!r}: the kind {trigger.kind!r} has no threshold")
        if mistake := range_mistake(low, high):
            raise TrigemuError(f"vary {name!r}: {mistake}")
        ranges[name] = ThresholdRange(float(low), float(high))
    return ranges


def _threshold_ranges(
    job: Job, requested: Mapping[str, ThresholdRange], executor: Any, progress: Progress | None
) -> dict[str, ThresholdRange]:
    """Return the range of thresholds of each trigger that has a threshold: the union of its ranges in the
    menus."""
    named = [
        (trigger.name, bits[trigger.name])
        for menu, bits in zip(job.menus, job.plan.bits, strict=True)
        for trigger in menu.used
        if isinstance(trigger.description, ScoreKind)
    ]
    slots = sorted({slot for name, slot in named if name not in requested})
    default = default_ranges(job, slots, executor, progress) if slots else {}
    ranges: dict[str, ThresholdRange] = {}
    for name, slot in named:
        low, high = requested.get(name) or default[slot]
        before = ranges.get(name, ThresholdRange(low, high))
        ranges[name] = ThresholdRange(min(low, before.low), max(high, before.high))
    return ranges


def _loosest(menu: Menu, threshold_ranges: Mapping[str, ThresholdRange]) -> Menu:
    """Return a menu with its lowest thresholds: that of the range, or the present one if it is lower."""
    triggers = []
    for trigger in menu.triggers:
        kind = trigger.description
        if isinstance(kind, ScoreKind) and trigger.name in threshold_ranges:
            kind = kind.at(min(kind.threshold, threshold_ranges[trigger.name].low))
            trigger = replace(trigger, description=kind, budget=None, solution=None)
        triggers.append(trigger)
    return replace(menu, triggers=tuple(triggers))


def _collection(
    menus: Sequence[Menu], plan: Plan, signals: frozenset[int], catalogue: Catalogue
) -> tuple[_Collect, dict[str, Stored]]:
    """Return the task, and the position of each trigger in its table, by its definition."""
    columns: dict[int, int] = {}
    thresholds: list[tuple[int, float]] = []
    bits: dict[int, int] = {}
    for group in plan.groups:
        for bit in group.bits.tolist():
            if len(group.thresholds):
                columns[bit] = len(thresholds)
            else:
                bits[bit] = len(bits)
        if len(group.thresholds):
            thresholds.append((int(group.bits[0]), float(group.thresholds[0])))
    stored: dict[str, Stored] = {}
    firing = np.zeros(plan.words, np.uint64)
    # A trigger with a seed that excludes others may fire where none without a seed does.
    negated = any(t.seed.negates for menu in menus for t in menu.used if t.seed)
    for menu, bit_of in zip(menus, plan.bits, strict=True):
        scope = fingerprint(menu.scope)
        for name, slot in bit_of.items():
            trigger = menu.trigger(name)
            key, column = definition(scope, trigger), columns.get(slot, -1)
            names = (*stored[key].names, name) if key in stored else (name,)
            above = thresholds[column][1] if column >= 0 else -math.inf
            stored[key] = Stored(tuple(dict.fromkeys(names)), column, bits.get(slot, -1), above)
            if not trigger.seed or negated:
                firing[slot // 64] |= np.uint64(1) << np.uint64(slot % 64)
    everything = catalogue.pileup is not None or _fires_on_nothing(menus, plan, firing)
    task = _Collect(
        tuple(thresholds), tuple(bits), tuple(firing.tolist()), everything, signals, catalogue.stratum_of
    )
    return task, stored


def _fires_on_nothing(menus: Sequence[Menu], plan: Plan, firing: Words) -> bool:
    """Whether a trigger may fire in events in which no trigger without a seed fires: `random`, `not`."""
    patterns = np.stack([np.zeros_like(firing), ~firing])
    return any(
        raw[trigger.name].any()
        for menu, bits in zip(menus, plan.bits, strict=True)
        for raw in [raw_decisions(patterns, menu, bits)]
        for trigger in menu.enabled
    )


@dataclass(frozen=True)
class _Collect:
    """The task that collects the scores of a chunk.

    thresholds: for each column, a slot and its lowest threshold. bits: the slots without a score. firing: the
    bits of the slots that select events. everything: whether all events are selected. signals: the samples of
    which all events are selected.
    """

    thresholds: tuple[tuple[int, float], ...]
    bits: tuple[int, ...]
    firing: tuple[int, ...]
    everything: bool
    signals: frozenset[int]
    stratum_of: tuple[int, ...]

    @property
    def strata(self) -> int:
        return max(self.stratum_of, default=0) + 1

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> ScoreTable:
        work, core = Workspace(events), events.core
        words = decide(events, plan, work)[core]
        half, stratum = half_of(events.parent)[core], np.zeros(len(words), np.int64)
        if self.strata > 1:
            last = len(self.stratum_of) - 1  # a signal may have more interactions than the background
            stratum = np.array(self.stratum_of)[np.minimum(events.scalars[INTERACTIONS[1]][core], last)]
        keep = (words & np.array(self.firing, np.uint64)).any(axis=1)
        keep |= self.everything or chunk.sample in self.signals
        n = np.count_nonzero(keep)
        scores = np.full((n, len(self.thresholds)), -np.inf, order="F")
        for column, (slot, threshold) in enumerate(self.thresholds):
            score = np.asarray(plan.slots[slot].compiled.score_above(work, threshold), np.float64)[core][keep]
            if np.inf in score:
                number = events.id[core][keep][score.argmax()]
                raise SampleError(
                    f"sample {events.sample!r}, event {number}: the score of a trigger with the threshold "
                    f"{threshold:g} is infinite, which cannot be compared with a threshold"
                )
            scores[:, column] = np.where(score > threshold, score, -np.inf)
        left = ~keep
        nothing = np.zeros((len(words) - n, 1), np.uint64)
        return ScoreTable(
            np.full(n, chunk.sample, np.int64),
            half[keep],
            stratum[keep],
            events.id[core][keep],
            events.parent[core][keep],
            events.weight[core][keep],
            scores,
            _only(words[keep], self.bits),
            count_patterns(
                chunk.sample, nothing, events.weight[core][left], Keys(half[left], stratum=stratum[left])
            ),
        )

    def merge(self, parts: Sequence[ScoreTable]) -> ScoreTable:
        return merge_score_tables(parts)


def _only(words: Words, bits: Iterable[int]) -> Words:
    """Return some bits of patterns, in this order."""
    chosen = tuple(bits)
    selected = np.zeros((len(words), max(1, -(-len(chosen) // 64))), np.uint64)
    for number, bit in enumerate(chosen):
        fired = (words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)
        selected[:, number // 64] |= fired << np.uint64(number % 64)
    return selected
