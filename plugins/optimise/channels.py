"""The events of a signal that a channel counts: those that fulfil its condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    Chunk,
    Condition,
    Context,
    Events,
    Job,
    Menu,
    Plan,
    Progress,
    SampleError,
    TrigemuError,
    Workspace,
    check_result,
    checked,
    make_plan,
    over_samples,
)

from .goal_tables import ChannelTable


def selected(
    menu: Menu,
    catalogue: Catalogue,
    channel: ChannelTable,
    executor: Any = None,
    progress: Progress | None = None,
) -> BoolArray:
    """Return which events of its sample a channel counts, bool[n], in the order of the sample.

    Parameters
    ----------
    menu : Menu
        The menu, whose objects and sums conditions name.
    catalogue : Catalogue
        The samples.
    channel : ChannelTable
        The channel.
    executor, progress
        As in `emulate`.

    Raises
    ------
    SampleError
        If it counts no event.
    """
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
    classes: ClassVar[tuple[type, ...]] = ()

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> BoolArray:
        return np.asarray(self.require.evaluate(Workspace(events)), np.bool_)[events.core]

    def merge(self, parts: Sequence[BoolArray]) -> BoolArray:
        return np.concatenate(parts)


@check_result.register
def _(task: _Select, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, np.ndarray):
        raise TrigemuError("it does not contain the selection of events")
    checked.check_array("selected", part, np.dtype("?"), sum(chunk.size for chunk in chunks))
