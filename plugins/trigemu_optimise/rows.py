"""Events of score tables as rows: events that no point of the search tells apart are one row.

A level is the number of values of a variable below the score of a trigger: the trigger fires at a point if
its level is above the index of the value. Most varied triggers accept whenever they fire: a column of levels
each. All others are leaves of components (`components.py`), and decide which entry of a table counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.fingerprint import fingerprint
from trigemu.counting.score_table import ScoreTable
from trigemu.emulation.scores import Scores, Stored, definition
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import ScoreKind

from .components import Component, Tables, components_of, table_of, tabulate
from .variables import Variable

Parents = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.uint8]


class Layout(NamedTuple):
    """The meaning of levels: first those of columns, then those of the leaves of each component."""

    variable: IntArray  # int64[columns]: the variable of each column
    member: BoolArray  # bool[sets, columns]: whether the trigger of a column is in a set
    leaves: tuple[tuple[int, ...], ...]  # The variables of the leaves of each component


@dataclass(frozen=True)
class Group:
    """Some events, as rows."""

    level: Levels  # uint8[columns + leaves, rows]
    base: IntArray  # int64[components, rows]: the first entry in the tables; 0 if nothing can change it
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

    tables: Tables
    layout: Layout
    level: Levels
    base: IntArray
    fixed: FloatArray

    def group(self, events: IntArray, weight: FloatArray, interaction: Parents, sets: int) -> Group:
        """Return some events as rows, for the first `sets` sets."""
        level, base, fixed = self.level[:, events], self.base[:, events], self.fixed[:sets, events]
        row, first = distinct([*level, *base, *fixed], len(events))
        return Group(level[:, first], base[:, first], fixed[:, first], row, weight, interaction)


def prepare(
    menu: Menu,
    scores: Scores,
    tables: Sequence[ScoreTable],
    variables: tuple[Variable, ...],
    sets: tuple[frozenset[str], ...],
) -> Prepared:
    """Return the events of some tables, one table after the other."""
    decisions = Decisions(menu, scores, tables)
    every = components_of(menu, variables)
    columns = [c.triggers[0] for c in every if _accepts_if_it_fires(menu, c)]
    varying = tuple(c for c in every if c.varies and c.triggers[0] not in columns)
    fixed = np.ones((len(sets), decisions.events))
    for component in every:
        if not component.varies:
            number, patterns = decisions.patterns(component.fixed)
            fixed *= table_of(menu.part(component.triggers), component, patterns, sets)[:, number]
    variable_of = {n: i for i, v in enumerate(variables) if v.what == "above" for n in v.triggers}
    layout = Layout(
        np.array([variable_of[name] for name in columns], np.int64),
        np.array([[name in members for name in columns] for members in sets], np.bool_),
        tuple(tuple(variable_of[name] for name in component.leaves) for component in varying),
    )
    names = [*columns, *(name for component in varying for name in component.leaves)]
    values = [variables[variable_of[name]].values for name in names]
    level = np.empty((len(names), decisions.events), np.uint8)
    for row, name in enumerate(names):
        level[row] = np.searchsorted(values[row], decisions.score(name), "left")
    numbered = [decisions.patterns(component.fixed) for component in varying]
    made = tabulate(menu, variables, varying, [patterns for _, patterns in numbered], sets)
    base = np.empty((len(varying), decisions.events), np.int64)
    start = 1
    for row, (component, (number, patterns)) in enumerate(zip(varying, numbered, strict=True)):
        base[row] = start + (number << len(component.leaves))
        start += len(patterns) << len(component.leaves)
    prepared = Prepared(made, layout, level, base, fixed)
    _settle(prepared, np.array([len(v) for v in values]), len(variables))
    return prepared


def _accepts_if_it_fires(menu: Menu, component: Component) -> bool:
    """Whether a component is one trigger without a prescale whose threshold varies, and nothing else."""
    first = menu.trigger(component.triggers[0])
    single = component.leaves == component.triggers == (first.name,)
    return single and not component.fixed and not component.switches and first.prescale == 1.0


def _settle(prepared: Prepared, most: IntArray, variables: int) -> None:
    """Move into the fixed part what no point changes, and drop all of an event that every menu accepts, so
    that more events are one row. most: int64[columns + leaves], the highest levels."""
    level, base, fixed, layout = prepared.level, prepared.base, prepared.fixed, prepared.layout
    columns = len(layout.variable)
    for column in range(columns):
        fixed[:, level[column] == most[column]] *= ~layout.member[:, column, None]
    missed, first = prepared.tables.missed([0] * variables, len(fixed)), columns
    for number, leaves in enumerate(layout.leaves):
        of_leaves = slice(first, first := first + len(leaves))
        own = level[of_leaves]
        settled = ((own == 0) | (own == most[of_leaves, None])).all(axis=0)
        value = missed[:, base[number] + (1 << np.arange(len(leaves))) @ (own > 0)]
        if prepared.tables.switches[number]:  # another prescale changes all but what is never accepted
            settled &= (value == 1.0).all(axis=0)
        fixed[:, settled] *= value[:, settled]
        base[number, settled] = 0
        level[of_leaves, settled] = 0
    accepted = (fixed == 0.0).all(axis=0)
    level[:, accepted] = 0
    base[:, accepted] = 0


class Decisions:
    """The scores and decisions of the triggers of a menu in the events of some tables."""

    def __init__(self, menu: Menu, scores: Scores, tables: Sequence[ScoreTable]) -> None:
        self._menu, self._tables = menu, tables
        self._stored, self._scope = scores.stored, fingerprint(menu.scope)
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
        column = self._position(name).column
        return np.concatenate([table.scores[:, column] for table in self._tables])

    def _fired(self, name: str) -> BoolArray:
        """Return the decision of a trigger in each event."""
        kind = self._menu.trigger(name).description
        if isinstance(kind, ScoreKind):
            return self.score(name) > kind.threshold
        word, bit = divmod(self._position(name).bit, 64)
        words = np.concatenate([table.words[:, word] for table in self._tables])
        fired: BoolArray = (words >> np.uint64(bit)) & np.uint64(1) != 0
        return fired

    def _position(self, name: str) -> Stored:
        return self._stored[definition(self._scope, self._menu.trigger(name))]


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
