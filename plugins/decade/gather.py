"""Collect arrays of the background events that a trigger evaluates, for training and diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.counting import Acceptance, PatternTable, acceptances, members_by_level, merge_tables
from trigemu.decisions import Plan, decide, make_plan
from trigemu.emulation import (
    Job,
    crossing_scale,
    half_scales,
    over_background,
    refuse_negative,
    weights_by_half,
)
from trigemu.menus import Menu
from trigemu.observables import Workspace
from trigemu.samples import EVALUATION, TRAINING, Catalogue, Events, Need, half_of
from trigemu.support import BoolArray, FloatArray, IntArray, Words

#: Returns which events are selected, bool[n], and arrays of these, by name.
Read = Callable[[Plan, Workspace], tuple[BoolArray, Mapping[str, npt.NDArray[Any]]]]


@dataclass(frozen=True)
class Gathered:
    """The n selected events of both halves.

    weight: float64[n] in Hz, scaled such that each half represents the full rate. half: int64[n]. parent:
    uint64[n]. words: uint64[n, w], the raw decisions of the menu's triggers; bits: the bit of each trigger.
    values: the arrays that were read, with first axis n.
    """

    menu: Menu
    bits: Mapping[str, int]
    weight: FloatArray
    half: IntArray
    parent: npt.NDArray[np.uint64]
    words: Words
    values: Mapping[str, npt.NDArray[Any]]

    def of(self, half: int) -> Gathered:
        rows = self.half == half
        return replace(
            self,
            weight=self.weight[rows],
            half=self.half[rows],
            parent=self.parent[rows],
            words=self.words[rows],
            values={name: value[rows] for name, value in self.values.items()},
        )

    @cached_property
    def acceptance(self) -> Acceptance:
        """The probabilities with which the enabled triggers of the menu accept each event."""
        return acceptances(self.words, self.menu, self.bits)

    def any_but(self, name: str | None = None) -> FloatArray:
        """Return the probability float64[n] that any trigger of the menu accepts, except the named one; in a
        menu with levels, any of the same level, or of the last one if none is named."""
        of_level = members_by_level(self.menu)
        level = self.menu.trigger(name).level if name else list(of_level)[-1]
        others = np.array([trigger.name != name for trigger in self.menu.enabled])
        return self.acceptance.either(of_level[level or ""] & others)


def gather(menu: Menu, catalogue: Catalogue, read: Read, needs: Iterable[Need] = ()) -> Gathered:
    """Read the background once. `needs`: columns in addition to those of the menu's triggers."""
    plan = make_plan([menu])
    plan.check_background(catalogue)

    def task(plan: Plan, sample: int, events: Events) -> tuple[PatternTable, IntArray, Gathered]:
        refuse_negative(events)
        work = Workspace(events)
        words = decide(events, plan, work)
        chosen, values = read(plan, work)
        half = half_of(events.parent)
        counted = np.zeros(len(events), np.bool_)
        counted[events.core] = True
        values = {name: value[counted[chosen]] for name, value in values.items()}
        chosen = chosen & counted
        columns = events.weight[chosen], half[chosen], events.parent[chosen], words[chosen]
        part = Gathered(menu, plan.bits[0], *columns, values)
        return weights_by_half(sample, events), np.full(np.count_nonzero(chosen), sample), part

    job = Job((menu,), plan, catalogue, frozenset(needs))
    tables, samples, parts = zip(*(made for _, made in over_background(job, task)), strict=True)
    table, sample = merge_tables(tables), np.concatenate(samples)
    scales = np.stack([half_scales(table, half, catalogue) for half in (TRAINING, EVALUATION)])
    scales *= crossing_scale(menu, catalogue)
    half = np.concatenate([part.half for part in parts])
    return Gathered(
        menu,
        plan.bits[0],
        np.concatenate([part.weight for part in parts]) * scales[half, sample],
        half,
        np.concatenate([part.parent for part in parts]),
        np.concatenate([part.words for part in parts]),
        {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
    )
