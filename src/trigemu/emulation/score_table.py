"""Making score tables: the range of each threshold, and the pass over the events that menus may accept at the
lowest ones. By default a trigger's own rate increases and decreases by a factor in its range."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, nearest
from trigemu.base.mapping import engine_of
from trigemu.counting.decisions import raw_decisions
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, merge_tables
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Progress, Task, over_background, over_samples
from trigemu.emulation.event_table import FIRED, SCORE
from trigemu.emulation.plan import Plan, bit_of_words, decide, make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scores import (
    EVENT_COLUMNS,
    EventColumn,
    Scores,
    Selection,
    ThresholdRange,
    definition,
    event_columns,
    for_rows,
    made_with,
    take_rows,
)
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenusLike, menus_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import INTERACTIONS
from trigemu.triggers.base import ScoreKind

#: The columns of a score table besides those of scores and decisions.
PLAIN_COLUMNS = (
    *EVENT_COLUMNS,
    EventColumn("stratum", "int16", "the number of interactions, if crossings are reweighted by it; else 0"),
)
#: The factor by which a trigger's own rate may increase and decrease.
FACTOR = 10
#: Rates that differ by this fraction are the same in the search for default ranges.
_SAME = 1e-9
#: The number of bits of a score that its bin drops; 20 remain: sign, exponent, and a step of at most 0.4 %.
_DROPPED = 44
#: The bin of scores from 0.
_ZERO = 2**19


def score_table(
    menus: MenusLike,
    catalogue: SamplesLike = None,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: str | Sequence[str] = (),
    executor: Any = None,
    progress: Progress | None = None,
) -> Scores:
    """Prepare a table of the scores of all events that menus may accept at their lowest thresholds.

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
        The events are read on first use.

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
    >>> emulation = trigemu.emulate("menus/primary.toml", scores)
    >>> f"{trigemu.rates_of(emulation).rate.hz / 1e3:.2f} kHz"
    '21.41 kHz'
    """
    engine, input_menus = engine_of(executor), menus_of(menus)
    catalogue = at_conditions(input_menus, catalogue, engine, progress)
    signal_samples = [catalogue.sample(name) for name in names_of("the signals", signals)]
    if in_background := [sample.name for sample in signal_samples if sample in catalogue.background]:
        raise TrigemuError(f"{in_background[0]!r} is a background sample, which the table always includes")
    requested = requested_ranges(input_menus, vary or {})
    solved = input_menus
    if any(menu.budgeted for menu in input_menus):  # scores alone need no prescales
        solved = solve_budgets(input_menus, catalogue, executor=engine, progress=progress)
    plan = make_plan(solved)
    plan.check_background(catalogue)
    for sample in signal_samples:
        plan.check(sample)
    threshold_ranges = ranges_of(Job(solved, plan, catalogue), requested, engine, progress)
    loosest = tuple(loosest_menu(menu, threshold_ranges) for menu in solved)
    plan = make_plan(loosest)
    columns, numbers = _columns(loosest, plan), frozenset(sample.number for sample in signal_samples)
    task = _Collect(columns, *_selection(loosest, plan, catalogue), numbers, catalogue.stratum_of)
    samples, job = [*catalogue.background, *signal_samples], Job(loosest, plan, catalogue)
    names = tuple(sample.name for sample in signal_samples)
    digests = frozenset(sha256 for *_, sha256 in made_with(loosest, plan))
    rows = partial(over_samples, samples, job, task, for_rows(engine), progress)
    return Scores(solved, catalogue, (*PLAIN_COLUMNS, *columns), names, threshold_ranges, digests, rows)


def passes_to_score(menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]) -> int:
    """Return the number of passes of `score_table` over the background, for a progress bar."""
    budgets = any(menu.budgeted for menu in menus)
    open_ = any(isinstance(t.description, ScoreKind) and t.name not in vary for m in menus for t in m.used)
    return 1 + budgets + open_


def _columns(menus: Sequence[Menu], plan: Plan) -> tuple[EventColumn, ...]:
    """Return the columns of the scores or decisions of menus at their lowest thresholds, in the order of the
    groups of their plan."""
    columns: dict[str, EventColumn] = {}
    for group in plan.groups:
        defined: dict[str, tuple[str, ...]] = {}
        unit = ""
        for menu, bits in zip(menus, plan.bits, strict=True):
            for trigger in (menu.trigger(name) for name, bit in bits.items() if bit in group.bits):
                key = definition(menu, trigger)
                defined[key] = tuple(dict.fromkeys((*defined.get(key, ()), trigger.name)))
                unit = unit or unit_of_threshold(menu, trigger)
        triggers = [name for names in defined.values() for name in names]
        above = float(group.thresholds[0]) if len(group.thresholds) else None
        name = f"{FIRED if above is None else SCORE}{triggers[0]}"
        while name in columns:  # another definition in another menu
            name += "_"
        if above is None:
            what = f"decision of {', '.join(triggers)}, before prescale and seed"
            columns[name] = EventColumn(name, "bool", what, "", defined)
        else:
            what = f"score of {', '.join(triggers)}; −inf where it is not above {above:g}"
            columns[name] = EventColumn(name, "float64", what, unit, defined, above)
    return tuple(columns.values())


def _selection(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> tuple[tuple[int, ...], bool]:
    """Return the bits of which one fires in each event of the table, and whether all events are in it."""
    firing = np.zeros(plan.words, np.uint64)
    # A trigger with a seed that excludes others may fire where none without a seed does.
    negated = any(t.seed.negates for menu in menus for t in menu.used if t.seed)
    for menu, bits in zip(menus, plan.bits, strict=True):
        for name, bit in bits.items():
            if not menu.trigger(name).seed or negated:
                firing[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    patterns, everything = np.stack([np.zeros_like(firing), ~firing]), catalogue.pileup is not None
    for menu, bits in zip(menus, plan.bits, strict=True):  # `random`, `not` fire in any event
        raw = raw_decisions(patterns, menu, bits)
        everything |= any(bool(raw[trigger.name].any()) for trigger in menu.enabled)
    return tuple(firing.tolist()), everything


@dataclass(frozen=True)
class _Collect(Task[Selection]):
    """The task that collects the scores of a chunk."""

    columns: tuple[EventColumn, ...]  # Those of scores and decisions
    firing: tuple[int, ...]  # firing, everything: The events to keep, as in `_selection`
    everything: bool
    signals: frozenset[int]  # The samples of which all events are kept
    stratum_of: tuple[int, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Selection:
        work, core = Workspace(events), events.core
        words = decide(events, plan, work)[core]
        columns = event_columns(chunk, events)
        columns["stratum"] = np.zeros(len(words), np.int16)
        if any(self.stratum_of):
            last = len(self.stratum_of) - 1  # a signal may have more interactions than the background
            stratum = np.array(self.stratum_of)[np.minimum(events.scalars[INTERACTIONS[1]][core], last)]
            columns["stratum"] = stratum.astype(np.int16)
        keep = np.asarray((words & np.array(self.firing, np.uint64)).any(axis=1))
        keep |= self.everything or chunk.sample in self.signals
        kept, left = take_rows(columns, keep), take_rows(columns, ~keep)
        for column, group in zip(self.columns, plan.groups, strict=True):
            if column.above is None:
                kept[column.name] = bit_of_words(words, int(group.bits[0]))[keep]
                continue
            score = np.asarray(group.slot.compiled.score_above(work, column.above), np.float64)[core][keep]
            if np.inf in score:
                raise SampleError(
                    f"sample {events.sample!r}, event {kept['id'][score.argmax()]}: the score of a trigger "
                    f"with the threshold {column.above:g} is infinite, which cannot be compared with a "
                    f"threshold"
                )
            kept[column.name] = np.where(score > column.above, score, -np.inf)
        nothing = np.zeros((len(left["half"]), 1), np.uint64)
        keys = Keys(left["half"], stratum=left["stratum"])
        return Selection(kept, count_patterns(chunk.sample, nothing, left["weight"], keys))


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
    slots: dict[str, list[int]] = {}
    for menu, bits in zip(job.menus, job.plan.bits, strict=True):
        for trigger in menu.used:
            if isinstance(trigger.description, ScoreKind):
                slots.setdefault(trigger.name, []).append(bits[trigger.name])
    default: dict[int, ThresholdRange] = {}
    if open_ := sorted({slot for name in slots.keys() - requested.keys() for slot in slots[name]}):
        binned = merge_tables([*over_background(job, _Bin(job.menus, tuple(open_)), executor, progress)])
        present = {slot: job.plan.slots[slot].compiled.threshold or 0.0 for slot in open_}
        default = {slot: _range(binned, slot, threshold) for slot, threshold in present.items()}
    ranges = {}
    for name, of_name in slots.items():
        lows, highs = zip(*(requested.get(name) or default[slot] for slot in of_name), strict=True)
        ranges[name] = ThresholdRange(min(lows), max(highs))
    return ranges


@dataclass(frozen=True)
class _Bin(Task[PatternTable]):
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
            bins = Keys(bin=_bin_of(score[rows]))
            parts.append(count_patterns(slot, fired, events.weight[core][rows], bins))
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


def _range(binned: PatternTable, slot: int, threshold: float) -> ThresholdRange:
    """Return the lowest and the highest threshold of a slot whose present threshold is `threshold`."""
    rows = binned.sample == slot
    bins, place = np.unique(-binned.bin[rows], return_inverse=True)  # from the highest scores on
    weight, fired = binned.weight[rows], binned.words[rows, 0] != 0
    present = weight[fired].sum()
    if present <= 0:
        return ThresholdRange(threshold, threshold)
    above = np.cumsum(np.bincount(place.ravel(), weight))
    loosest = min(int(np.searchsorted(above, FACTOR * present * (1 - _SAME))), len(bins) - 1)
    tightest = min(int(np.searchsorted(above, present / FACTOR * (1 - _SAME))), len(bins) - 1)
    low, high = min(threshold, _below(-int(bins[loosest]))), max(threshold, _below(-int(bins[tightest])))
    digits = 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-300)))
    low, high = math.floor(low * 10.0**digits), math.ceil(high * 10.0**digits)
    return ThresholdRange(*(round(value / 10.0**digits, digits) for value in (low, high)))


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
