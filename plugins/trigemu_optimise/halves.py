"""The two halves of the events: a menu is searched on one and judged on the other.

If a model of the menu was trained on half of the background, only the other half is used, and divided again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.base.splitmix import splitmix64
from trigemu.counting.patterns import PatternTable, merge_tables
from trigemu.counting.score_table import ScoreTable
from trigemu.emulation import scaling
from trigemu.emulation.engine import Chunk, Job, Progress, over_background
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
    # tuple of float64[samples]: the factors from each half of the background to all of it, times the factor
    # to the crossing rate of the menu.
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
        chosen = np.flatnonzero(mask if counts is None else mask & counts)
        weight = table.weight[chosen]
        if number == 0:
            weight = weight * self.scales[which][table.sample[chosen]]
        sample = table.sample[chosen]
        # a parent is one interaction in all samples; an event without one is an interaction of its own
        alone = splitmix64(table.id[chosen] + splitmix64(sample.astype(np.uint64)))
        interaction = np.where(np.isin(sample, sorted(self.shared)), table.parent[chosen], alone)
        return chosen + start, weight, interaction

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
    everything = scaling.crossing_scale(menu, catalogue)
    if trained is None:
        sums = scores.table.by_half()
        scales = tuple(scaling.half_scales(sums, half, catalogue) for half in (0, 1))
        half = tuple(table.half for table in tables)
    else:
        task = _Quarters(trained)
        job = Job((), make_plan(()), catalogue)
        sums = task.merge([*over_background(job, task, executor, progress)])
        scales = tuple(_quarter_scales(sums, quarter, catalogue) for quarter in (0, 1))
        signals = (_next_bit(table.parent) for table in tables[1:])
        half = (_quarter(tables[0].half, tables[0].parent, trained), *signals)
    return Halves(
        tables, half, (everything * scales[0], everything * scales[1]), catalogue.with_parents, trained
    )


def unseen_half(menu: Menu, catalogue: Catalogue) -> int | None:
    """Return the half of the background that no model of a menu was trained on; None if none was trained."""
    plain = replace(menu, triggers=tuple(replace(t, fitted_on=None, solution=None) for t in menu.triggers))
    return scaling.unseen_half([plain], make_plan([plain]), catalogue)


def _quarter(half: IntArray, parent: Parents, trained: int) -> IntArray:
    """Return 0 or 1 for each event of the half that no model was trained on, −1 for the others."""
    return np.where(half == trained, _next_bit(parent), -1)


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
class _Quarters:
    """The task that sums the weights of a chunk in each quarter of the half that no model was trained on,
    and in the other half (2)."""

    trained: int

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        quarter = _quarter(split.half_of(events.parent), events.parent, self.trained)
        return scaling.weights_by_half(chunk.sample, events, np.where(quarter < 0, 2, quarter))

    def merge(self, parts: Sequence[PatternTable]) -> PatternTable:
        return merge_tables(parts)


def _next_bit(parent: Parents) -> IntArray:
    """Return the bit of the hash of interactions after the one that gives the half."""
    return ((splitmix64(parent) >> np.uint64(62)) & np.uint64(1)).astype(np.int64)
