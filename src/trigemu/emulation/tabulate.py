"""Making tables of events: with scores and acceptances of a menu, or with the scores of all events that menus
may accept at their lowest thresholds."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, nearest
from trigemu.base.mapping import Engine, engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import Decisions, raw_decisions, switched_off
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, distinct_entries, merge_tables
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Task, over_background, over_samples
from trigemu.emulation.event_table import (
    EVENT_COLUMNS,
    EventColumn,
    EventTable,
    ThresholdRange,
    definition,
    made_with,
)
from trigemu.emulation.per_event import Columns, PerEvent, Selection
from trigemu.emulation.plan import Plan, bit_of_words, decide, make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import Sample
from trigemu.samples.split import HALF_NAMES
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.logic import Expression, parse_expression

#: Prefixes of the names of columns of a trigger.
FIRED, SCORE, ACCEPTANCE = "fired_", "score_", "acceptance_"
#: The column of a score table with the stratum of a crossing.
STRATUM = EventColumn(
    "stratum", "int16", "the number of interactions, if crossings are reweighted by it; else 0"
)
#: The factor by which a trigger's own rate may increase and decrease in its default range of thresholds.
FACTOR = 10
#: Rates that differ by this fraction are the same in the search for default ranges.
_SAME = 1e-9
#: The largest number of events of a chunk: several results, with many columns, are in memory.
_ROW_EVENTS = 65_536


def event_table(
    menu: MenuLike,
    catalogue: SamplesLike = None,
    *,
    samples: Sequence[str] = (),
    fired: str | None = None,
    executor: Any = None,
) -> EventTable:
    """Prepare a table of events with decisions, scores and acceptances of a menu.

    The sum of weight · acceptance_NAME over the background is the total rate of a trigger in `rates_of`,
    that of weight · acceptance the rate of the menu. If a trigger was fitted to these samples, its rate is
    the sum of weight_unseen · acceptance_NAME, and the rate of the menu that of weight · unfitted_acceptance
    + weight_unseen · (acceptance − unfitted_acceptance).

    Parameters
    ----------
    menu : path or Menu
        The menu. Rate budgets are solved first.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples, as in `emulate`.
    samples : sequence of str
        Names of the samples; by default the background.
    fired : str, optional
        Names of triggers joined by and, or, not: only events for which this is true, before prescales.
    executor
        As in `emulate`.

    Returns
    -------
    EventTable
        Columns are computed on request: in parts, as arrays by name, or as an awkward array.

    Raises
    ------
    TrigemuError
        If a sample or a trigger is unknown, or a budget cannot be met.
    SampleError
        If a sample lacks a column that a trigger needs.

    Examples
    --------
    >>> import trigemu
    >>> table = trigemu.event_table("menus/primary.toml", samples=["yy"], fired="J100 and G30")
    >>> arrays = table.arrays()
    >>> bool(arrays["score_G30"].min() > 30.0)
    True
    """
    engine, menu = engine_of(executor), at_own_column(menu_of(menu))
    expression, names = parse_expression(fired) if fired is not None else None, [t.name for t in menu.enabled]
    for name in expression.names() if expression else ():
        if name not in names:
            what = f"{menu.path} has no enabled trigger {name!r}{nearest(name, names)}"
            raise TrigemuError(f"fired = {fired!r}: {what}")
    catalogue = at_conditions([menu], catalogue, engine)
    selection = tuple(catalogue.sample(name) for name in samples) or catalogue.background
    solved = solve_budgets(menu, catalogue, executor=engine)
    (menu,), plan = solved, make_plan(solved)
    plan.check(*selection)
    half, (fitted,) = scaling.unseen_half(solved, plan, catalogue), scaling.fitted_in(solved, plan, catalogue)
    job, unseen = Job(solved, plan, catalogue), np.ones(len(catalogue.samples))
    if half is not None and catalogue.background:
        plain = Job((), make_plan(()), catalogue)
        parts = [part.sums for part in over_background(plain, PerEvent((), _keep_none), engine)]
        unseen = scaling.half_scales(merge_tables(parts), half, catalogue)
    scale, background = scaling.crossing_scale(menu, catalogue), {s.number for s in catalogue.background}
    factors = tuple((scale if number in background else 1.0, f) for number, f in enumerate(unseen.tolist()))
    what = "the probability that the menu accepts the event"
    columns, slots = [*EVENT_COLUMNS, EventColumn("acceptance", "float64", what)], dict[str, int]()
    if half is not None:
        text = f"the same for fitted triggers: 0 outside of the {HALF_NAMES[half]} half, and scaled"
        columns.append(EventColumn("weight_unseen", "float64", text, "Hz"))
        columns.append(EventColumn("unfitted_acceptance", "float64", f"{what} without its fitted triggers"))
    for trigger in menu.enabled:
        name, bit = trigger.name, plan.bits[0].get(trigger.name)
        scored = bit is not None and plan.slots[bit].compiled.threshold is not None
        defined = () if bit is None else (definition(menu, trigger),)
        what, as_sample = f"decision of {name} before its prescale", () if scored or trigger.seed else defined
        columns.append(EventColumn(f"{FIRED}{name}", "bool", what, definitions=as_sample))  # with its seed
        if bit is not None and scored:
            what = f"score of {name}, which fires above its threshold; −inf where it is not evaluated"
            columns.append(EventColumn(f"{SCORE}{name}", "float64", what, trigger.unit or "", defined))
            slots[f"{SCORE}{name}"] = bit
        what = f"the probability that {name} accepts the event, with its prescale and seed"
        columns.append(EventColumn(f"{ACCEPTANCE}{name}", "float64", what))
    table = tuple(columns), slots, catalogue.stratum_of
    task = _Tabulate(*table, menu=menu, fired=expression, half=half, fitted=fitted, factors=factors)
    return _table(solved, selection, job, task, engine, fired=expression, scale=scale)


def score_table(
    menus: MenusLike,
    catalogue: SamplesLike = None,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: str | Sequence[str] = (),
    executor: Any = None,
) -> EventTable:
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
    executor
        As in `emulate`.

    Returns
    -------
    EventTable
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
    engine, solved = engine_of(executor), menus_of(menus)
    catalogue = at_conditions(solved, catalogue, engine)
    of_signals = [catalogue.sample(name) for name in names_of("the signals", signals)]
    if in_background := [sample.name for sample in of_signals if sample in catalogue.background]:
        raise TrigemuError(f"{in_background[0]!r} is a background sample, which the table always includes")
    requested = _requested(solved, vary or {})
    if any(menu.budgeted for menu in solved):  # scores alone need no prescales
        solved = solve_budgets(solved, catalogue, executor=engine)
    plan = make_plan(solved)
    plan.check_background(catalogue)
    plan.check(*of_signals)
    ranges = _threshold_ranges(Job(solved, plan, catalogue), requested, engine)
    loosest = tuple(
        menu.with_triggers(
            replace(t, description=k.at(min(k.threshold, ranges[t.name].low)), budget=None, solution=None)
            for t in menu.triggers
            if isinstance(k := t.description, ScoreKind) and t.name in ranges
        )
        for menu in solved
    )
    plan = make_plan(loosest)
    columns, slots = _score_columns(loosest, plan)
    firing = () if catalogue.pileup else _firing(loosest, plan)
    whole = frozenset(sample.number for sample in of_signals)
    task = _Tabulate((*EVENT_COLUMNS, STRATUM, *columns), slots, catalogue.stratum_of, firing, whole)
    samples = (*catalogue.background, *of_signals)
    job = Job(loosest, plan, catalogue)
    return _table(solved, samples, job, task, engine, threshold_ranges=ranges)


def _table(
    menus: tuple[Menu, ...],
    samples: tuple[Sample, ...],
    job: Job,
    task: _Tabulate,
    engine: Engine,
    **known: Any,
) -> EventTable:
    pairs = zip(job.menus, job.plan.models, strict=True)
    digests = frozenset(sha256 for menu, models in pairs for _, sha256 in made_with(menu, models))
    engine = replace(engine, chunk_events=min(engine.chunk_events, _ROW_EVENTS))
    rows = partial(over_samples, samples, job, task, engine)
    return EventTable(menus, job.catalogue, samples, task.columns, rows, made_with=digests, **known)


@dataclass(frozen=True)
class _Tabulate(Task[Selection]):
    """The task that makes the rows of a chunk, and sums the events that are left out."""

    columns: tuple[EventColumn, ...]
    slots: Mapping[str, int]  # The slot of each column with a score, or with a decision before the seed
    stratum_of: tuple[int, ...]
    firing: tuple[int, ...] = ()  # The bits of which one fires in each event to keep; empty: all are kept
    whole: frozenset[int] = frozenset()  # The samples of which all events are kept
    menu: Menu | None = None  # The menu whose acceptances are columns; the following are for these
    fired: Expression | None = None  # The events to keep; None: all
    half: int | None = None  # The half that fitted triggers are judged on
    fitted: frozenset[str] = frozenset()  # The triggers that were fitted, or read such a trigger
    # For each sample, the factors to the crossing rate of the menu, and from the half to the full sample
    factors: tuple[tuple[float, float], ...] = ()

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Selection:
        names = [*(column.name for column in EVENT_COLUMNS), STRATUM.name]
        read = partial(self._read, chunk.sample in self.whole)
        selection = PerEvent(names, read, stratum_of=self.stratum_of)(plan, chunk, events)
        columns = selection.columns
        if self.menu:
            self._accept(self.menu, columns["words"], plan.bits[0], chunk.sample, columns)
        return replace(selection, columns={column.name: columns[column.name] for column in self.columns})

    def _read(self, whole: bool, plan: Plan, work: Workspace) -> Columns:
        """Return the events of a chunk to keep, and their patterns, scores and decisions."""
        events, words = work.events, decide(work.events, plan, work)
        keep: BoolArray = np.ones(len(words), np.bool_)
        if self.firing and not whole:
            keep = np.asarray((words & np.array(self.firing, np.uint64)).any(axis=1))
        if self.menu and self.fired:
            keep = self.fired.evaluate(Decisions(words, self.menu, plan.bits[0]))
        columns: Columns = {"keep": keep, "words": words[keep]}
        for column in self.columns:
            if (slot := self.slots.get(column.name)) is None:
                continue
            if column.dtype == "bool":
                columns[column.name] = bit_of_words(columns["words"], slot)
                continue
            above = -math.inf if column.above is None else column.above
            score = np.asarray(plan.slots[slot].compiled.score_above(work, above), np.float64)[keep]
            if column.above is not None and np.inf in score:
                event = events.id[keep][score.argmax()]
                raise SampleError(
                    f"sample {events.sample!r}, event {event}: the score of a trigger with the threshold "
                    f"{above:g} is infinite, which cannot be compared with a threshold"
                )
            columns[column.name] = np.where(score > above, score, -np.inf)
        return columns

    def _accept(
        self, menu: Menu, words: Words, bits: Mapping[str, int], sample: int, columns: Columns
    ) -> None:
        """Add the decisions, acceptances and weights of events of one sample to their columns."""
        raw, (entry, first) = raw_decisions(words, menu, bits), distinct_entries(words)
        accepted, everything = acceptances(words[first], menu, bits), np.ones(len(menu.enabled), np.bool_)
        crossing, unseen = self.factors[sample]
        columns["weight"] = weight = columns["weight"] * crossing
        columns["acceptance"] = accepted.either(everything)[entry]
        if self.half is not None:
            without = acceptances(words[first], switched_off(menu, self.fitted), bits)
            columns["weight_unseen"] = np.where(columns["half"] == self.half, weight * unseen, 0.0)
            columns["unfitted_acceptance"] = without.either(everything)[entry]
        for number, trigger in enumerate(menu.enabled):
            columns[f"{FIRED}{trigger.name}"] = raw[trigger.name]
            columns[f"{ACCEPTANCE}{trigger.name}"] = accepted.total[entry, number]


def _keep_none(plan: Plan, work: Workspace) -> Columns:
    return {"keep": np.zeros(len(work.events), np.bool_)}


def _score_columns(menus: Sequence[Menu], plan: Plan) -> tuple[list[EventColumn], dict[str, int]]:
    """Return the columns of the scores or decisions of menus at their lowest thresholds, in the order of the
    groups of their plan, and their slots."""
    columns, slots = list[EventColumn](), dict[str, int]()
    pairs = [*zip(menus, plan.bits, strict=True)]
    for group in plan.groups:
        users = [
            (menu, menu.trigger(t)) for menu, bits in pairs for t, bit in bits.items() if bit in group.bits
        ]
        names = [*dict.fromkeys(trigger.name for _, trigger in users)]
        above = float(group.thresholds[0]) if len(group.thresholds) else None
        name = f"{FIRED if above is None else SCORE}{names[0]}"
        while name in slots:  # another definition in another menu
            name += "_"
        slots[name], defined = int(group.bits[0]), tuple(dict.fromkeys(starmap(definition, users)))
        if above is None:
            what = f"decision of {', '.join(names)}, before prescale and seed"
            columns.append(EventColumn(name, "bool", what, "", defined))
        else:
            what = f"score of {', '.join(names)}; −inf where it is not above {above:g}"
            unit = next(filter(None, starmap(unit_of_threshold, users)), "")
            columns.append(EventColumn(name, "float64", what, unit, defined, above))
    return columns, slots


def _firing(menus: Sequence[Menu], plan: Plan) -> tuple[int, ...]:
    """Return the bits of which one fires in each event that a menu may accept; empty if any event may be."""
    firing = np.zeros(plan.words, np.uint64)
    # A trigger with a seed that excludes others may fire where none without a seed does.
    negated = any(t.seed.negates for menu in menus for t in menu.used if t.seed)
    for menu, bits in zip(menus, plan.bits, strict=True):
        for name, bit in bits.items():
            if not menu.trigger(name).seed or negated:
                firing[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    patterns = np.stack([np.zeros_like(firing), ~firing])
    for menu, bits in zip(menus, plan.bits, strict=True):  # `random`, `not` fire in any event
        raw = raw_decisions(patterns, menu, bits)
        if any(raw[trigger.name].any() for trigger in menu.enabled):
            return ()
    return tuple(firing.tolist())


def _requested(menus: Sequence[Menu], vary: Mapping[str, tuple[float, float]]) -> dict[str, ThresholdRange]:
    """Return the ranges that a user requested; raise TrigemuError for an unknown trigger or a wrong range."""
    triggers, ranges = {trigger.name: trigger for menu in menus for trigger in menu.used}, {}
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


def _threshold_ranges(
    job: Job, requested: Mapping[str, ThresholdRange], engine: Engine
) -> dict[str, ThresholdRange]:
    """Return the range of thresholds of each trigger that has a threshold: the union of its ranges in the
    menus."""
    entries: list[tuple[str, _Spectrum]] = []
    for number, (menu, bits) in enumerate(zip(job.menus, job.plan.bits, strict=True)):
        scored = (trigger for trigger in menu.used if isinstance(trigger.description, ScoreKind))
        entries += [(t.name, (bits[t.name], (number, t.name) if t.seed else None)) for t in scored]
    default: dict[_Spectrum, ThresholdRange] = {}
    if open_ := tuple(dict.fromkeys(spectrum for name, spectrum in entries if name not in requested)):
        table = merge_tables(over_background(job, _Spectra(job.menus, open_), engine))
        for row, spectrum in enumerate(open_):
            present = job.plan.slots[spectrum[0]].compiled.threshold or 0.0
            default[spectrum] = _range(table.take(np.flatnonzero(table.sample == row)), present)
    ranges: dict[str, ThresholdRange] = {}
    for name, spectrum in entries:
        low, high = requested.get(name) or default[spectrum]
        known = ranges.get(name, (low, high))
        ranges[name] = ThresholdRange(min(low, known[0]), max(high, known[1]))
    return ranges


#: The slot of a score, and the number of the menu and the name of the trigger whose seed has to fire, if any.
_Spectrum = tuple[int, tuple[int, str] | None]


@dataclass(frozen=True)
class _Spectra(Task[PatternTable]):
    """The task that sums the weights of a chunk by score: the "sample" of the table is the position of the
    spectrum, its pattern the rounded score, its "half" the decision at the present threshold."""

    menus: tuple[Menu, ...]
    spectra: tuple[_Spectrum, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        work, core, parts = Workspace(events), events.core, []
        words = decide(events, plan, work)[core]
        for number, (slot, seeded) in enumerate(self.spectra):
            score = np.asarray(plan.slots[slot].compiled.evaluate(work), np.float64)[core]
            counts = score > -np.inf
            if seeded:
                menu, bits = self.menus[seeded[0]], plan.bits[seeded[0]]
                if seed := menu.trigger(seeded[1]).seed:
                    counts &= seed.evaluate(Decisions(words, menu, bits))
            bins = rounded_down(score[counts]).view(np.uint64)[:, None]
            fired = bit_of_words(words, slot)[counts].astype(np.int64)
            parts.append(count_patterns(number, bins, events.weight[core][counts], Keys(half=fired)))
        return merge_tables(parts)


def rounded_down(score: FloatArray) -> FloatArray:
    """Round scores down to floats of 20 bits: sign, exponent, and a step of at most 0.4 %."""

    def ordered(bits: Any) -> Any:
        """Return the bits of floats as integers that ascend with them, and these as the bits of floats."""
        return bits ^ (bits >> 63 & np.iinfo(np.int64).max)

    rounded: FloatArray = ordered(ordered(score.view(np.int64)) >> 44 << 44).view(np.float64)
    return rounded


def _range(spectrum: PatternTable, threshold: float) -> ThresholdRange:
    """Return the default range of a trigger, given its weights by score and its present threshold."""
    present = spectrum.weight[spectrum.half == 1].sum()
    if present <= 0:
        return ThresholdRange(threshold, threshold)
    bins, place = np.unique(-spectrum.words[:, 0].view(np.float64), return_inverse=True)  # from the highest
    above = np.cumsum(np.bincount(place.ravel(), spectrum.weight))
    ends = np.searchsorted(above, [FACTOR * present * (1 - _SAME), present / FACTOR * (1 - _SAME)])
    below = np.nextafter(-bins[np.minimum(ends, len(bins) - 1)], -np.inf)  # the scores of these bins
    loosest, tightest = np.maximum(below, -sys.float_info.max).tolist()
    low, high = min(threshold, loosest), max(threshold, tightest)
    digits = 2 - math.floor(math.log10(max(abs(low), abs(high), 1e-300)))
    low, high = math.floor(low * 10.0**digits), math.ceil(high * 10.0**digits)
    return ThresholdRange(*(round(value / 10.0**digits, digits) for value in (low, high)))
