"""Decisions, scores and acceptances of the triggers of a menu, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError, TrigemuError, nearest
from trigemu.base.mapping import CHUNK_EVENTS, engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import raw_decisions, switched_off
from trigemu.counting.patterns import distinct_entries, merge_tables
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Progress, Task, joined, over_background, over_samples
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.scores import (
    EVENT_COLUMNS,
    Columns,
    EventColumn,
    Halves,
    event_columns,
    for_rows,
    take_rows,
)
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, menu_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, events_from_awkward, is_awkward, sample_in_memory, samples_of
from trigemu.samples.sample import Sample
from trigemu.samples.split import HALF_NAMES
from trigemu.triggers.base import Compiled
from trigemu.triggers.logic import Expression, parse_expression

#: Prefixes of the names of columns of a trigger.
FIRED, SCORE, ACCEPTANCE = "fired_", "score_", "acceptance_"


def decisions(menu: MenuLike, events: SamplesLike, sample: str | None = None) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu, event by event.

    Decisions are before prescales: whether the trigger would accept the event if no trigger of the menu had a
    prescale. They include the seed, and through it earlier levels. A `random` trigger fires in every event,
    because its rate is a prescale.

    Parameters
    ----------
    menu : path or Menu
        The menu. Thresholds from rate budgets must be known, as in `run(menu).menu` and `solve_budgets`.
    events : Events, ak.Array, path, list of paths, or Catalogue
        The events, as samples in `emulate`; their weights do not matter.
    sample : str, optional
        The name of a sample, if there are several.

    Returns
    -------
    dict of str to ndarray
        bool[n] for each enabled trigger, in the order of the menu, over the n events in their order.

    Raises
    ------
    TrigemuError
        If a threshold is unknown, or if there are several samples and none is named.
    SampleError
        If the events lack a column that a trigger needs.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> jets = [[{"pt": pt, "eta": 0.0, "phi": 0.0}] for pt in (120.0, 80.0)]
    >>> events = ak.Array({"jet": jets, "photon": ak.Array([[{"pt": 40.0, "eta": 1.0, "phi": 2.0}], []])})
    >>> trigemu.decisions("menus/primary.toml", events)
    {'J100': array([ True, False]), 'G30': array([ True, False])}
    """
    input_menu = menu_of(menu)
    task = _Decide(input_menu.part([trigger.name for trigger in input_menu.enabled]))
    for trigger in task.menu.triggers:
        if trigger.budget and not trigger.solution:
            raise TrigemuError(
                f"{trigger.place}: trigger {trigger.name!r}: its threshold follows from "
                f"{trigger.budget.key} = {trigger.budget.hz:g}, which needs the full background: give the "
                f"menu of a run, run(menu, samples).menu, or that of solve_budgets(menu, samples)"
            )
    if is_awkward(events):
        events = events_from_awkward(events)
    if not isinstance(events, Events):
        return task.of_sample(samples_of(events), sample)
    plan, parts = make_plan(task.menu), [events]
    if events.core == slice(None):  # otherwise they include their neighbouring crossings
        if len(events):
            plan.check(sample_in_memory(events))
        starts = range(0, max(len(events), 1), CHUNK_EVENTS)
        parts = [events[start : start + CHUNK_EVENTS] for start in starts]
    return task.merge([task(plan, None, part) for part in parts])


def fired_in(menu: Menu, catalogue: Catalogue, trigger: str, sample: str | None) -> BoolArray:
    """Return the decisions of one trigger of a solved menu on a sample of a catalogue; see `decisions`."""
    part = menu.part([trigger])
    on = (replace(other, enabled=other.enabled or other.name == trigger) for other in part.triggers)
    part = replace(part, triggers=tuple(on))  # a disabled trigger would not be compiled
    return _Decide(part).of_sample(catalogue, sample)[trigger]


@dataclass(frozen=True)
class _Decide(Task[Columns]):
    """The task that returns the raw decisions of the enabled triggers of a menu."""

    menu: Menu

    def __call__(self, plan: Plan, chunk: Chunk | None, events: Events) -> dict[str, BoolArray]:
        raw = raw_decisions(decide(events, plan)[events.core], self.menu, plan.bits[0])
        return {trigger.name: raw[trigger.name] for trigger in self.menu.enabled}

    def of_sample(self, catalogue: Catalogue, name: str | None) -> dict[str, BoolArray]:
        """Return the decisions on a sample, which need not be named if there is only one."""
        if name is None and len(catalogue.samples) > 1:
            known = ", ".join(repr(sample.name) for sample in catalogue.samples)
            raise SampleError(f"{catalogue.path} has several samples: name one as sample=… ({known})")
        sample = catalogue.samples[0] if name is None else catalogue.sample(name)
        plan = make_plan(self.menu)
        plan.check(sample)
        return self.merge([*over_samples([sample], Job((self.menu,), plan, catalogue), self)])


@dataclass(frozen=True)
class EventTable:
    """The events of some samples with the results of a menu, in parts of consecutive events."""

    menu: Menu  #: The menu, with its budgets solved
    catalogue: Catalogue  #: The samples
    samples: tuple[Sample, ...]  #: The samples of the events
    fired: Expression | None  #: The selection of events by raw decisions; None: all
    columns: tuple[EventColumn, ...]  #: The columns, in their order
    _pass: Callable[[Progress | None], Iterator[Columns]]

    def parts(self, progress: Progress | None = None) -> Iterator[Columns]:
        """Yield the columns of consecutive events; memory does not grow with their number. `progress` is
        called with the number of events done since the last call."""
        return self._pass(progress)

    def arrays(self) -> Columns:
        """Return complete columns by name; all events stay in memory."""
        none: Columns = {column.name: np.empty(0, column.dtype) for column in self.columns}
        whole: Columns = joined([none, *self.parts()])
        return whole

    def to_awkward(self) -> Any:
        """Return an awkward array with a record for each event."""
        import awkward as ak

        return ak.zip(self.arrays(), depth_limit=1)


def event_table(
    menu: MenuLike,
    catalogue: SamplesLike = None,
    *,
    samples: Sequence[str] = (),
    fired: str | None = None,
    executor: Any = None,
    progress: Progress | None = None,
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
    executor, progress
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
    engine = engine_of(executor)
    input_menu = at_own_column(menu_of(menu))
    expression = None if fired is None else parse_expression(fired)
    names = [trigger.name for trigger in input_menu.enabled]
    for name in expression.names() if expression else ():
        if name not in names:
            what = f"{input_menu.path} has no enabled trigger {name!r}{nearest(name, names)}"
            raise TrigemuError(f"fired = {fired!r}: {what}")
    catalogue = at_conditions([input_menu], catalogue, engine, progress)
    selection = tuple(catalogue.sample(name) for name in samples) or catalogue.background
    (solved,) = solve_budgets(input_menu, catalogue, executor=engine, progress=progress)
    plan = make_plan([solved])
    for sample in selection:
        plan.check(sample)
    half = scaling.unseen_half([solved], plan, catalogue)
    (fitted,) = scaling.fitted_in([solved], plan, catalogue)
    job, scales = Job((solved,), plan, catalogue), np.ones(len(catalogue.samples))
    crossing = scales.copy()
    crossing[[sample.number for sample in catalogue.background]] = scaling.crossing_scale(solved, catalogue)
    if half is not None and catalogue.background:
        sums = merge_tables(over_background(job, Halves(), engine, progress))
        scales = scaling.half_scales(sums, half, catalogue)
    task = _Record(solved, expression, half, fitted, tuple(scales.tolist()), tuple(crossing.tolist()))
    rows = partial(over_samples, selection, job, task, for_rows(engine))
    return EventTable(solved, catalogue, selection, expression, _columns(solved, plan, half), rows)


def passes(menu: Menu, catalogue: Catalogue) -> int:
    """Return the number of passes over the background before the pass over the events."""
    return 2 if menu.budgeted else scaling.unseen_half([menu], make_plan([menu]), catalogue) is not None


def _columns(menu: Menu, plan: Plan, half: int | None) -> tuple[EventColumn, ...]:
    """Return the columns of a table. half: the half that fitted triggers are judged on, if there is any."""
    what = "the probability that the menu accepts the event"
    columns = [*EVENT_COLUMNS, EventColumn("acceptance", "float64", what)]
    if half is not None:
        unseen = f"the same for fitted triggers: 0 outside of the {HALF_NAMES[half]} half, and scaled"
        columns.append(EventColumn("weight_unseen", "float64", unseen, "Hz"))
        columns.append(EventColumn("unfitted_acceptance", "float64", f"{what} without its fitted triggers"))
    for trigger in menu.enabled:
        name = trigger.name
        columns.append(EventColumn(f"{FIRED}{name}", "bool", f"decision of {name} before its prescale"))
        if _scored(plan, name):
            what = f"score of {name}, which fires above its threshold; −inf where it is not evaluated"
            columns.append(EventColumn(f"{SCORE}{name}", "float64", what, trigger.unit or ""))
        what = f"the probability that {name} accepts the event, with its prescale and seed"
        columns.append(EventColumn(f"{ACCEPTANCE}{name}", "float64", what))
    return tuple(columns)


def _scored(plan: Plan, name: str) -> Compiled | None:
    """Return a compiled trigger that has a score, or None."""
    compiled = plan.slots[plan.bits[0][name]].compiled if name in plan.bits[0] else None
    return compiled if compiled and compiled.threshold is not None else None


@dataclass(frozen=True)
class _Record(Task[Columns]):
    """The task that computes the `_columns` of a chunk, in their order."""

    menu: Menu
    fired: Expression | None  # The selection
    half: int | None  # The half that fitted triggers are judged on
    fitted: frozenset[str]  # The triggers that were fitted, or read such a trigger
    # For each sample, the factors from the half to the full sample, and to the crossing rate of the menu
    scales: tuple[float, ...]
    crossing: tuple[float, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Columns:
        work, core, bits = Workspace(events), events.core, plan.bits[0]
        words = decide(events, plan, work)[core]
        raw = raw_decisions(words, self.menu, bits)
        keep: BoolArray = np.ones(len(words), np.bool_) if self.fired is None else self.fired.evaluate(raw)
        entry, first = distinct_entries(words)
        accepted = acceptances(words[first], self.menu, bits)
        everything = np.ones(len(self.menu.enabled), np.bool_)
        columns = event_columns(chunk, events)
        columns["weight"] = columns["weight"] * self.crossing[chunk.sample]
        columns["acceptance"] = accepted.either(everything)[entry]
        if self.half is not None:
            without = acceptances(words[first], switched_off(self.menu, self.fitted), bits)
            scaled = columns["weight"] * self.scales[chunk.sample]
            columns["weight_unseen"] = np.where(columns["half"] == self.half, scaled, 0.0)
            columns["unfitted_acceptance"] = without.either(everything)[entry]
        for number, trigger in enumerate(self.menu.enabled):
            name = trigger.name
            columns[f"{FIRED}{name}"] = raw[name]
            if compiled := _scored(plan, name):
                columns[f"{SCORE}{name}"] = np.asarray(compiled.evaluate(work), np.float64)[core]
            columns[f"{ACCEPTANCE}{name}"] = accepted.total[entry, number]
        return take_rows(columns, keep)
