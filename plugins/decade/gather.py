"""Arrays of the background events that a trigger asks for: what training and diagnostics look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.acceptance import acceptances, coherent_sets, or_of
from trigemu.calibrate import crossing_scale, half_scales, refuse_negative, weights_by_half
from trigemu.chunks import Job, over_background
from trigemu.decisions import Plan, decide, make_plan
from trigemu.events import BoolArray, Events, FloatArray, IntArray
from trigemu.halves import EVALUATION, TRAINING, half_of
from trigemu.menu import Menu
from trigemu.observables import Need
from trigemu.patterns import PatternTable, merge
from trigemu.samples import Catalogue
from trigemu.workspace import Workspace

#: Which events are asked, bool[n], and arrays of those, by name.
Read = Callable[[Plan, Workspace], tuple[BoolArray, Mapping[str, npt.NDArray[Any]]]]


@dataclass(frozen=True)
class Gathered:
    """n asked events of both halves.

    weight: float64[n] in Hz of the menu, so that the events of either half stand for all. half: int64[n].
    parent: uint64[n]. accepted: float64[n, t], the acceptance of each enabled trigger of the menu. values:
    what was read, the first axis being n.
    """

    menu: Menu
    weight: FloatArray
    half: IntArray
    parent: npt.NDArray[np.uint64]
    accepted: FloatArray
    values: Mapping[str, npt.NDArray[Any]]

    def of(self, half: int) -> Gathered:
        rows = self.half == half
        values = {name: value[rows] for name, value in self.values.items()}
        return Gathered(
            self.menu, self.weight[rows], self.half[rows], self.parent[rows], self.accepted[rows], values
        )

    def any_but(self, name: str | None = None) -> FloatArray:
        """float64[n]: the probability that any trigger of the menu accepts, one left out."""
        kept = [i for i, trigger in enumerate(self.menu.enabled) if trigger.name != name]
        triggers = [self.menu.enabled[i] for i in kept]
        return or_of(self.accepted[:, kept], coherent_sets(triggers))


def gather(menu: Menu, catalogue: Catalogue, read: Read, needs: Iterable[Need] = ()) -> Gathered:
    """Read the background once. `needs`: columns besides those of the menu's own triggers."""
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
        accepted = acceptances(words[chosen], menu, plan.bits[0])
        part = Gathered(menu, events.weight[chosen], half[chosen], events.parent[chosen], accepted, values)
        return weights_by_half(sample, events), np.full(np.count_nonzero(chosen), sample), part

    job = Job((menu,), plan, catalogue, frozenset(needs))
    tables, samples, parts = zip(*(made for _, made in over_background(job, task)), strict=True)
    table, sample = merge(tables), np.concatenate(samples)
    scales = np.stack([half_scales(table, half, catalogue) for half in (TRAINING, EVALUATION)])
    scales *= crossing_scale(menu, catalogue)
    half = np.concatenate([part.half for part in parts])
    return Gathered(
        menu,
        np.concatenate([part.weight for part in parts]) * scales[half, sample],
        half,
        np.concatenate([part.parent for part in parts]),
        np.concatenate([part.accepted for part in parts]),
        {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
    )
