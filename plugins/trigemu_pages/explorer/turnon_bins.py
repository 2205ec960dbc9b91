"""The selected events of a signal sample and the bins of their observables, for each event. They are needed
for the turn-ons of triggers whose decisions come from a score table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError
from trigemu.counting.patterns import Parents
from trigemu.emulation.engine import Chunk, Job, Task, over_samples
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.checks import unit_of_observable
from trigemu.menus.menu import Menu
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.studies.efficiency import Bins
from trigemu.studies.intervals import Profile
from trigemu.triggers.base import Context


@dataclass(frozen=True)
class SignalBins:
    """The events of a signal sample."""

    condition: str | None  # The condition that selects events; None: all events are selected
    profiles: tuple[Profile, ...]  # The observables and their bins
    id: Parents  # uint64[n], the numbers of all events, in the order of the sample
    selected: BoolArray  # bool[n], whether an event is selected
    # uint8[n, profiles], the bin of each observable; for events outside of the bins, the number of bins.
    bin: npt.NDArray[np.uint8]


def signal_bins(
    menu: Menu, catalogue: Catalogue, sample: str, profiles: Sequence[Profile], *, executor: Any = None
) -> SignalBins:
    """Find the bins of the events of a signal. Events are selected as in `efficiencies` by default."""
    chosen = catalogue.sample(sample)
    require, context = chosen.table.require, Context(menu.scope)
    task = _FindBins(
        tuple((context.observable(profile.observable), profile.edges) for profile in profiles),
        context.condition(require) if require else None,
    )
    job = Job((), make_plan(()), catalogue, frozenset(context.needs))
    number, selected, bins = task.merge([*over_samples([chosen], job, task, executor)])
    if not selected.any():
        raise SampleError(f"no event of {sample} is selected by {require!r}")
    with_units = (
        Profile(p.observable, p.edges, p.label, p.unit or unit_of_observable(menu, p.observable))
        for p in profiles
    )
    return SignalBins(require, tuple(with_units), number, selected, bins)


_Part = tuple[Parents, BoolArray, npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class _FindBins(Task[_Part]):
    """The task that selects the events of a chunk and finds their bins."""

    profiles: tuple[tuple[Number, tuple[float, ...]], ...]
    require: Condition | None

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> _Part:
        work = Workspace(events)
        selected = self.require.evaluate(work) if self.require else np.ones(len(events), np.bool_)
        bins = np.empty((len(events), len(self.profiles)), np.uint8)
        for column, (number, edges) in enumerate(self.profiles):
            bins[:, column] = Bins(number, edges)(work)
        return events.id, selected, bins
