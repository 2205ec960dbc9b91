"""The scores and decisions of a page: the possible thresholds of each score, and the thresholds of the
triggers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.emulation import scaling
from trigemu.emulation.engine import Job
from trigemu.emulation.event_table import EventColumn, EventTable, ThresholdRange, definition
from trigemu.emulation.per_event import Columns as EventColumns, per_event
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.checks import unit_of_observable, unit_of_threshold
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.rates.results import MenuRates
from trigemu.studies.efficiency import Bins
from trigemu.studies.intervals import Profile
from trigemu.triggers.base import BitKind, Context, ScoreKind


@dataclass(frozen=True)
class Unseen:
    """The half of the samples that nothing was fitted to."""

    half: int | None  # Its number; None if no trigger of any menu was fitted to these samples
    fitted: tuple[frozenset[str], ...]  # For each menu, the triggers that were fitted or read such a trigger
    scales: FloatArray  # float64[samples], the factor from the half to the full sample

    def factor(self, sample: IntArray, half: IntArray) -> FloatArray:
        """Return the factor on f − f₀ of events, float64[n] (`counting/scales.py`)."""
        return np.where(half == self.half, self.scales[sample], 1.0 if self.half is None else 0.0)


def unseen_of(scores: EventTable, menus: Sequence[Menu]) -> Unseen:
    """Return the half for the triggers of menus, disabled ones too. TrigemuError if they were fitted to
    different halves."""
    catalogue = scores.catalogue
    on = tuple(replace(m, triggers=tuple(replace(t, enabled=True) for t in m.triggers)) for m in menus)
    plan = make_plan(on)
    half, fitted = scaling.unseen_half(on, plan, catalogue), scaling.fitted_in(on, plan, catalogue)
    scales = np.ones(len(catalogue.samples))
    if half is not None:
        scales = scaling.half_scales(scores.by_half(), half, catalogue)
    return Unseen(half, fitted, scales)


@dataclass(frozen=True)
class Contents:
    """The input of a page, except for the ranges of its thresholds."""

    scores: EventTable
    menus: tuple[Menu, ...]  # As written, with their budgets solved
    texts: tuple[str, ...]  # The files of the menus
    rates: tuple[MenuRates, ...]  # Of each menu
    unseen: Unseen  # The half for triggers that were fitted
    profiles: tuple[Profile, ...]  # The turn-ons
    signals: Mapping[str, EventColumns]  # `turnon_bins` of each signal of the score table
    version: str  # Of trigemu


#: Approximate number of round thresholds of a score, and largest number in all: a byte numbers them.
ROUND_STEPS, MAX_STEPS = 150, 255
#: A positive range that spans more than this factor has steps in proportion to the threshold.
_WIDE = 1000.0
#: Narrower ranges are not divided.
_SMALLEST = 1e-200


@dataclass(frozen=True)
class Column:
    """A score of a page."""

    observable: str | None  # In the language of the menus; None for the score of a special kind
    name: str  # The observable, or the first trigger
    unit: str  # Of the thresholds
    stored: str  # The column of the score table
    integral: bool  # Whether all scores are integers
    written: float  # The highest threshold in a menu
    steps: FloatArray  # float64[k], the possible thresholds, ascending

    def step(self, threshold: float) -> int:
        """Return the number of a threshold that is one of the steps."""
        return int(np.searchsorted(self.steps, threshold))

    def within(self, limits: ThresholdRange) -> tuple[int, int]:
        """Return the first and the last step in a range."""
        return self.step(limits.low), int(np.searchsorted(self.steps, limits.high, "right")) - 1


@dataclass(frozen=True)
class Columns:
    """The scores and decisions of the triggers of menus."""

    scores: tuple[Column, ...]
    bits: tuple[str, ...]  # Those of fixed decisions in the score table; "": it rejects all events
    # For each menu, by trigger, the number of its score or bit, and the range of thresholds of a score
    of: tuple[Mapping[str, tuple[int, ThresholdRange | None]], ...]


def columns_of(
    scores: EventTable, menus: Sequence[Menu], threshold_ranges: Mapping[str, ThresholdRange]
) -> Columns:
    """Return the scores and decisions of menus that a score table was made for. The threshold of a menu is
    added to the range of its trigger."""
    used: dict[str, list[tuple[Menu, Trigger, ThresholdRange]]] = {}
    stored_of: list[dict[str, tuple[str, ThresholdRange | None]]] = []
    for menu in menus:
        stored_of.append({})
        for trigger in menu.triggers:
            if isinstance(trigger.description, BitKind):
                continue
            stored, limits = _stored(scores, menu, trigger), None
            if stored and isinstance(trigger.description, ScoreKind):
                threshold = trigger.description.threshold
                low, high = threshold_ranges.get(trigger.name, (threshold, threshold))
                limits = ThresholdRange(min(low, threshold), max(high, threshold))
                used.setdefault(stored.name, []).append((menu, trigger, limits))
            stored_of[-1][trigger.name] = stored.name if stored else "", limits
    names = [column.name for column in scores.columns if column.name in used]
    every = (stored for of_menu in stored_of for stored, limits in of_menu.values() if not limits)
    bits = tuple(dict.fromkeys(every))
    number = {name: n for part in (names, bits) for n, name in enumerate(part)}
    return Columns(
        tuple(_column(scores, name, used[name]) for name in names),
        bits,
        tuple(
            {name: (number[stored], limits) for name, (stored, limits) in of_menu.items()}
            for of_menu in stored_of
        ),
    )


def _stored(scores: EventTable, menu: Menu, trigger: Trigger) -> EventColumn | None:
    """Return the position of a trigger in the table; None if it accepts no event, because it is disabled and
    its threshold or its decisions are unknown."""
    if not trigger.enabled and getattr(trigger.description, "threshold", None) == math.inf:
        return None
    stored = scores.stored.get(definition(menu, trigger))
    if stored is None and trigger in menu.used:
        raise TrigemuError(f"{trigger.place}: the score table has no trigger {trigger.name!r}: make it again")
    return stored


def _column(
    scores: EventTable, stored: str, triggers: Sequence[tuple[Menu, Trigger, ThresholdRange]]
) -> Column:
    menu, trigger, _ = triggers[0]
    observable = getattr(trigger.description, "observable", None)
    written = sorted(t.description.threshold for _, t, _ in triggers if isinstance(t.description, ScoreKind))
    low, high = min(limits.low for *_, limits in triggers), max(limits.high for *_, limits in triggers)
    values = scores.table[stored]
    values = values[np.isfinite(values)]
    integral = bool(len(values)) and bool((values == np.rint(values)).all())
    observable = observable if isinstance(observable, str) else None
    name = observable or trigger.name
    try:
        steps = steps_between(low, high, written, integral)
    except ValueError as error:
        raise TrigemuError(f"{trigger.place}: {name}: {error}") from None
    return Column(observable, name, unit_of_threshold(menu, trigger), stored, integral, written[-1], steps)


def steps_between(low: float, high: float, written: Sequence[float], integral: bool) -> FloatArray:
    """Return ascending thresholds from low to high: both ends, the exact thresholds of menus, and round ones;
    for a score of integers, those in steps of 1 from a threshold of a menu."""
    required = np.unique([low, high, *written])
    if integral and high - low <= ROUND_STEPS:
        between = written[0] + np.arange(math.ceil(low - written[0]), math.floor(high - written[0]) + 1)
    elif low > 0 and high > _WIDE * low:
        between = np.array([float(f"{value:.2e}") for value in np.geomspace(low, high, ROUND_STEPS)])
    else:
        between = _multiples(low, high)
    steps = np.unique([*required, *between])
    steps = steps[(steps >= low) & (steps <= high)]
    if len(steps) > MAX_STEPS:
        raise ValueError(f"{len(required)} thresholds of one score: a page supports at most {MAX_STEPS}")
    return steps


def _multiples(low: float, high: float) -> FloatArray:
    """Return the multiples of 1, 2 or 5 times a power of 10 that are between two numbers."""
    if high - low < _SMALLEST:
        return np.zeros(0)
    power = math.floor(math.log10((high - low) / ROUND_STEPS))
    factor = next(f for f in (1, 2, 5, 10) if f * 10.0**power * ROUND_STEPS >= (high - low) * (1 - 1e-9))
    spacing = factor * 10.0**power
    numbers = np.arange(math.ceil(low / spacing), math.floor(high / spacing) + 1)
    return np.array([round(number * spacing, -power) for number in numbers.tolist()])


#: The most bins of a turn-on, and the end of the last bin in units of the highest threshold.
_BINS, _REACH = 40, 3.0


def turnon_profiles(scores: EventTable, menus: Sequence[Menu]) -> tuple[Profile, ...]:
    """Return the observables of triggers with a range of thresholds, in bins of round edges, from menus with
    the objects and sums of the first menu."""
    same_scope = [menu for menu in menus if menu.scope == menus[0].scope]
    columns = columns_of(scores, same_scope, scores.threshold_ranges)
    profiles: dict[str, Profile] = {}
    for column in columns.scores:
        if (name := column.observable) and len(column.steps) > 1 and name not in profiles:
            unit = column.unit or unit_of_observable(menus[0], name)
            profiles[name] = Profile(name, _edges(column), unit=unit)
    return tuple(profiles.values())


def turnon_bins(
    menu: Menu, scores: EventTable, name: str, profiles: Sequence[Profile], executor: Any = None
) -> EventColumns:
    """Return of all events of a signal which are selected, as in `efficiencies` by default, and their bins,
    uint8[n, profiles]; the number of bins if they are outside."""
    sample, context = scores.catalogue.sample(name), Context(menu.scope)
    require = context.condition(sample.table.require) if sample.table.require else None
    axes = tuple(Bins(context.observable(profile.observable), profile.edges) for profile in profiles)
    job = Job((), make_plan(()), scores.catalogue, frozenset(context.needs))
    columns = per_event(job, (), partial(_bins, axes, require), samples=[sample], executor=executor)
    if not columns["selected"].any():
        raise SampleError(f"no event of {name} is selected by {sample.table.require!r}")
    return columns


def _bins(axes: Sequence[Bins], require: Condition | None, plan: Plan, work: Workspace) -> EventColumns:
    bins = np.empty((len(work.events), len(axes)), np.uint8)
    for column, axis in enumerate(axes):
        bins[:, column] = axis(work)
    return {"selected": require.evaluate(work) if require else np.ones(len(bins), np.bool_), "bin": bins}


def _edges(column: Column) -> tuple[float, ...]:
    low, high = float(column.steps[0]), float(column.steps[-1])
    if column.written > 0:
        low, high = min(low, 0.0), max(high, _REACH * column.written)
    power = math.floor(math.log10((high - low) / _BINS))
    width = next(f * 10.0**power for f in (1, 2, 5, 10, 20) if f * 10.0**power * (_BINS - 1) >= high - low)
    if column.integral:
        width = max(width, 1.0)
    first, last = math.floor(low / width), math.floor(high / width) + 1  # the last bin has the highest score
    return tuple(round(number * width, max(0, -power)) for number in np.arange(first, last + 1).tolist())
