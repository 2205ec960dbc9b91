"""The menu as independent components: triggers whose prescale counters are connected.

The probability that no trigger of a set accepts an event is the product over the components of the
probability that none of their triggers in the set accepts. That of one component is a function of the
decisions of a few triggers, its leaves, and is tabulated for all their patterns: coherent sets, seeds and
`logic` of any kind cost one look-up.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind

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

    def missed(self, point: IntArray) -> FloatArray:
        """Return the table at a point, float64[sets, entries]."""
        choice = np.ravel_multi_index(point[list(self.switches)], self.sizes) if self.switches else 0
        table: FloatArray = self.values[choice]
        return table


def missed_at(components: Sequence[Tabulated], point: IntArray, sets: int) -> FloatArray:
    """Return the tables of components at a point, one after the other: float64[sets, 1 + entries]. The first
    entry is 1, for events that every menu accepts."""
    return np.concatenate([np.ones((sets, 1)), *(each.missed(point) for each in components)], axis=1)


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
