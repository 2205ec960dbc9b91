"""Numbers of each event, from one pass over samples: what a user of events gathers, in the order of the
chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, merge_tables
from trigemu.emulation.engine import Chunk, Job, Task, joined, over_samples
from trigemu.emulation.plan import Plan, decide
from trigemu.emulation.scaling import half_scales, refuse_negative, weights_by_half
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import INTERACTIONS, Sample
from trigemu.samples.split import half_of

#: The columns of some events, by name: arrays whose first axis are the events.
Columns = dict[str, npt.NDArray[Any]]
#: Computes further columns of the events of a workspace, with a compiled plan. If one is `keep`, bool[n],
#: only these events are kept, and the other columns are of these alone. It is a function of a module or a
#: `partial` of one, and is sent to workers.
Read = Callable[[Plan, Workspace], Columns]


def take_rows(columns: Columns, rows: slice | BoolArray | IntArray) -> Columns:
    """Return the columns of some events."""
    return {name: values[rows] for name, values in columns.items()}


def scores_of(slots: Sequence[int], plan: Plan, work: Workspace) -> FloatArray:
    """Return the scores of some slots of a plan, float64[n, slots]."""
    scores = np.empty((len(work.events), len(slots)))
    for column, slot in enumerate(slots):
        scores[:, column] = plan.slots[slot].compiled.evaluate(work)
    return scores


@dataclass(frozen=True)
class Selection:
    """The columns of selected events among consecutive ones, and the sums of those that are left out."""

    columns: Columns
    sums: PatternTable  # By sample, half and stratum; the patterns are 0


@dataclass(frozen=True)
class PerEvent(Task[Selection]):
    """The task that gathers columns of the events of a chunk.

    names: of "sample", "id", "parent", "half", "weight" in Hz, "stratum" and "words", the decisions of the
    plan. read: gives further columns. half: the only half to keep, because something is fitted or judged on
    it. stratum_of: as in `Catalogue`.
    """

    names: Sequence[str]
    read: Read | None = None
    half: int | None = None
    stratum_of: tuple[int, ...] = ()

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Selection:
        n, work, stratum = len(events), Workspace(events), np.zeros(len(events), np.int16)
        if any(self.stratum_of):
            last = len(self.stratum_of) - 1  # a signal may have more interactions than the background
            number = np.minimum(events.scalars[INTERACTIONS[1]], last)
            stratum = np.array(self.stratum_of, np.int16)[number]
        columns: Columns = {"id": events.id, "parent": events.parent, "weight": events.weight}
        columns["sample"], columns["stratum"] = np.full(n, chunk.sample, np.int32), stratum
        columns["half"] = half_of(events.parent).astype(np.int8)
        if "words" in self.names:
            columns["words"] = decide(events, plan, work)
        read = dict(self.read(plan, work)) if self.read else {}
        counted, keep = np.zeros(n, np.bool_), read.pop("keep", np.ones(n, np.bool_))
        counted[events.core] = True
        wanted = counted & keep
        if self.half is not None:
            refuse_negative(events)
            wanted &= columns["half"] == self.half
        left, nothing = counted & ~wanted, np.zeros((n, 1), np.uint64)
        keys = Keys(columns["half"], stratum=columns["stratum"]).take(left)
        sums = count_patterns(chunk.sample, nothing[left], events.weight[left], keys)
        columns = take_rows({name: columns[name] for name in self.names}, wanted)
        return Selection(columns | take_rows(read, wanted[keep]), sums)


def interactions(columns: Columns, catalogue: Catalogue) -> IntArray:
    """Return the number of the interaction that each event was made from, int64[n], from 0: that of its
    parent, or its own in samples whose events share none. columns: with "sample" and "parent"."""
    shared = np.isin(columns["sample"], [*catalogue.with_parents])
    parents, number = np.unique(columns["parent"][shared], return_inverse=True)
    interaction = len(parents) + np.cumsum(~shared) - 1
    interaction[shared] = number
    return interaction


def per_event(
    job: Job,
    names: Iterable[str],
    read: Read | None = None,
    *,
    samples: Iterable[Sample] | None = None,
    half: int | None = None,
    executor: Any = None,
) -> Columns:
    """Return columns of all events of some samples, by default of the background, in their order.

    names, read: as in `PerEvent`. half: only the events of this half are kept, with weights that add up to
    those of the full samples; an event of negative weight is then a SampleError. So is a sample that lacks a
    column that the plan needs.
    """
    if samples is None:
        job.plan.check_background(job.catalogue)
        samples = job.catalogue.background
    samples, task = (*samples,), PerEvent((*names,), read, half)
    job.plan.check(*samples)
    if not (parts := [*over_samples(samples, job, task, executor)]):
        raise SampleError(f"{job.catalogue.path}: there are no events")
    selection: Selection = joined(parts)
    columns = selection.columns
    if half is not None:
        kept = weights_by_half(columns["sample"], np.full(len(columns["sample"]), half), columns["weight"])
        scales = half_scales(merge_tables([selection.sums, job.rest, kept]), half, job.catalogue)
        columns["weight"] = columns["weight"] * scales[columns["sample"]]
    return columns
