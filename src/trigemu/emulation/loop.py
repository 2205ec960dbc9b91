"""The event loop: chunks of samples → decisions → one pattern table.

catalogue = open_catalogue()                           # samples/     the events and their weights
menus = solve_budgets(menus, catalogue)                # budgets.py   thresholds from rate budgets, if any
plan = make_plan(menus)                                # plan.py      the union of the menus' triggers
for chunk in over_background(…):                       # engine.py    in any order, on any engine
    events = sample.read(…)                            # samples/     columns and weights in Hz
    words = decide(events, plan)                       # plan.py      one bit per trigger
    table += count_patterns(…, words, events.weight)   # counting/    n, Σw, Σw²
rates_of(emulation)                                    # rates/       everything else follows
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, in_brackets, quoted
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import raw_decisions
from trigemu.counting.patterns import Keys, PatternTable, complete_table, count_patterns, merge_tables
from trigemu.counting.sums import Counted
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Task, over_background
from trigemu.emulation.event_table import EventTable, at_conditions_of, job_of
from trigemu.emulation.per_event import per_event
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.observables.expressions import Number
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need
from trigemu.samples.memory import SamplesLike, events_from_awkward, is_awkward, sample_in_memory, samples_of
from trigemu.samples.sample import INTERACTIONS
from trigemu.samples.split import half_of


class Axis(Protocol):
    """A classification of events into bins, in which patterns are counted separately.

    Write a frozen dataclass with these members: it is pickled, and sent to workers.
    """

    @property
    def count_rejected(self) -> bool:
        """Whether events that no trigger accepts also count."""

    def needs(self) -> Iterable[Need]:
        """Return the columns that it reads."""

    def __call__(self, work: Workspace) -> IntArray:
        """Return the bin of each event, int64[n]."""


@dataclass(frozen=True, repr=False)
class Emulation:
    """The result of the event loop: one pattern table for all triggers of some menus."""

    input_menus: tuple[Menu, ...]  #: The menus before their budgets were solved
    menus: tuple[Menu, ...]  #: The same menus with their budgets solved
    catalogue: Catalogue  #: The samples
    plan: Plan  #: The compiled triggers; it gives the bit of each trigger in the patterns
    table: PatternTable  #: The pattern table
    #: The half of the samples that fitted triggers are judged on; None: nothing was fitted to them
    half: int | None
    #: For each menu, the triggers that were fitted, or read such a trigger
    fitted: tuple[frozenset[str], ...]
    only: int | None = None  #: The only bin of the axis in the rates; None: all bins
    #: For each menu, why triggers fire in no event, and how the background differs from the events that
    #: models were fitted to, if that was asked for (`with_warnings`)
    warnings: tuple[tuple[str, ...], ...] = ()
    #: The observables by which its patterns differ as well; None: it was not asked for any
    numbers: tuple[Number, ...] | None = None

    def __repr__(self) -> str:
        menus = ", ".join(quoted(menu.name) for menu in self.menus)
        return in_brackets(self, f"of {menus}: {len(self.table)} patterns")

    def number(self, menu: MenuLike | None = None) -> int:
        """Return the position in `menus` of a `menu`, with or without its budgets solved; by default of the
        first. TrigemuError if the emulation does not have it."""
        if menu is None:
            return 0
        requested = menu_of(menu)
        for menus in (self.input_menus, self.menus):
            if requested in menus:
                return menus.index(requested)
        names = ", ".join(repr(menu.name) for menu in self.menus)
        raise TrigemuError(
            f"the menu {requested.name!r} ({requested.path}) is not in the emulation of {names}"
        )

    def counted(self, *numbers: int, by_bin: bool = False, apart: bool = False) -> Counted:
        """Select the patterns that the rates of menus are computed from, given their positions in `menus`,
        the `numbers`. Patterns stay apart if they differ in the bin of the axis (`by_bin`), or in an
        observable of the emulation (`apart`)."""
        menus = tuple(self.menus[number] for number in numbers)
        bits = tuple(self.plan.bits[number] for number in numbers)
        fitted = tuple(self.fitted[number] for number in numbers)
        table = self.table
        if self.only is not None:
            table = table.take(np.flatnonzero(table.bin == self.only))
        used = [(menu.used, of_menu) for menu, of_menu in zip(menus, bits, strict=True)]
        read = {of_menu[t.name] for triggers, of_menu in used for t in triggers if t.name in of_menu}
        if apart:
            read |= {*range(64 * self.plan.words, 64 * table.words.shape[1])}
        keys = ("stratum", "bin") if by_bin else ("stratum",)
        if self.half is None or not any(fitted):
            table = table.onto(read, keys)
            unseen = np.ones(len(table))
        else:
            table = table.onto(read, ("half", *keys))
            unseen = np.where(table.half == self.half, self.scales[table.sample], 0.0)
        crossing = max(scaling.crossing_scale(menu, self.catalogue) for menu in menus)
        stratum = table.stratum if self.catalogue.pileup else None
        known = self.only is None and not by_bin and self.catalogue.table.convention == "crossing"
        known = known and all(sample.rate_is_known for sample in self.catalogue.background)
        constant = tuple(
            scaling.constant_in(menu) - names if known else frozenset()
            for menu, names in zip(menus, fitted, strict=True)
        )
        return Counted(table, menus, bits, fitted, constant, unseen, crossing, stratum)

    @cached_property
    def scales(self) -> FloatArray:
        """The factor from the unseen half of each sample to the full sample, float64[samples]; 1 without a
        half."""
        if self.half is None:
            return np.ones(len(self.catalogue.samples))
        return scaling.half_scales(self.table, self.half, self.catalogue)


def emulate(
    menus: MenusLike,
    catalogue: SamplesLike | EventTable = None,
    *,
    axis: Axis | None = None,
    numbers: tuple[Number, ...] | None = None,
    executor: Any = None,
) -> Emulation:
    """Run menus over the background of a catalogue in one pass.

    If a menu has a rate budget, a pass to find the thresholds precedes it. The result is the same to the last
    bit for any executor. If errors account for shared interactions (`Catalogue.errors`), each
    event that a menu may accept needs 32 bytes, in samples with parents.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, EventTable, or None
        The samples: a catalogue, or a folder with a catalogue.toml; event files, as crossings of equal weight
        that add up to 40 MHz; events in memory, with their weights in Hz (`Events`, or an awkward array, see
        `events_from_awkward`); a table of their scores (`score_table`), in which case no files are read.
        By default the embedded samples.
    axis : Axis, optional
        Bins in which patterns are counted separately.
    numbers : tuple of Number, optional
        Observables by which patterns differ as well. The bits of each are one of the last words of a pattern.
    executor : Executor, distributed.Client, Engine or None
        Processes the events: anything with `submit`, as in `concurrent.futures`, or an `Engine` with its own
        settings; None: all cores of this machine.

    Returns
    -------
    Emulation

    Raises
    ------
    SampleError
        If there is no background, or a sample lacks a column that a trigger needs.
    TrigemuError
        If a budget cannot be met, or there is no menu.
    WrongTypeError
        If the menus or samples have another type.

    Examples
    --------
    >>> import trigemu
    >>> emulation = trigemu.emulate(["menus/primary.toml", "menus/full.toml"])
    >>> [len(trigemu.rates_of(emulation, menu).triggers) for menu in emulation.menus]
    [2, 30]
    """
    engine = engine_of(executor)
    if not (input_menus := menus_of(menus)):
        raise TrigemuError("there is no menu to emulate: give at least one")
    samples = at_conditions_of(input_menus, catalogue, engine)
    solved = solve_budgets(input_menus, samples, executor=engine)
    job, catalogue = job_of(solved, samples)
    plan, columns = job.plan, numbers or ()
    half = scaling.unseen_half(solved, plan, catalogue)
    # Events in which no trigger fires can contribute to a rate, because `random` or `not` accept them, or to
    # its error, because reweighting fixes the total weight.
    nothing = np.zeros((1, plan.words), np.uint64)
    count_rejected = bool(catalogue.pileup) or (axis is not None and axis.count_rejected)
    for menu, bits in zip(solved, plan.bits, strict=True):
        count_rejected = count_rejected or bool(acceptances(nothing, menu, bits).total.any())
    strata = job.catalogue.stratum_of
    task = _CountPatterns(half is not None, axis, columns, strata, catalogue.with_parents, count_rejected)
    needs = {*(axis.needs() if axis else ()), *(need for n in columns for need in n.needs())}
    job = replace(job, further=job.further | needs)
    rest = job.rest.onto((), ("stratum",) if half is None else ("half", "stratum"))
    table = replace(rest, words=np.zeros((len(rest), plan.words + len(columns)), np.uint64))
    parts: list[PatternTable] = []
    for part in over_background(job, task, engine):
        parts.append(part)
        if sum(map(len, parts)) > len(table) + 4096:  # merging is expensive while tables grow
            table, parts = merge_tables([table, *parts]), []
    table = complete_table([table, *parts])
    fitted = scaling.fitted_in(solved, plan, catalogue)
    return Emulation(input_menus, solved, catalogue, plan, table, half, fitted, numbers=numbers)


@dataclass(frozen=True)
class _CountPatterns(Task[PatternTable]):
    """The task that counts the patterns of a chunk."""

    by_half: bool
    axis: Axis | None
    numbers: tuple[Number, ...]
    stratum_of: tuple[int, ...]
    with_parents: frozenset[int]
    count_rejected: bool

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        work = Workspace(events)
        words = decide(events, plan, work)
        if self.numbers:
            values = np.column_stack([number.evaluate(work) for number in self.numbers])
            if not self.count_rejected:
                values[~words.any(axis=1)] = 0.0
            words = np.hstack([words, values.view(np.uint64)])
        core, stratum = events.core, None
        if max(self.stratum_of, default=0) > 0:
            stratum = np.array(self.stratum_of)[events.scalars[INTERACTIONS[1]]]
        half = half_of(events.parent) if self.by_half else None
        keys = Keys(half, self.axis(work) if self.axis else None, stratum).take(core)
        made_from = (events.parent[core], events.id[core]) if chunk.sample in self.with_parents else None
        return count_patterns(
            *(chunk.sample, words[core], events.weight[core], keys),
            made_from=made_from,
            count_rejected=self.count_rejected,
        )


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
    menu = menu_of(menu)
    menu = menu.part([trigger.name for trigger in menu.enabled])
    for trigger in menu.triggers:
        if trigger.budget and not trigger.solution:
            raise TrigemuError(
                f"{trigger.place}: trigger {trigger.name!r}: its threshold follows from "
                f"{trigger.budget.key} = {trigger.budget.hz:g}, which needs the full background: give the "
                f"menu of a run, run(menu, samples).menu, or that of solve_budgets(menu, samples)"
            )
    plan = make_plan(menu)
    if is_awkward(events):
        events = events_from_awkward(events)
    if isinstance(events, Events):
        if len(events) and events.core == slice(None):  # otherwise they include their neighbouring crossings
            plan.check(sample_in_memory(events))
        words = decide(events, plan)[events.core]
    else:
        catalogue = samples_of(events)
        if sample is None and len(catalogue.samples) > 1:
            known = ", ".join(repr(sample.name) for sample in catalogue.samples)
            raise SampleError(f"{catalogue.path} has several samples: name one as sample=… ({known})")
        chosen = catalogue.samples[0] if sample is None else catalogue.sample(sample)
        words = per_event(Job((menu,), plan, catalogue), ["words"], samples=[chosen])["words"]
    raw = raw_decisions(words, menu, plan.bits[0])
    return {trigger.name: raw[trigger.name] for trigger in menu.enabled}
