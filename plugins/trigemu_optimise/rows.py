"""Events of score tables as rows: events that no point of the search tells apart are one row.

A level is the number of values of a variable below the score of a trigger: the trigger fires at a point if
its level is above the index of the value. Most varied triggers accept whenever they fire: a column of levels
each. All others are leaves of components (`components.py`), and decide which entry of a table counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.emulation.score_table import Scores, ScoreTable
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import ScoreKind

from .components import Tabulated, components_of, tabulate
from .variables import Variable, threshold_numbers

Parents = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Group:
    """Some events, as rows."""

    level: Levels  # uint8[columns + leaves, rows]: of columns, then of the leaves of each component
    base: IntArray  # int64[components, rows]: the first entry in the tables; 0 if it is always accepted
    # float64[sets, rows]: the probability that no trigger of a set accepts which nothing can change.
    fixed: FloatArray
    row: IntArray  # int64[n]: the row of each event
    weight: FloatArray  # float64[n]: the weights of the events
    # uint64[n]: a number of the interaction that each event was made from, whichever sample it is in.
    interaction: Parents

    @property
    def row_weight(self) -> FloatArray:
        """The weights of the rows."""
        return summed(self.row, self.weight, self.level.shape[1])


@dataclass(frozen=True)
class Half:
    """The events of one half, scaled to all."""

    background: Group  # The events of the background, with weights in Hz
    channels: tuple[Group, ...]  # Those of each channel, with weights that add up to 1
    # tuple of int64[n]: the positions of the events of both in all tables, one after the other.
    events: tuple[IntArray, ...]


@dataclass(frozen=True)
class Prepared:
    """All events of some tables, ready to be divided into groups; arrays as in `Group`, for each event."""

    columns: IntArray  # int64[columns]: the variable of each column
    member: BoolArray  # bool[sets, columns]: whether the trigger of a column is in a set
    components: tuple[Tabulated, ...]
    level: Levels
    base: IntArray
    fixed: FloatArray

    def group(self, events: IntArray, weight: FloatArray, interaction: Parents, sets: int) -> Group:
        """Return some events as rows, for the first `sets` sets."""
        level, base, fixed = self.level[:, events], self.base[:, events], self.fixed[:sets, events]
        row, first = distinct([*level, *base, *fixed], len(events))
        return Group(level[:, first], base[:, first], fixed[:, first], row, weight, interaction)


def prepare(
    menu: Menu, decisions: Decisions, variables: tuple[Variable, ...], sets: tuple[frozenset[str], ...]
) -> Prepared:
    """Return the events of some tables, one table after the other."""
    columns, components, bases, start = [], [], [], 1
    fixed = np.ones((len(sets), decisions.events))
    leaves: list[str] = []
    for component in components_of(menu, variables):
        first = menu.trigger(component.triggers[0])
        only = component.leaves == component.triggers == (first.name,)
        if only and not component.fixed and not component.switches and first.prescale == 1.0:
            columns.append(first.name)
            continue
        number, patterns = decisions.patterns(component.fixed)
        table = tabulate(menu, variables, component, patterns, sets)
        if not component.varies:
            fixed *= table.values[0][:, number]
            continue
        components.append(table)
        leaves += component.leaves
        bases.append(start + (number << len(component.leaves)))
        start += table.values.shape[-1]
    variable_of = threshold_numbers(variables)
    values = [np.array(variables[variable_of[name]].values) for name in (*columns, *leaves)]
    level = np.empty((len(values), decisions.events), np.uint8)
    for row, name in enumerate((*columns, *leaves)):
        level[row] = np.searchsorted(values[row], decisions.score(name), "left")
    member = np.array([[name in members for name in columns] for members in sets], np.bool_)
    base = np.array(bases, np.int64).reshape(len(bases), decisions.events)
    # an event that every menu accepts has no further difference, so that more events are one row
    for column, inside in enumerate(member.T):
        fixed[:, level[column] == len(values[column])] *= ~inside[:, None]
    accepted = (fixed == 0.0).all(axis=0)
    level[:, accepted], base[:, accepted] = 0, 0
    variable = np.array([variable_of[name] for name in columns], np.int64)
    return Prepared(variable, member, tuple(components), level, base, fixed)


class Decisions:
    """The scores and decisions of the triggers of a menu in the events of some tables."""

    def __init__(self, menu: Menu, scores: Scores, tables: Sequence[ScoreTable]) -> None:
        self._menu, self._tables, self._scores = menu, tables, scores
        self.events = sum(map(len, tables))
        self.score, self.fired = cache(self._score), cache(self._fired)

    def at(self, trigger: Trigger, events: IntArray) -> BoolArray:
        """Return the decisions of a trigger of the menu, at any threshold, in some events."""
        kind = trigger.description
        if isinstance(kind, ScoreKind):
            return self.score(trigger.name)[events] > kind.threshold
        return self.fired(trigger.name)[events]

    def patterns(self, names: Sequence[str]) -> tuple[IntArray, BoolArray]:
        """Return the number of the pattern of some triggers in each event, and the patterns."""
        fired = [self.fired(name) for name in names]
        number, first = distinct(fired, self.events)
        patterns = np.array([decided[first] for decided in fired], np.bool_).reshape(len(names), len(first))
        return number, patterns.T

    def _score(self, name: str) -> FloatArray:
        """Return the score of a trigger in each event."""
        return np.asarray(self._column(name), np.float64)

    def _fired(self, name: str) -> BoolArray:
        """Return the decision of a trigger in each event."""
        kind = self._menu.trigger(name).description
        if isinstance(kind, ScoreKind):
            return self.score(name) > kind.threshold
        return np.asarray(self._column(name), np.bool_)

    def _column(self, name: str) -> npt.NDArray[Any]:
        column = self._scores.column_of(self._menu, self._menu.trigger(name)).name
        return np.concatenate([table[column] for table in self._tables])


def summed(number: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sum of the values with each number, float64[size]."""
    return np.bincount(number, values, size).astype(np.float64, copy=False)


def distinct(columns: Sequence[npt.NDArray[Any]], events: int) -> tuple[IntArray, IntArray]:
    """Return the number of the combination of columns in each event, and the first event of each
    combination."""
    parts = [np.ascontiguousarray(c).view(np.uint8).reshape(events, c.itemsize) for c in columns]
    table = np.hstack([np.zeros((events, 1), np.uint8), *parts])
    keys = table.view(f"V{table.shape[1]}").ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return number.ravel(), first
