"""From a menu, samples and goals to the problem that is searched on one half of the events, and the other
half, which judges its solution.

If a model of the menu was trained on half of the background, only the other half is used, and divided again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Job
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.per_event import Columns, per_event
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.tabulate import score_table
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import BitKind, Context, ScoreKind

from .goals import ChannelTable, Goals, Span
from .problem import Problem
from .rows import Decisions, Half, Parents, prepare
from .variables import Variable, bounds_of, check_goals, orders_of, variables_of


@dataclass(frozen=True)
class Setup:
    """A menu, what may vary of it, and the events."""

    written: Menu  # The menu as written, with its budgets solved
    menu: Menu  # The same menu with all triggers enabled that may be
    goals: Goals  # The goals
    scores: EventTable  # The scores of the events
    decisions: Decisions  # Their decisions, of the background and then of each signal
    variables: tuple[Variable, ...]  # What varies
    halves: str  # A sentence on how the events are divided
    unseen: Half  # The half that judges
    problem: Problem  # The problem on the fitted half, without ceilings


def make_setup(menu: Menu, goals: Goals, samples: Catalogue | EventTable, executor: Any = None) -> Setup:
    """Read the events; or take them from a score table."""
    menu, given = at_own_column(menu), samples if isinstance(samples, EventTable) else None
    catalogue = samples.catalogue if isinstance(samples, EventTable) else samples
    check_goals(menu, goals, catalogue)
    bounds, sets = bounds_of(_all_switched_on(menu, goals), goals, catalogue)
    (written,) = solve_budgets([menu], samples, executor=executor)
    base = _all_switched_on(written, goals)
    signals = tuple(dict.fromkeys(channel.sample for channel in goals.channels))
    ranges = _known_ranges(base, goals)
    if given:
        _check_table(given, base, ranges, signals)
    scores = given or score_table(base, catalogue, vary=ranges, signals=signals, executor=executor)
    if scores.catalogue.pileup:
        raise TrigemuError(
            "a menu cannot be optimised on reweighted pile-up: use the samples as they are (--pileup 0)"
        )
    tables = (scores.table, *(scores.signals[name] for name in signals))
    for name, table in zip(("the background", *signals), tables, strict=True):
        if (table["weight"] < 0).any():
            raise TrigemuError(
                f"{name} has events of negative weight: no threshold can be fitted if accepting an event "
                "lowers a rate or an efficiency"
            )
    variables = variables_of(base, goals, scores.threshold_ranges, written)
    decisions = Decisions(base, scores, tables)
    prepared = prepare(base, decisions, variables, sets)
    halves, scales, text = _halves(base, scores, tables, executor)
    scales = scales * scaling.crossing_scale(base, catalogue)
    start, shared = np.cumsum([0, *map(len, halves)]), sorted(scores.catalogue.with_parents)
    everything = np.ones(len(halves[0]), np.bool_)
    groups = [("", 0, everything)] + [
        (c.label, 1 + signals.index(c.sample), selected(base, catalogue, c, executor)) for c in goals.channels
    ]

    def half_of(which: int) -> Half:
        found = []
        for label, number, counts in groups:
            table, rows = tables[number], np.flatnonzero((halves[number] == which) & counts)
            weight, sample = table["weight"][rows], table["sample"][rows]
            if number and not weight.sum() > 0:
                raise TrigemuError(
                    f"channel {label!r}: none of its events is in the "
                    f"{('half that is searched', 'unseen half')[which]}: it needs more events"
                )
            weight = weight / weight.sum() if number else weight * scales[which][sample]
            # a parent is one interaction in all samples; an event without one is an interaction of its own
            alone = splitmix64(table["id"][rows] + splitmix64(sample.astype(np.uint64)))
            interaction = np.where(np.isin(sample, shared), table["parent"][rows], alone)
            found.append(
                prepared.group(rows + start[number], weight, interaction, 1 if number else len(sets))
            )
        return Half(found[0], tuple(found[1:]))

    fitted, unseen = half_of(0), half_of(1)
    weights = np.array([channel.weight for channel in goals.channels])
    problem = Problem(
        tuple(np.array(variable.values) for variable in variables),
        tuple(variable.what == "above" for variable in variables),
        prepared.columns,
        prepared.member,
        prepared.components,
        fitted,
        bounds,
        orders_of(variables, goals),
        goals.table.merit,
        weights / weights.sum(),
        np.ones(len(weights)),
    )
    return Setup(written, base, goals, scores, decisions, variables, text, unseen, problem)


def _all_switched_on(menu: Menu, goals: Goals) -> Menu:
    names = {name for vary in goals.vary if vary.switch for name in vary.triggers}
    triggers = (replace(t, enabled=True) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))


def _known_ranges(menu: Menu, goals: Goals) -> dict[str, tuple[float, float]]:
    """Return the range of the threshold of each trigger that is not free, for the score table."""
    kinds = {trigger.name: trigger.description for trigger in menu.used}
    ranges = {name: (kind.threshold,) * 2 for name, kind in kinds.items() if isinstance(kind, ScoreKind)}
    for vary in goals.vary:
        for name in vary.triggers:
            if vary.above == "free":
                ranges.pop(name, None)
            elif isinstance(vary.above, Span):
                ranges[name] = vary.above.min, vary.above.max
    return ranges


def _check_table(
    table: EventTable, menu: Menu, ranges: Mapping[str, tuple[float, float]], signals: Sequence[str]
) -> None:
    """Raise TrigemuError if a score table lacks a signal, or scores at the lowest thresholds."""
    for signal in signals:
        if signal not in table.signals:
            raise TrigemuError(f"the score table was made without --signal {signal}: make it again")
    for trigger in menu.used:
        kind = trigger.description
        if isinstance(kind, ScoreKind) and trigger.name in ranges:
            trigger = replace(trigger, description=kind.at(ranges[trigger.name][0]))
        if not isinstance(kind, BitKind):
            table.column_of(menu, trigger)


def _halves(
    menu: Menu, scores: EventTable, tables: Sequence[Columns], executor: Any
) -> tuple[list[IntArray], FloatArray, str]:
    """Return of each event of each table 0 if it is searched on, 1 if it judges, −1 if neither; the factors
    on the weights of the background, float64[2, samples]; and a sentence on the halves."""
    catalogue = scores.catalogue
    plain = replace(menu, triggers=tuple(replace(t, fitted_on=None, solution=None) for t in menu.triggers))
    trained = scaling.unseen_half([plain], make_plan([plain]), catalogue)
    if trained is None:
        sums = scores.by_half()
        scales = [scaling.half_scales(sums, which, catalogue) for which in (0, 1)]
        text = f"Searched on the {split.HALF_NAMES[0]} half of each sample, judged on the other."
        return [table["half"] for table in tables], np.array(scales), text
    job, names = Job((), make_plan(()), catalogue), ("sample", "weight", "half", "parent")
    sample, weight, half, parent = per_event(job, names, executor=executor).values()
    quarters = np.where(half == trained, _next_bit(parent), -1)
    everything, *parts = (
        np.bincount(sample, np.where(inside, weight, 0.0), len(catalogue.samples))
        for inside in (quarters > -2, quarters == 0, quarters == 1)
    )
    for each in catalogue.background:
        if not all(part[each.number] > 0.0 for part in parts):
            raise SampleError(
                f"sample {each.name!r}: there is no weight in one of the two quarters that no model of the "
                "menu was trained on: it needs more events"
            )
    scales = [np.divide(everything, part, where=part > 0.0, out=np.ones_like(part)) for part in parts]
    halves = [_next_bit(table["parent"]) for table in tables]
    halves[0] = np.where(tables[0]["half"] == trained, halves[0], -1)
    text = (
        f"Searched on half of the {split.HALF_NAMES[trained]} half of the background, which no model of "
        "the menu was trained on, judged on the rest of it; signals are halved once."
    )
    return halves, np.array(scales), text


def _next_bit(parent: Parents) -> IntArray:
    """Return the bit of the hash of interactions after the one that gives the half."""
    return ((splitmix64(parent) >> np.uint64(62)) & np.uint64(1)).astype(np.int64)


def selected(menu: Menu, catalogue: Catalogue, channel: ChannelTable, executor: Any = None) -> BoolArray:
    """Return which events of its sample a channel counts, bool[n], in the order of the sample."""
    sample = catalogue.sample(channel.sample)
    require = sample.table.require if channel.require is None else channel.require
    if not require:
        return np.ones(sample.entries, np.bool_)
    context = Context(menu.scope)
    read = partial(_fulfils, context.condition(require))
    job = Job((), make_plan(()), catalogue, frozenset(context.needs))
    found: BoolArray = per_event(job, (), read, samples=[sample], executor=executor)["fulfils"]
    if not found.any():
        raise SampleError(f"channel {channel.label!r}: no event of {sample.name!r} fulfils {require!r}")
    return found


def _fulfils(condition: Condition, plan: Plan, work: Workspace) -> Columns:
    return {"fulfils": condition.evaluate(work)}
