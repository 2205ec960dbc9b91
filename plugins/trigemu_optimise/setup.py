"""From a menu, samples and goals to the problem that is searched, and the events that judge its solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Progress, over_samples
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.score_table import Scores, score_table
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Context, ScoreKind

from .goal_checks import bounds_of, check_goals
from .goals import ChannelTable, Goals, Span
from .halves import halves_of, unseen_half
from .problem import Problem
from .rows import Decisions, Half, prepare
from .variables import Variable, menu_at, orders_of, variables_of


def selected(
    menu: Menu,
    catalogue: Catalogue,
    channel: ChannelTable,
    executor: Any = None,
    progress: Progress | None = None,
) -> BoolArray:
    """Return which events of its sample a channel counts, bool[n], in the order of the sample."""
    sample = catalogue.sample(channel.sample)
    require = sample.table.require if channel.require is None else channel.require
    if not require:
        return np.ones(sample.entries, np.bool_)
    context = Context(menu.scope)
    task = _Select(context.condition(require))
    job = Job((), make_plan(()), catalogue, frozenset(context.needs))
    parts = [*over_samples([sample], job, task, executor, progress)]
    found = task.merge(parts)
    if not found.any():
        raise SampleError(f"channel {channel.label!r}: no event of {sample.name!r} fulfils {require!r}")
    return found


@dataclass(frozen=True)
class _Select:
    """The task that evaluates a condition on a chunk."""

    require: Condition

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> BoolArray:
        return np.asarray(self.require.evaluate(Workspace(events)), np.bool_)[events.core]

    def merge(self, parts: Sequence[BoolArray]) -> BoolArray:
        return np.concatenate(parts)


@dataclass(frozen=True)
class Setup:
    """A menu, what may vary of it, and the events."""

    written: Menu  # The menu as written, with its budgets solved
    # The same menu with all triggers enabled that may be, and with what has a single allowed value at it.
    menu: Menu
    goals: Goals  # The goals
    scores: Scores  # The scores of the events
    decisions: Decisions  # Their decisions, of the background and then of each signal
    variables: tuple[Variable, ...]  # What varies
    fixed: tuple[Variable, ...]  # What has a single allowed value
    halves: str  # A sentence on how the events are divided
    fitted: Half  # fitted, unseen: The half for the search, and the other one
    unseen: Half
    problem: Problem  # The problem on the fitted half, without ceilings


def make_setup(
    menu: Menu, goals: Goals, catalogue: Catalogue, executor: Any = None, progress: Progress | None = None
) -> Setup:
    """Read the events: one pass over the background, one more for thresholds that are free, one for budgets,
    and one for the weights of quarters if a model was trained on half of the background."""
    menu = at_own_column(menu)
    check_goals(menu, goals, catalogue)
    bounds, sets = bounds_of(_all_switched_on(menu, goals), goals, catalogue)
    (written,) = solve_budgets([menu], catalogue, executor=executor, progress=progress)
    base = _all_switched_on(written, goals)
    samples = tuple(dict.fromkeys(channel.sample for channel in goals.channels))
    ranges = _known_ranges(base, goals)
    scores = score_table(base, catalogue, vary=ranges, signals=samples, executor=executor, progress=progress)
    _check_weights(scores)
    variables, fixed = variables_of(base, goals, scores.threshold_ranges, written)
    base = menu_at(base, fixed, [0] * len(fixed))
    tables = (scores.table, *(scores.signals[name] for name in samples))
    decisions = Decisions(base, scores, tables)
    prepared = prepare(base, decisions, variables, sets)
    channels = [
        (c.label, 1 + samples.index(c.sample), selected(base, catalogue, c, executor, progress))
        for c in goals.channels
    ]
    (fitted, unseen), halves = halves_of(
        base, scores.catalogue, prepared, tables, channels, executor, progress
    )
    weights = np.array([channel.weight for channel in goals.channels])
    problem = Problem(
        tuple(np.array(variable.values) for variable in variables),
        tuple(variable.what == "above" for variable in variables),
        prepared.columns,
        prepared.member,
        prepared.components,
        fitted.background,
        fitted.channels,
        bounds,
        orders_of(variables, goals),
        goals.table.merit,
        weights / weights.sum(),
        np.ones(len(weights)),
    )
    return Setup(written, base, goals, scores, decisions, variables, fixed, halves, fitted, unseen, problem)


def samples_read(menu: Menu, goals: Goals, catalogue: Catalogue) -> list[Sample]:
    """Return the samples that `make_setup` reads, each repeated for every pass."""
    free = any(vary.above == "free" for vary in goals.vary)
    trained = unseen_half(_all_switched_on(menu, goals), catalogue) is not None
    passes = 1 + free + bool(menu.budgeted) + trained
    names = dict.fromkeys(channel.sample for channel in goals.channels)
    names_of_conditions = [channel.sample for channel in goals.channels if channel.require]
    signals = [catalogue.sample(name) for name in (*names, *names_of_conditions)]
    return [*catalogue.background] * passes + signals


def _check_weights(scores: Scores) -> None:
    if scores.catalogue.pileup:
        raise TrigemuError("a menu cannot be optimised on reweighted pile-up: use the catalogue as it is")
    for name, table in (("the background", scores.table), *scores.signals.items()):
        if (table["weight"] < 0).any():
            raise TrigemuError(
                f"{name} has events of negative weight: no threshold can be fitted if accepting an event "
                "lowers a rate or an efficiency"
            )


def _all_switched_on(menu: Menu, goals: Goals) -> Menu:
    names = {name for vary in goals.vary if vary.switch for name in vary.triggers}
    triggers = (replace(t, enabled=True) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))


def _known_ranges(menu: Menu, goals: Goals) -> dict[str, tuple[float, float]]:
    """Return the range of the threshold of each trigger that is not free, for the score table."""
    ranges = {
        trigger.name: (trigger.description.threshold,) * 2
        for trigger in menu.used
        if isinstance(trigger.description, ScoreKind)
    }
    for vary in goals.vary:
        for name in vary.triggers:
            if vary.above == "free":
                ranges.pop(name, None)
            elif isinstance(vary.above, Span):
                ranges[name] = vary.above.min, vary.above.max
    return ranges
