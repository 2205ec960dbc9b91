"""The two halves of the events: a menu is searched on one and judged on the other.

If a model of the menu was trained on half of the background, only the other half is used, and divided again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trigemu.api import (
    BoolArray,
    FloatArray,
    IntArray,
    Menu,
    Scores,
    ScoreTable,
    make_plan,
    scaling,
    split,
    splitmix64,
)

from .rows import Parents


@dataclass(frozen=True)
class Halves:
    """The halves of the events of some tables.

    Attributes
    ----------
    tables : tuple of ScoreTable
        The events of the background, and of each signal.
    half : tuple of int64[n]
        For each event, 0 if it is searched on, 1 if it judges, −1 if neither.
    scales : tuple of float64[samples]
        The factors from each half of the background to all of it, times the factor to the crossing rate of
        the menu.
    shared : frozenset of int
        The samples whose events may share interactions.
    trained : int or None
        The half that models of the menu were not trained on.
    """

    tables: tuple[ScoreTable, ...]
    half: tuple[IntArray, ...]
    scales: tuple[FloatArray, FloatArray]
    shared: frozenset[int]
    trained: int | None

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
        own = np.where(
            np.isin(table.sample[chosen], sorted(self.shared)), table.parent[chosen], table.id[chosen]
        )
        interaction = splitmix64(own + splitmix64(table.sample[chosen].astype(np.uint64)))
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


def halves_of(menu: Menu, scores: Scores, tables: tuple[ScoreTable, ...]) -> Halves:
    """Divide the events of some tables, the background and then signals."""
    catalogue = scores.catalogue
    plain = replace(menu, triggers=tuple(replace(t, fitted_on=None, solution=None) for t in menu.triggers))
    trained = scaling.unseen_half([plain], make_plan([plain]), catalogue)
    everything = scaling.crossing_scale(menu, catalogue)
    sums = scores.table.by_half()
    if trained is None:
        scales = tuple(everything * scaling.half_scales(sums, half, catalogue) for half in (0, 1))
        half = tuple(table.half for table in tables)
    else:
        # Of the events outside of the table, only the weight of each half is known; a quarter has half of it.
        both = 2.0 * everything * scaling.half_scales(sums, trained, catalogue)
        scales = both, both
        half = tuple(
            np.where((number > 0) | (table.half == trained), _next_bit(table.parent), -1)
            for number, table in enumerate(tables)
        )
    return Halves(tables, half, (scales[0], scales[1]), catalogue.with_parents, trained)


def _next_bit(parent: Parents) -> IntArray:
    """Return the bit of the hash of interactions after the one that gives the half."""
    return ((splitmix64(parent) >> np.uint64(62)) & np.uint64(1)).astype(np.int64)
