"""Events of score tables as rows: events that no point of the search tells apart are one row.

A level is the number of values of a variable below the score of a trigger: the trigger fires at a point if
its level is above the index of the value. Most varied triggers accept whenever they fire: a column of levels
each. All others are leaves of components, triggers whose prescale counters are connected, and decide which
entry of a table counts. The probability that no trigger of a set accepts is a product over components:
coherent sets, seeds and `logic` of any kind cost one look-up.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances
from trigemu.emulation.event_table import Columns, EventTable
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind, ScoreKind

from .variables import Variable, menu_at, threshold_numbers

#: The most entries of the table of a component.
MAX_TABLE = 2**16


@dataclass(frozen=True)
class Component:
    """Triggers that accept an event independently of all others."""

    triggers: tuple[str, ...]  # The triggers whose acceptance it gives
    leaves: tuple[str, ...]  # The triggers with a varied threshold that they depend on
    fixed: tuple[str, ...]  # The other triggers with a decision per event that they depend on
    switches: tuple[int, ...]  # The variables, by number, that are prescales or switches of its triggers

    @property
    def varies(self) -> bool:
        return bool(self.leaves or self.switches)


def components_of(menu: Menu, variables: Sequence[Variable]) -> list[Component]:
    """Return the components of a menu, in the order of their first triggers."""
    varied = threshold_numbers(variables)
    components = []
    for triggers in _connected(menu.enabled):
        part = menu.part(triggers)
        decided = [t.name for t in part.triggers if not isinstance(t.description, BitKind)]
        names = {t.name for t in part.triggers}
        switches = (
            number
            for number, variable in enumerate(variables)
            if variable.what != "above" and not names.isdisjoint(variable.triggers)
        )
        leaves = tuple(name for name in decided if name in varied)
        fixed = tuple(name for name in decided if name not in varied)
        components.append(Component(tuple(triggers), leaves, fixed, tuple(switches)))
    return components


def _connected(triggers: Sequence[Trigger]) -> list[list[str]]:
    """Return the names of triggers that share a counter, or are connected by seeds."""
    root: dict[Hashable, Hashable] = {}

    def find(key: Hashable) -> Hashable:
        while root.setdefault(key, key) != key:
            key = root[key]
        return key

    for trigger in triggers:
        if trigger.coherent:
            root[find(trigger.name)] = find(("set", trigger.coherent))
        for name in trigger.seed.names() if trigger.seed else ():
            root[find(trigger.name)] = find(name)
    groups: dict[Hashable, list[str]] = {}
    for trigger in triggers:
        groups.setdefault(find(trigger.name), []).append(trigger.name)
    return list(groups.values())


@dataclass(frozen=True)
class Tabulated:
    """A component as a table, for each choice of prescales and switches."""

    leaves: tuple[int, ...]  # The variables of its leaves
    switches: tuple[int, ...]  # The variables that are prescales or switches of its triggers
    sizes: tuple[int, ...]  # The number of values of each of them
    # float64[choices, sets, entries]: the probability that none of its triggers in a set accepts; for each
    # pattern of its other decisions, the decisions of all leaves.
    values: FloatArray


def tabulate(
    menu: Menu,
    variables: Sequence[Variable],
    component: Component,
    patterns: BoolArray,
    sets: Sequence[frozenset[str]],
) -> Tabulated:
    """Return the table of a component for the patterns of its fixed leaves that occur, bool[m, fixed]."""
    names = (*component.leaves, *component.fixed)
    switches = [variables[number] for number in component.switches]
    sizes = tuple(len(variable.values) for variable in switches)
    if component.varies and math.prod(sizes) * (len(patterns) << len(component.leaves)) > MAX_TABLE:
        raise TrigemuError(
            f"{menu.path}: the triggers {', '.join(component.triggers[:8])} are connected by seeds or a "
            f"coherent set, or read each other, and depend on {len(component.leaves)} varied thresholds, "
            f"{len(sizes)} varied prescales or switches and {len(patterns)} combinations of other "
            "decisions: vary fewer of them"
        )
    part = menu.part(component.triggers)
    inside = {trigger.name for trigger in part.triggers}
    members = [
        replace(variable, triggers=tuple(name for name in variable.triggers if name in inside))
        for variable in switches
    ]
    leaves = (np.arange(1 << len(component.leaves))[:, None] >> np.arange(len(component.leaves))) & 1 != 0
    decided = [*np.tile(leaves, (len(patterns), 1)).T, *np.repeat(patterns, len(leaves), axis=0).T]
    words = packed(decided, len(patterns) * len(leaves))
    values = np.ones((math.prod(sizes), len(sets), len(words)))
    for choice, point in enumerate(product(*map(range, sizes))):
        chosen = menu_at(part, members, point)
        if chosen.enabled:
            accepted = acceptances(words, chosen, {name: number for number, name in enumerate(names)})
            for number, of_set in enumerate(sets):
                counted = [t.name in of_set and t.name in component.triggers for t in chosen.enabled]
                if any(counted):
                    values[choice, number] = 1.0 - accepted.either(np.array(counted))
    variable_of = threshold_numbers(variables)
    return Tabulated(tuple(variable_of[name] for name in component.leaves), component.switches, sizes, values)


def packed(decided: Sequence[BoolArray], events: int) -> Words:
    """Return the patterns of decisions bool[events] as bits, in their order."""
    words = np.zeros((events, max(1, -(-len(decided) // 64))), np.uint64)
    for bit, fired in enumerate(decided):
        words[:, bit // 64] |= fired.astype(np.uint64) << np.uint64(bit % 64)
    return words


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

    def __init__(self, menu: Menu, scores: EventTable, tables: Sequence[Columns]) -> None:
        self._menu, self._tables, self._scores = menu, tables, scores
        self.events = sum(len(table["id"]) for table in tables)
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
