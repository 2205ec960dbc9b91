"""The event loop: chunks of samples → decisions → one pattern table.

catalogue = open_catalogue()                    # samples/    which events, and what they weigh
menus = solve(menus, catalogue)                 # calibrate   cuts from rate budgets, if there are any
plan = make_plan(menus)                         # decisions   the union of the menus' triggers
for chunk in over_background(…):                # chunks      in any order, on any worker
    events = sample.read(…)                     # samples/    columns and weights in Hz
    words = decide(events, plan)                # decisions   one bit a trigger
    table += count(…, words, events.weight)     # patterns    exact sums
rates(table, …)                                 # rates       everything else follows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from trigemu.counting import (
    PatternTable,
    acceptances,
    complete_table,
    count_patterns,
    empty_table,
    merge_tables,
)
from trigemu.decisions import Plan, decide, make_plan
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import CHUNK_EVENTS, Job, over_background
from trigemu.emulation.scaling import half_scales
from trigemu.menus import Menu
from trigemu.observables import Workspace
from trigemu.samples import EVALUATION, INTERACTIONS, Catalogue, Events, Need, half_of
from trigemu.support import FloatArray, IntArray

Progress = Callable[[int], None]


class Axis(Protocol):
    """What events are told apart by, besides their decisions. Picklable."""

    @property
    def bins(self) -> int: ...

    def needs(self, plan: Plan) -> Iterable[Need]:
        """The columns it reads besides those of the plan."""

    @property
    def undecided(self) -> bool:
        """Whether rates are also taken of events in which nothing fired."""

    def __call__(self, plan: Plan, work: Workspace) -> IntArray:
        """int64[n], the bin of each event, 0 ≤ bin < bins."""


@dataclass(frozen=True)
class Emulation:
    """What the loop gives: the pattern table of the union of the menus' triggers, whose bits the plan
    names.

    given: the menus as they were; menus: the same with their budgets solved. half: on which half of the
    samples rates are taken; None: on all events. bins: of the axis; strata: numbers of interactions that
    events are told apart by, where their total weight was made to be what it is (`pileup.py`), else 1. The
    axis of the table is (half × bins + bin) × strata + stratum. only: the bin that rates are of; None: all
    of them.
    """

    given: tuple[Menu, ...]
    menus: tuple[Menu, ...]
    catalogue: Catalogue
    plan: Plan
    table: PatternTable
    half: int | None
    bins: int = 1
    only: int | None = None
    strata: int = 1

    @property
    def bin(self) -> IntArray:
        """int64[m]: the bin of the axis of each entry of the table."""
        return self.table.axis // self.strata % self.bins

    def counted(self, *numbers: int) -> tuple[PatternTable, FloatArray]:
        """The patterns of some menus that rates are made of, and float64[samples]: by what the sums of
        each sample are scaled. SampleError where a sample has no weight in the half."""
        table, scales = self._of_half
        pairs = [(self.menus[number], self.plan.bits[number]) for number in numbers]
        read = {bits[t.name] for menu, bits in pairs for t in menu.used if t.name in bits}
        return table.onto(read, self.strata), scales

    @cached_property
    def _of_half(self) -> tuple[PatternTable, FloatArray]:
        """Of all menus. What scales a half is the same in all bins of the axis."""
        chosen = np.ones(len(self.table), np.bool_)
        if self.only is not None:
            chosen = self.bin == self.only
        scales = np.ones(len(self.catalogue.samples))
        if self.half is not None:
            by_half = replace(self.table, axis=self.table.axis // (self.bins * self.strata))
            scales = half_scales(by_half, self.half, self.catalogue)
            chosen &= by_half.axis == self.half
        return self.table if chosen.all() else self.table.take(np.flatnonzero(chosen)), scales


def emulate(
    menus: Sequence[Menu],
    catalogue: Catalogue,
    *,
    axis: Axis | None = None,
    workers: int = 1,
    chunk_events: int = CHUNK_EVENTS,
    progress: Progress | None = None,
) -> Emulation:
    """Run some menus over the background of a catalogue, in one pass, after one more that finds the
    cuts if any has a rate budget.

    Errors know which events share an interaction (`Catalogue.errors`), which takes 32 bytes for each event
    that a menu may accept, in samples that name parents. `workers` processes share the chunks; the result is
    the same to the last bit for any number of them and any `chunk_events`. `progress` is called with the
    number of events done.
    """
    solved = solve_budgets(menus, catalogue, workers=workers, chunk_events=chunk_events, progress=progress)
    plan = make_plan(solved)
    plan.check_background(catalogue)
    half = EVALUATION if is_fitted(solved, plan, catalogue) else None
    strata = catalogue.strata
    undecided = strata > 1 or _undecided(solved, plan, axis)
    task = _CountPatterns(half is not None, axis, strata, catalogue.with_parents, undecided)
    table = empty_table(plan.words)
    parts: list[PatternTable] = []
    job = Job(solved, plan, catalogue, frozenset(axis.needs(plan)) if axis else frozenset())
    for chunk, part in over_background(job, task, workers=workers, chunk_events=chunk_events):
        parts.append(part)
        if sum(map(len, parts)) > len(table) + 4096:  # sums of tables cost most while they grow
            table, parts = merge_tables([table, *parts]), []
        if progress:
            progress(chunk.stop - chunk.start)
    table = complete_table([table, *parts])
    return Emulation(
        tuple(menus), solved, catalogue, plan, table, half, axis.bins if axis else 1, None, strata
    )


@dataclass(frozen=True)
class _CountPatterns:
    """The patterns of a chunk."""

    by_half: bool
    axis: Axis | None
    strata: int
    with_parents: frozenset[int]
    undecided: bool

    def __call__(self, plan: Plan, sample: int, events: Events) -> PatternTable:
        work = Workspace(events)
        words = decide(events, plan, work)
        bins = half_of(events.parent) if self.by_half else np.zeros(len(events), np.int64)
        if self.axis:
            bins = bins * self.axis.bins + self.axis(plan, work)
        if self.strata > 1:
            bins = bins * self.strata + events.scalars[INTERACTIONS[1]].astype(np.int64)
        core = events.core
        made_from = (events.parent[core], events.id[core]) if sample in self.with_parents else None
        return count_patterns(
            sample,
            words[core],
            events.weight[core],
            bins[core],
            made_from=made_from,
            undecided=self.undecided,
        )


def _undecided(menus: Sequence[Menu], plan: Plan, axis: Axis | None) -> bool:
    """Whether events in which nothing fired can enter a rate: `random` and `not` accept them."""
    nothing = np.zeros((1, plan.words), np.uint64)
    accepted = (acceptances(nothing, menu, bits).total for menu, bits in zip(menus, plan.bits, strict=True))
    return (axis is not None and axis.undecided) or any(total.any() for total in accepted)


def is_fitted(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> bool:
    """Whether a model or a cut was found from these samples: rates then come from the other half."""
    name = catalogue.table.name
    used = [trigger for menu in menus for trigger in menu.used]
    if any(trigger.solution or trigger.fitted_on == name for trigger in used):
        return True
    files = {digest for sample in catalogue.samples for digest in sample.sha256}
    return any(
        on.catalogue == name or not files.isdisjoint(map(str.lower, on.files)) for on in plan.trained_on
    )
