"""Collect arrays of the background events that a trigger evaluates, for training and diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.counting.acceptance import Acceptance, acceptances
from trigemu.counting.patterns import PatternTable
from trigemu.counting.quantities import members_by_level
from trigemu.emulation import scaling
from trigemu.emulation.engine import Chunk, Job, Task, over_background
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, Need

#: Returns a mask of the selected events, bool[n], and arrays of these, by name.
Read = Callable[[Plan, Workspace], tuple[BoolArray, Mapping[str, npt.NDArray[Any]]]]


@dataclass(frozen=True)
class Gathered:
    """The n selected events of both halves."""

    menu: Menu
    bits: Mapping[str, int]  # The bit of each trigger
    weight: FloatArray  # float64[n] in Hz, scaled such that each half represents the full rate
    half: IntArray  # int64[n]
    parent: npt.NDArray[np.uint64]  # uint64[n]
    shared: BoolArray  # bool[n], whether other events may have the same parent
    words: Words  # uint64[n, w], the raw decisions of the menu's triggers
    values: Mapping[str, npt.NDArray[Any]]  # The arrays that were read, with first axis n

    def of(self, half: int) -> Gathered:
        rows = self.half == half
        names = ("weight", "half", "parent", "shared", "words")
        columns = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **columns, values={name: value[rows] for name, value in self.values.items()})

    @property
    def interaction(self) -> IntArray:
        """The number, from 0, of the interaction that each event is made from, int64[n]."""
        group = np.unique(self.parent, return_inverse=True)[1]
        number = np.where(self.shared, group, len(group) + np.arange(len(group)))
        return np.unique(number, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def acceptance(self) -> Acceptance:
        """The probabilities with which the enabled triggers of the menu accept each event."""
        return acceptances(self.words, self.menu, self.bits)

    def any_but(self, name: str | None = None) -> FloatArray:
        """Return the probability float64[n] that any trigger of the menu other than the named one accepts; in
        a menu with levels, any of the same level, or of the last level if none is named."""
        of_level = members_by_level(self.menu)
        level = self.menu.trigger(name).level if name else list(of_level)[-1]
        is_other = np.array([trigger.name != name for trigger in self.menu.enabled])
        return self.acceptance.either(of_level[level or ""] & is_other)


def gather(
    menu: Menu, catalogue: Catalogue, read: Read, needs: Iterable[Need] = (), executor: Any = None
) -> Gathered:
    """Read the background once. read: picklable. needs: columns besides those of the triggers."""
    plan = make_plan([menu])
    plan.check_background(catalogue)
    job, task = Job((menu,), plan, catalogue, frozenset(needs)), _Gather(read)
    table, columns, values = task.merge([*over_background(job, task, executor)])
    scales = np.stack(
        [scaling.half_scales(table, half, catalogue) for half in (split.TRAINING, split.EVALUATION)]
    )
    half, sample = columns["half"], columns.pop("sample")
    columns["weight"] *= scales[half, sample] * scaling.crossing_scale(menu, catalogue)
    shared = np.isin(sample, sorted(catalogue.with_parents))
    return Gathered(menu, plan.bits[0], shared=shared, values=values, **columns)


Arrays = dict[str, npt.NDArray[Any]]
#: The weight of each half, columns of the selected events with their original weights, and what was read.
_Part = tuple[PatternTable, Arrays, Arrays]


@dataclass(frozen=True)
class _Gather(Task[_Part]):
    """The task that selects the events of a chunk."""

    read: Read

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> _Part:
        scaling.refuse_negative(events)
        work = Workspace(events)
        words = decide(events, plan, work)
        selected, values = self.read(plan, work)
        counted = np.zeros(len(events), np.bool_)
        counted[events.core] = True
        values = {name: value[counted[selected]] for name, value in values.items()}
        selected = selected & counted
        columns = {
            "sample": np.full(np.count_nonzero(selected), chunk.sample),
            "weight": events.weight[selected],
            "half": split.half_of(events.parent)[selected],
            "parent": events.parent[selected],
            "words": words[selected],
        }
        return scaling.weights_by_half(chunk.sample, events), columns, values
