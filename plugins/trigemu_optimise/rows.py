"""Events of a score table as rows for the kernels: events that no point of the search tells apart are one
row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.fingerprint import fingerprint
from trigemu.counting.score_table import ScoreTable
from trigemu.emulation.scores import Scores, Stored, definition
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import ScoreKind

from .components import Component, Tables, components_of, table_of, tabulate
from .kernels import Layout, Levels, Rows
from .variables import Variable

Parents = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Group:
    """Some events, as rows."""

    rows: Rows  # The rows
    row: IntArray  # int64[n]: the row of each event
    weight: FloatArray  # float64[n]: the weights of the events
    # uint64[n]: a number of the interaction that each event was made from, whichever sample it is in.
    interaction: Parents
    row_weight: FloatArray  # float64[rows]: the weights of the rows


@dataclass(frozen=True)
class Prepared:
    """All events of a score table, ready to be divided into groups.

    levels: uint8[columns + leaves, n]. patterns: int64[components, n], the pattern of the fixed leaves of
    each component, −1 if nothing can change it. fixed: float64[sets, n]. leaf: the first row of `levels` of
    each component.
    """

    tables: Tables
    layout: Layout
    levels: Levels
    patterns: IntArray
    fixed: FloatArray
    leaf: tuple[int, ...]

    def group(self, chosen: IntArray, weight: FloatArray, interaction: Parents, sets: int) -> Group:
        """Return some events as rows, for the first `sets` sets."""
        levels, patterns = self.levels[:, chosen], self.patterns[:, chosen]
        fixed = self.fixed[:sets, chosen]
        row, first = distinct([*levels, *patterns, *fixed], len(chosen))
        rows = self._rows(levels[:, first], patterns[:, first], fixed[:, first])
        return Group(rows, row, weight, interaction, summed(row, weight, len(first)))

    def _rows(self, levels: Levels, patterns: IntArray, fixed: FloatArray) -> Rows:
        row, component = np.nonzero(patterns.T >= 0)
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=levels.shape[1]))])
        leaf = np.zeros((len(row), self.layout.leaf_variable.shape[1]), np.uint8)
        for number in range(leaf.shape[1]):
            has = self.layout.leaves[component] > number
            leaf[has, number] = levels[np.array(self.leaf, np.int64)[component[has]] + number, row[has]]
        base = patterns[component, row] << self.layout.leaves[component]
        columns = np.ascontiguousarray(levels[: len(self.layout.variable)])
        return Rows(
            columns,
            starts.astype(np.int64),
            component.astype(np.int32),
            base.astype(np.int32),
            leaf,
            np.ascontiguousarray(fixed),
        )


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
    values = _values_of(variables)
    names = [*columns, *(name for component in varying for name in component.leaves)]
    levels = np.empty((len(names), decisions.events), np.uint8)
    for column, name in enumerate(names):
        levels[column] = np.searchsorted(values[name], decisions.score(name), "left")
    numbered = [decisions.patterns(component.fixed) for component in varying]
    patterns_of = tuple(patterns for _, patterns in numbered)
    number = np.array([leaf_number for leaf_number, _ in numbered], np.int64).reshape(
        len(varying), decisions.events
    )
    before = np.cumsum([len(columns), *(len(component.leaves) for component in varying)])
    prepared = Prepared(
        tabulate(menu, variables, varying, patterns_of, sets),
        _layout(columns, varying, variables, patterns_of, sets),
        levels,
        number,
        fixed,
        tuple(before[:-1].tolist()),
    )
    _settle(prepared, [len(values[name]) for name in names], len(variables))
    return prepared


def _accepts_if_it_fires(menu: Menu, component: Component) -> bool:
    """Whether a component is one trigger without a prescale whose threshold varies, and nothing else."""
    first = menu.trigger(component.triggers[0])
    single = component.leaves == component.triggers == (first.name,)
    return single and not component.fixed and not component.switches and first.prescale == 1.0


def _settle(prepared: Prepared, most: Sequence[int], variables: int) -> None:
    """Move what nothing can change into the fixed part: components whose leaves fire at all points or at
    none, and triggers that fire at all. What is left of an event that is always accepted is nothing."""
    levels, fixed, layout = prepared.levels, prepared.fixed, prepared.layout
    missed = prepared.tables.missed([0] * variables)
    for column in range(len(layout.variable)):
        always = levels[column] == most[column]
        fixed[:, always] *= ~layout.member[:, column, None]
    for number, leaves in enumerate(layout.leaves.tolist()):
        leaves_of = slice(prepared.leaf[number], prepared.leaf[number] + leaves)
        ends = np.array(most[leaves_of], np.uint8)[:, None]
        settled = ((levels[leaves_of] == 0) | (levels[leaves_of] == ends)).all(axis=0)
        bits = (1 << np.arange(leaves)) @ (levels[leaves_of] > 0) if leaves else 0
        value = missed[:, layout.start[number] + (prepared.patterns[number] << leaves) + bits]
        if prepared.tables.switches[
            number
        ]:  # another prescale may change all but an event that it never accepts
            settled &= (value == 1.0).all(axis=0)
        fixed[:, settled] *= value[:, settled]
        prepared.patterns[number, settled] = -1
        levels[leaves_of, settled] = 0
    accepted = (fixed == 0.0).all(axis=0)
    levels[:, accepted] = 0
    prepared.patterns[:, accepted] = -1


def _values_of(variables: Sequence[Variable]) -> dict[str, FloatArray]:
    return {n: np.array(v.values) for v in variables if v.what == "above" for n in v.triggers}


def _layout(
    columns: Sequence[str],
    varying: Sequence[Component],
    variables: Sequence[Variable],
    patterns: Sequence[BoolArray],
    sets: Sequence[frozenset[str]],
) -> Layout:
    variable_of = {n: i for i, v in enumerate(variables) if v.what == "above" for n in v.triggers}
    leaves = np.array([len(component.leaves) for component in varying], np.int64)
    leaf_variable = np.full((len(varying), max(1, int(leaves.max(initial=0)))), -1, np.int64)
    for number, component in enumerate(varying):
        leaf_variable[number, : len(component.leaves)] = [variable_of[name] for name in component.leaves]
    sizes = [len(p) << len(c.leaves) for c, p in zip(varying, patterns, strict=True)]
    start = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
    member = np.array([[name in members for name in columns] for members in sets], np.bool_)
    variable = np.array([variable_of[name] for name in columns], np.int64)
    return Layout(variable, member.reshape(len(sets), len(columns)), leaves, leaf_variable, start)


class Decisions:
    """The scores and decisions of the triggers of a menu in the events of some tables."""

    def __init__(self, menu: Menu, scores: Scores, tables: Sequence[ScoreTable]) -> None:
        self._menu, self._tables = menu, tables
        self._stored, self._scope = scores.stored, fingerprint(menu.scope)
        self.events = sum(map(len, tables))
        self._score, self._fired = cache(self.score), cache(self.fired)

    def score(self, name: str) -> FloatArray:
        """Return the score of a trigger in each event."""
        column = self._position(name).column
        return np.concatenate([table.scores[:, column] for table in self._tables])

    def fired(self, name: str) -> BoolArray:
        """Return the decision of a trigger in each event."""
        kind = self._menu.trigger(name).description
        if isinstance(kind, ScoreKind):
            return self.score(name) > kind.threshold
        word, bit = divmod(self._position(name).bit, 64)
        words = np.concatenate([table.words[:, word] for table in self._tables])
        fired: BoolArray = (words >> np.uint64(bit)) & np.uint64(1) != 0
        return fired

    def at(self, trigger: Trigger, chosen: IntArray) -> BoolArray:
        """Return the decisions of a trigger of the menu, at any threshold, in some events."""
        kind = trigger.description
        if isinstance(kind, ScoreKind):
            return self._score(trigger.name)[chosen] > kind.threshold
        return self._fired(trigger.name)[chosen]

    def patterns(self, names: Sequence[str]) -> tuple[IntArray, BoolArray]:
        """Return the number of the pattern of some triggers in each event, and the patterns."""
        fired = [self.fired(name) for name in names]
        number, first = distinct(fired, self.events)
        patterns = np.array([decided[first] for decided in fired], np.bool_).reshape(len(names), len(first))
        return number, patterns.T

    def _position(self, name: str) -> Stored:
        return self._stored[definition(self._scope, self._menu.trigger(name))]


def summed(number: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sum of the values with each number, float64[size]."""
    return np.bincount(number, values, size).astype(np.float64, copy=False)


def distinct(columns: Sequence[npt.NDArray[Any]], events: int) -> tuple[IntArray, IntArray]:
    """Return the number of the combination of columns in each event, and the first event of each
    combination."""
    code = np.zeros(events, np.int64)
    size = 1
    for column in columns:
        if column.dtype == np.uint8 or column.dtype == np.bool_:
            keys, more = column.astype(np.int64), int(column.max(initial=0)) + 1
        else:
            values, keys = np.unique(column, return_inverse=True)
            keys, more = keys.ravel(), len(values)
        if size * more >= 2**62:
            values, code = np.unique(code, return_inverse=True)
            code, size = code.ravel(), len(values)
        code, size = code * more + keys, size * more
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return number.ravel(), first
