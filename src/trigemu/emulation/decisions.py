"""Decisions of the triggers of a menu, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, Words
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.counting.acceptance import raw_decisions
from trigemu.emulation.engine import Chunk, Job, over_samples
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.awkward import events_from_awkward, is_awkward
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, sample_in_memory, samples_of


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
    read = menu_of(menu)
    names = [trigger.name for trigger in read.enabled]
    part = read.part(names)
    for trigger in part.triggers:
        if trigger.budget and not trigger.solution:
            raise TrigemuError(
                f"{trigger.place}: trigger {trigger.name!r}: its threshold follows from "
                f"{trigger.budget.key} = {trigger.budget.hz:g}, which needs the full background: give the "
                f"menu of a run, run(menu, samples).menu, or that of solve_budgets(menu, samples)"
            )
    if is_awkward(events):
        events = events_from_awkward(events)
    if not isinstance(events, Events):
        return _of_sample(part, samples_of(events), sample, names)
    plan = make_plan(part)
    if events.core != slice(None):  # they include their neighbouring crossings
        words = decide(events, plan)[events.core]
    else:
        if len(events):
            plan.check(sample_in_memory(events))
        starts = range(0, max(len(events), 1), CHUNK_EVENTS)
        words = np.concatenate([decide(events[start : start + CHUNK_EVENTS], plan) for start in starts])
    raw = raw_decisions(words, part, plan.bits[0])
    return {name: raw[name] for name in names}


def fired_in(menu: Menu, catalogue: Catalogue, trigger: str, sample: str | None) -> BoolArray:
    """Return the decisions of one trigger of a solved menu on a sample of a catalogue; see `decisions`."""
    part = menu.part([trigger])
    on = (replace(other, enabled=other.enabled or other.name == trigger) for other in part.triggers)
    part = replace(part, triggers=tuple(on))  # a disabled trigger would not be compiled
    return _of_sample(part, catalogue, sample, [trigger])[trigger]


def _of_sample(
    menu: Menu, catalogue: Catalogue, name: str | None, names: Sequence[str]
) -> dict[str, BoolArray]:
    """Return the decisions of some triggers on a sample; it need not be named if there is only one."""
    if name is None and len(catalogue.samples) > 1:
        known = ", ".join(repr(sample.name) for sample in catalogue.samples)
        raise SampleError(f"{catalogue.path} has several samples: name one as sample=… ({known})")
    sample = catalogue.samples[0] if name is None else catalogue.sample(name)
    plan = make_plan(menu)
    plan.check(sample)
    parts = [*over_samples([sample], Job((menu,), plan, catalogue), _Decide())]
    raw = raw_decisions(np.concatenate(parts), menu, plan.bits[0])
    return {name: raw[name] for name in names}


@dataclass(frozen=True)
class _Decide:
    """The task that returns the decisions of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Words:
        words: Words = decide(events, plan)[events.core]
        return words

    def merge(self, parts: Sequence[Any]) -> Words:
        return np.concatenate(parts)
