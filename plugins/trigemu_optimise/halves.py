"""The two halves of the events: a menu is searched on one and judged on the other.

If a model of the menu was trained on half of the background, only the other half is used, and divided again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.base.splitmix import splitmix64
from trigemu.counting.patterns import Keys, PatternTable, count_patterns
from trigemu.counting.score_table import ScoreTable
from trigemu.emulation import scaling
from trigemu.emulation.engine import Chunk, Job, Progress, TableTask, over_background
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.scores import Scores
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events

from .rows import Parents


@dataclass(frozen=True)
class Halves:
    """The halves of the events of some tables."""

    tables: tuple[ScoreTable, ...]  # The events of the background, and of each signal
    # tuple of int64[n]: for each event, 0 if it is searched on, 1 if it judges, −1 if neither.
    half: tuple[IntArray, ...]
    # Of each half, float64[samples]: the factors to all of the background, times that to the crossing rate.
    scales: tuple[FloatArray, FloatArray]
    shared: frozenset[int]  # The samples whose events may share interactions
    trained: int | None  # The half that models of the menu were not trained on

    def of_table(
        self, number: int, which: int, counts: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray, Parents]:
        """Return the positions in all tables, the weights and the interactions of the events of a table in a
        half; those of the background are scaled. counts: bool[n], which events of the table count."""
        table, start = self.tables[number], sum(map(len, self.tables[:number]))
        mask = self.half[number] == which
        events = np.flatnonzero(mask if counts is None else mask & counts)
        weight, sample = table.weight[events], table.sample[events]
        if number == 0:
            weight = weight * self.scales[which][sample]
        # a parent is one interaction in all samples; an event without one is an interaction of its own
        alone = splitmix64(table.id[events] + splitmix64(sample.astype(np.uint64)))
        interaction = np.where(np.isin(sample, sorted(self.shared)), table.parent[events], alone)
        return events + start, weight, interaction

    @property
    def text(self) -> str:
        """A sentence about the halves."""
        if self.trained is None:
            return f"Searched on the {split.HALF_NAMES[0]} half of each sample, judged on the other."
        return (
            f"Searched on half of the {split.HALF_NAMES[self.trained]} half of the background, which no "
            "model of the menu was trained on, judged on the rest of it; signals are halved once."
        )


def halves_of(
    menu: Menu,
    scores: Scores,
    tables: tuple[ScoreTable, ...],
    executor: Any = None,
    progress: Progress | None = None,
) -> Halves:
    """Divide the events of some tables, the background and then signals.

    executor, progress: as in `emulate`, for the pass over the background that the weights of quarters need.
    """
    catalogue = scores.catalogue
    trained = unseen_half(menu, catalogue)
    if trained is None:
        sums = scores.table.by_half()
        scales = [scaling.half_scales(sums, half, catalogue) for half in (0, 1)]
        half = tuple(table.half for table in tables)
    else:
        task = _Quarters()
        job = Job((), make_plan(()), catalogue)
        sums = task.merge([*over_background(job, task, executor, progress)])
        sums = replace(sums, half=2 * sums.half + sums.bin)
        scales = [_quarter_scales(sums, 2 * trained + quarter, catalogue) for quarter in (0, 1)]
        background = np.where(tables[0].half == trained, _next_bit(tables[0].parent), -1)
        half = (background, *(_next_bit(table.parent) for table in tables[1:]))
    first, second = (scaling.crossing_scale(menu, catalogue) * scale for scale in scales)
    return Halves(tables, half, (first, second), catalogue.with_parents, trained)


def unseen_half(menu: Menu, catalogue: Catalogue) -> int | None:
    """Return the half of the background that no model of a menu was trained on; None if none was trained."""
    plain = replace(menu, triggers=tuple(replace(t, fitted_on=None, solution=None) for t in menu.triggers))
    return scaling.unseen_half([plain], make_plan([plain]), catalogue)


def _quarter_scales(sums: PatternTable, quarter: int, catalogue: Catalogue) -> FloatArray:
    """Return Σw(all) / Σw(quarter) of each sample."""
    scales = sums.share_scales(quarter, len(catalogue.samples))
    for sample in catalogue.background:
        if not 0.0 < scales[sample.number] < np.inf:
            raise SampleError(
                f"sample {sample.name!r}: there is no weight in one of the two quarters that no model of the "
                "menu was trained on: it needs more events"
            )
    return scales


@dataclass(frozen=True)
class _Quarters(TableTask):
    """The task that sums the weights of a chunk in each half of each half."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        parent, weight = events.parent[events.core], events.weight[events.core]
        keys = Keys(split.half_of(parent), _next_bit(parent))
        return count_patterns(chunk.sample, np.zeros((len(weight), 1), np.uint64), weight, keys)


def _next_bit(parent: Parents) -> IntArray:
    """Return the bit of the hash of interactions after the one that gives the half."""
    return ((splitmix64(parent) >> np.uint64(62)) & np.uint64(1)).astype(np.int64)
