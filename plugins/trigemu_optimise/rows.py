"""Events of score tables as rows: events that no point of the search tells apart are one row.

A level is the number of values of a variable below the score of a trigger: the trigger fires at a point if
its level is above the index of the value. Most varied triggers accept whenever they fire: a column of levels
each. All others are leaves of components, triggers whose prescale counters are connected, and decide which
entry of a table counts. The probability that no trigger of a set accepts is a product over components:
coherent sets, seeds and `logic` of any kind cost one look-up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import counter_of
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.per_event import Columns
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind, ScoreKind

from .variables import Variable, menu_at, threshold_numbers

#: The most entries of the table of a component.
MAX_TABLE = 2**16
Parents = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.uint8]


class Decisions:
    """The scores and decisions of the triggers of a menu in the events of some tables."""

    def __init__(self, menu: Menu, scores: EventTable, tables: Sequence[Columns]) -> None:
        self.events = sum(len(table["id"]) for table in tables)

        def column(name: str) -> npt.NDArray[Any]:
            stored = scores.column_of(menu, menu.trigger(name)).name
            return np.concatenate([table[stored] for table in tables])

        #: The scores of a trigger that has a threshold, else its decisions, of all events
        self.column = cache(column)

    def of(self, trigger: Trigger, events: IntArray | slice = slice(None)) -> BoolArray:
        """Return the decisions of a trigger of the menu, at any threshold, in some events."""
        kind, column = trigger.description, self.column(trigger.name)[events]
        return np.asarray(column > kind.threshold if isinstance(kind, ScoreKind) else column, np.bool_)

    def accepted(self, menu: Menu, events: IntArray) -> FloatArray:
        """Return the probability that the last level of a menu accepts each of some events, float64[n]."""
        triggers = [t for t in menu.used if not isinstance(t.description, BitKind)]
        decided = [self.of(trigger, events) for trigger in triggers]
        number, first = distinct(decided, len(events))
        words = packed([fired[first] for fired in decided], len(first))
        *_, members = members_by_level(menu).values()
        bits = {trigger.name: bit for bit, trigger in enumerate(triggers)}
        return acceptances(words, menu, bits).either(members)[number]


def distinct(columns: Sequence[npt.NDArray[Any]], events: int) -> tuple[IntArray, IntArray]:
    """Return the number of the combination of columns in each event, and the first event of each
    combination."""
    parts = [np.ascontiguousarray(c).view(np.uint8).reshape(events, c.itemsize) for c in columns]
    table = np.hstack([np.zeros((events, 1), np.uint8), *parts])
    keys = table.view(f"V{table.shape[1]}").ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return number.ravel(), first


def packed(decided: Sequence[BoolArray], events: int) -> Words:
    """Return the patterns of decisions bool[events] as bits, in their order."""
    words = np.zeros((events, max(1, -(-len(decided) // 64))), np.uint64)
    for bit, fired in enumerate(decided):
        words[:, bit // 64] |= fired.astype(np.uint64) << np.uint64(bit % 64)
    return words


class Component(NamedTuple):
    """Triggers that accept an event independently of all others, as a table for each choice of prescales and
    switches."""

    leaves: tuple[int, ...]  # The variables of the thresholds that they depend on
    switches: tuple[int, ...]  # The variables that are prescales or switches of its triggers
    sizes: tuple[int, ...]  # The number of values of each of them
    # float64[choices, sets, entries]: the probability that none of its triggers in a set accepts; for each
    # pattern of its other decisions, the decisions of all leaves.
    values: FloatArray


def connected(triggers: Sequence[Trigger]) -> list[list[str]]:
    """Return the names of triggers that share a counter, or are connected by seeds."""
    # of each trigger, seed and counter
    number: defaultdict[Hashable, int] = defaultdict(lambda: len(number))
    pairs = []
    for trigger in triggers:
        pairs.append((number[trigger.name], number["counter", counter_of(trigger)]))
        seeds = trigger.seed.names() if trigger.seed else ()
        pairs += [(number[trigger.name], number[seed]) for seed in seeds]
    first, second = np.array(pairs).T
    graph = coo_array((np.ones(len(pairs)), (first, second)), shape=(len(number), len(number)))
    _, part = connected_components(graph, directed=False)
    groups = defaultdict[int, list[str]](list)
    for trigger in triggers:
        groups[int(part[number[trigger.name]])].append(trigger.name)
    return list(groups.values())


def component_of(
    part: Menu,
    triggers: Sequence[str],
    variables: Sequence[Variable],
    leaves: Sequence[str],
    fixed: Sequence[str],
    patterns: BoolArray,
    sets: Sequence[frozenset[str]],
) -> Component:
    """Return the table of connected triggers of a part of a menu, with what they read. leaves, fixed: the
    triggers that decide by themselves, with a varied threshold or not; patterns: the decisions of the latter
    that occur, bool[m, fixed]."""
    inside = {trigger.name for trigger in part.triggers}
    numbers = [n for n, v in enumerate(variables) if v.what != "above" and not inside.isdisjoint(v.triggers)]
    sizes = tuple(len(variables[number].values) for number in numbers)
    if (leaves or numbers) and math.prod(sizes) * (len(patterns) << len(leaves)) > MAX_TABLE:
        raise TrigemuError(
            f"{part.path}: the triggers {', '.join(triggers[:8])} are connected by seeds or a coherent set, "
            f"or read each other, and depend on {len(leaves)} varied thresholds, {len(sizes)} varied "
            f"prescales or switches and {len(patterns)} combinations of other decisions: vary fewer of them"
        )
    switches = [
        replace(variables[n], triggers=tuple(inside.intersection(variables[n].triggers))) for n in numbers
    ]
    fired = (np.arange(1 << len(leaves))[:, None] >> np.arange(len(leaves))) & 1 != 0
    decided = [*np.tile(fired, (len(patterns), 1)).T, *np.repeat(patterns, len(fired), axis=0).T]
    words = packed(decided, len(patterns) * len(fired))
    values = np.ones((math.prod(sizes), len(sets), len(words)))
    for choice, point in enumerate(product(*map(range, sizes))):
        menu = menu_at(part, switches, point)
        if menu.enabled:
            accepted = acceptances(words, menu, {name: bit for bit, name in enumerate((*leaves, *fixed))})
            for number, members in enumerate(sets):
                counted = [t.name in members and t.name in triggers for t in menu.enabled]
                if any(counted):
                    values[choice, number] = 1.0 - accepted.either(np.array(counted))
    variable_of = threshold_numbers(variables)
    return Component(tuple(variable_of[name] for name in leaves), tuple(numbers), sizes, values)


@dataclass(frozen=True)
class Group:
    """Some events, as rows."""

    level: Levels  # uint8[rows, columns + leaves]: of columns, then of the leaves of each component
    base: IntArray  # int64[rows, components]: the first entry in the tables; 0 if it is always accepted
    # float64[sets, rows]: the probability that no trigger of a set accepts which nothing can change.
    fixed: FloatArray
    row: IntArray  # int64[n]: the row of each event
    weight: FloatArray  # float64[n]: the weights of the events
    # uint64[n]: a number of the interaction that each event was made from, whichever sample it is in.
    interaction: Parents
    event: IntArray  # int64[n]: the positions of the events in all tables, one after the other

    @property
    def row_weight(self) -> FloatArray:
        """The weights of the rows."""
        weights: FloatArray = np.bincount(self.row, self.weight, len(self.level)).astype(np.float64)
        return weights


class Half(NamedTuple):
    """The events of one half, scaled to all."""

    background: Group  # The events of the background, for all sets of triggers, with weights in Hz
    channels: tuple[Group, ...]  # Those of each channel, for the menu, with weights that add up to 1


@dataclass(frozen=True)
class Prepared:
    """All events of some tables, ready to be divided into groups; arrays as in `Group`, for each event."""

    columns: IntArray  # int64[columns]: the variable of each column
    member: BoolArray  # bool[sets, columns]: whether the trigger of a column is in a set
    components: tuple[Component, ...]
    level: Levels
    base: IntArray
    fixed: FloatArray

    def group(self, event: IntArray, weight: FloatArray, interaction: Parents, sets: int) -> Group:
        """Return some events as rows, for the first `sets` sets."""
        level, base, fixed = self.level[event], self.base[event], self.fixed[:sets, event]
        row, first = distinct([*level.T, *base.T, *fixed], len(event))
        return Group(level[first], base[first], fixed[:, first], row, weight, interaction, event)


def prepare(
    menu: Menu, decisions: Decisions, variables: tuple[Variable, ...], sets: tuple[frozenset[str], ...]
) -> Prepared:
    """Return the events of some tables, one table after the other."""
    variable_of = threshold_numbers(variables)
    components, columns, leaves, bases, start = [], list[str](), list[str](), [], 1
    fixed = np.ones((len(sets), decisions.events))
    for triggers in connected(menu.enabled):
        part = menu.part(triggers)
        decided = [t.name for t in part.triggers if not isinstance(t.description, BitKind)]
        varied = [name for name in decided if name in variable_of]
        others = [name for name in decided if name not in variable_of]
        switched = any(v.what != "above" and triggers[0] in v.triggers for v in variables)
        alone = varied == triggers == decided and len(triggers) == 1 and not switched
        if alone and menu.trigger(triggers[0]).prescale == 1.0:
            columns.append(triggers[0])
            continue
        fired = [decisions.of(menu.trigger(name)) for name in others]
        number, first = distinct(fired, decisions.events)
        patterns = np.array([each[first] for each in fired], np.bool_).reshape(len(others), len(first)).T
        component = component_of(part, triggers, variables, varied, others, patterns, sets)
        if not (component.leaves or component.switches):
            fixed *= component.values[0][:, number]
            continue
        components.append(component)
        leaves += varied
        bases.append(start + (number << len(varied)))
        start += component.values.shape[-1]
    names = (*columns, *leaves)
    level = np.empty((decisions.events, len(names)), np.uint8)
    for place, name in enumerate(names):
        values = np.array(variables[variable_of[name]].values)
        level[:, place] = np.searchsorted(values, decisions.column(name), "left")
    base = np.array(bases, np.int64).reshape(len(bases), decisions.events).T
    member = np.array([[name in members for name in columns] for members in sets], np.bool_)
    # an event that every menu accepts has no further difference, so that more events are one row
    for place, name in enumerate(columns):
        certain = level[:, place] == len(variables[variable_of[name]].values)
        fixed[:, certain] *= ~member[:, place, None]
    accepted = (fixed == 0.0).all(axis=0)
    level[accepted], base[accepted] = 0, 0
    variable = np.array([variable_of[name] for name in columns], np.int64)
    return Prepared(variable, member, tuple(components), level, base, fixed)
