"""The two halves of the events: a menu is searched on one and judged on the other.

If a model of the menu was trained on half of the background, only the other half is used, and divided again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.splitmix import splitmix64
from trigemu.counting.patterns import Keys, PatternTable, count_patterns
from trigemu.emulation import scaling
from trigemu.emulation.engine import Chunk, Job, Progress, TableTask, over_background
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.score_table import ScoreTable
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events

from .rows import Half, Parents, Prepared

#: The events of a channel: its label, the number of their table, and which of the table count, bool[n].
OfChannel = tuple[str, int, BoolArray]


def halves_of(
    menu: Menu,
    catalogue: Catalogue,
    prepared: Prepared,
    tables: Sequence[ScoreTable],
    channels: Sequence[OfChannel],
    executor: Any = None,
    progress: Progress | None = None,
) -> tuple[tuple[Half, Half], str]:
    """Return the half that is searched and the one that judges, and a sentence about them.

    tables: the events of the background, and of each signal. executor, progress: as in `emulate`, for the
    pass over the background that the weights of quarters need.
    """
    trained, background = unseen_half(menu, catalogue), tables[0]
    half: list[IntArray]  # of each event: 0 if it is searched on, 1 if it judges, −1 if neither
    if trained is None:
        sums = background.by_half()
        scales = [scaling.half_scales(sums, which, catalogue) for which in (0, 1)]
        half = [table["half"] for table in tables]
        text = f"Searched on the {split.HALF_NAMES[0]} half of each sample, judged on the other."
    else:
        task, job = _Quarters(), Job((), make_plan(()), catalogue)
        sums = task.merge([*over_background(job, task, executor, progress)])
        sums = replace(sums, half=2 * sums.half + sums.bin)
        scales = [_quarter_scales(sums, 2 * trained + quarter, catalogue) for quarter in (0, 1)]
        half = [_next_bit(table["parent"]) for table in tables]
        half[0] = np.where(background["half"] == trained, half[0], -1)
        text = (
            f"Searched on half of the {split.HALF_NAMES[trained]} half of the background, which no model of "
            "the menu was trained on, judged on the rest of it; signals are halved once."
        )
    start = np.cumsum([0, *map(len, tables)])
    crossing, shared = scaling.crossing_scale(menu, catalogue), sorted(catalogue.with_parents)

    def made(which: int) -> Half:
        groups, positions = [], []
        for label, number, counts in [("", 0, np.ones(len(background), np.bool_)), *channels]:
            table = tables[number]
            rows = np.flatnonzero((half[number] == which) & counts)
            weight, sample = table["weight"][rows], table["sample"][rows]
            if number == 0:
                weight = weight * (crossing * scales[which])[sample]
            elif not weight.sum() > 0:
                raise TrigemuError(
                    f"channel {label!r}: none of its events is in the "
                    f"{('half that is searched', 'unseen half')[which]}: it needs more events"
                )
            else:
                weight = weight / weight.sum()
            # a parent is one interaction in all samples; an event without one is an interaction of its own
            alone = splitmix64(table["id"][rows] + splitmix64(sample.astype(np.uint64)))
            interaction = np.where(np.isin(sample, shared), table["parent"][rows], alone)
            positions.append(rows + start[number])
            sets = 1 if number else len(prepared.fixed)
            groups.append(prepared.group(positions[-1], weight, interaction, sets))
        return Half(groups[0], tuple(groups[1:]), tuple(positions))

    return (made(0), made(1)), text


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
