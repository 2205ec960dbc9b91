"""The menu as independent components: triggers whose prescale counters are connected.

The probability that no trigger of a set S accepts an event is the product over the components of the
probability that none of their triggers in S accepts. That of one component is a function of the decisions of
a few triggers, its leaves, which are tabulated for all their patterns: coherent sets, seeds and `logic` of
any kind cost one look-up.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind

from .variables import Variable, menu_at

#: The most entries of the table of a component.
MAX_TABLE = 2**16


@dataclass(frozen=True)
class Component:
    """Triggers that accept an event independently of all others."""

    triggers: tuple[str, ...]  # The triggers whose acceptance it gives
    leaves: tuple[str, ...]  # The varied triggers with a score that they depend on: the columns
    fixed: tuple[str, ...]  # The other triggers with a decision per event that they depend on
    switches: tuple[int, ...]  # The variables, by number, that are prescales or switches of its triggers

    @property
    def varies(self) -> bool:
        return bool(self.leaves or self.switches)


def components_of(menu: Menu, variables: Sequence[Variable]) -> list[Component]:
    """Return the components of a menu, in the order of their first triggers."""
    varied = {name for v in variables if v.what == "above" for name in v.triggers}
    found = []
    for triggers in _connected(menu.enabled):
        part = menu.part(triggers)
        leaves = [t.name for t in part.triggers if not isinstance(t.description, BitKind)]
        names = {t.name for t in part.triggers}
        switches = [
            number
            for number, variable in enumerate(variables)
            if variable.what != "above" and not names.isdisjoint(variable.triggers)
        ]
        found.append(
            Component(
                tuple(triggers),
                tuple(name for name in leaves if name in varied),
                tuple(name for name in leaves if name not in varied),
                tuple(switches),
            )
        )
    return found


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
class Tables:
    """The tables of the components of a menu that vary, for each choice of prescales and switches."""

    # For each component, the variables that are prescales or switches of its triggers.
    switches: tuple[tuple[int, ...], ...]
    choices: tuple[tuple[int, ...], ...]  # The number of values of each of them
    values: tuple[FloatArray, ...]  # tuple of float64[choices, sets, entries]: the tables of each component

    def missed(self, point: Sequence[int] | IntArray) -> FloatArray:
        """Return the tables of all components at a point, one after the other: float64[sets, entries]."""
        parts = []
        for switches, choices, values in zip(self.switches, self.choices, self.values, strict=True):
            number = 0
            for variable, most in zip(switches, choices, strict=True):
                number = number * most + int(point[variable])
            parts.append(values[number])
        return np.concatenate(parts, axis=1) if parts else np.zeros((0, 0))


def tabulate(
    menu: Menu,
    variables: Sequence[Variable],
    components: Sequence[Component],
    patterns: Sequence[BoolArray],
    sets: Sequence[frozenset[str]],
) -> Tables:
    """Return the tables of components, each for the patterns of its fixed leaves that occur."""
    choices = tuple(tuple(len(variables[v].values) for v in c.switches) for c in components)
    values = []
    for component, of_switches, pattern in zip(components, choices, patterns, strict=True):
        if math.prod(of_switches) * (len(pattern) << len(component.leaves)) > MAX_TABLE:
            raise _too_many(menu, component, pattern)
        part = menu.part(component.triggers)
        chosen = [variables[number] for number in component.switches]
        tables = [
            table_of(_with(part, chosen, indices), component, pattern, sets)
            for indices in product(*(range(most) for most in of_switches))
        ]
        values.append(np.array(tables))
    if not values:
        values, choices, components = [np.ones((1, len(sets), 1))], ((),), (Component((), (), (), ()),)
    return Tables(tuple(component.switches for component in components), choices, tuple(values))


def _with(menu: Menu, variables: Sequence[Variable], indices: Sequence[int]) -> Menu:
    """Return a menu with some prescales and switches, of the triggers that it has."""
    names = {trigger.name for trigger in menu.triggers}
    members = tuple(
        replace(variable, triggers=tuple(name for name in variable.triggers if name in names))
        for variable in variables
    )
    return menu_at(menu, members, tuple(indices))


def _too_many(menu: Menu, component: Component, patterns: BoolArray) -> TrigemuError:
    names = ", ".join(component.triggers[:8])
    return TrigemuError(
        f"{menu.path}: the triggers {names} are connected by seeds or a coherent set, or read each other, "
        f"and depend on {len(component.leaves)} varied thresholds, {len(component.switches)} varied "
        f"prescales or switches and {len(patterns)} combinations of other decisions: vary fewer of them"
    )


def table_of(
    menu: Menu, component: Component, patterns: BoolArray, sets: Sequence[frozenset[str]]
) -> FloatArray:
    """Return the probability that no trigger of a set in the component accepts. patterns: bool[m, f]."""
    v, m = len(component.leaves), len(patterns)
    free = (np.arange(1 << v)[:, None] >> np.arange(v)) & 1
    bools = np.hstack([np.tile(free, (m, 1)).astype(np.bool_), np.repeat(patterns, 1 << v, axis=0)])
    names = (*component.leaves, *component.fixed)
    bits = {name: number for number, name in enumerate(names)}
    words = np.zeros((len(bools), max(1, -(-len(names) // 64))), np.uint64)
    for number in range(len(names)):
        words[:, number // 64] |= bools[:, number].astype(np.uint64) << np.uint64(number % 64)
    enabled = [trigger.name for trigger in menu.enabled]
    result = np.ones((len(sets), len(words)))
    if not enabled:
        return result
    accepted = acceptances(words, menu, bits)
    for number, members in enumerate(sets):
        chosen = np.array([name in members and name in component.triggers for name in enabled], np.bool_)
        if chosen.any():
            result[number] = 1.0 - accepted.either(chosen)
    return result
