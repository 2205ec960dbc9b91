"""What a trigger requires of an event: its threshold, the cuts on its legs, its preselection, each with the
values that it compares. They explain why a trigger fires in no event (`unreached.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from trigemu.emulation.plan import Plan
from trigemu.menus import Menu, Trigger, unit_of_threshold
from trigemu.observables import (
    AnyOf,
    Column,
    Constant,
    Element,
    Number,
    ObjectSelection,
    Relation,
    Window,
    Workspace,
    all_uses,
    any_of,
    parse_condition,
    parse_tree,
    unit_of,
)
from trigemu.support import Array, TrigemuError, excerpt, toml_text
from trigemu.triggers import (
    Compiled,
    CompiledCombination,
    CompiledLegThreshold,
    CompiledThreshold,
    objects_needed,
)


@dataclass(frozen=True)
class Scored:
    """The scores of a slot. No event is above the threshold."""

    slot: int

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        """Return the values, and how many of them pass."""
        values = np.asarray(plan.slots[self.slot].compiled.evaluate(work), np.float64)[work.events.core]
        return values[values > -np.inf], 0


@dataclass(frozen=True)
class Cut:
    """A window on a column of the objects of a selection."""

    objects: ObjectSelection
    column: Column
    window: Window | AnyOf

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        passing = work.passing(self.objects, ((self.column, self.window),))
        return work.column(self.objects, self.column), int(np.count_nonzero(passing))


@dataclass(frozen=True)
class Compared:
    """A comparison of two numbers; the values are those of the one that is no constant."""

    relation: Relation

    @property
    def number(self) -> Number:
        """The number whose values are returned."""
        left, right = self.relation.left, self.relation.right
        return right if isinstance(left, Constant) else left

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        values = self.number.evaluate(work)
        return values[~np.isnan(values)], int(np.count_nonzero(self.relation.evaluate(work)))


class Requirement(NamedTuple):
    """A requirement of a trigger.

    Attributes
    ----------
    values : Scored, Cut or Compared
        What it compares.
    text : str
        What passes it: "event with jet[0].pt above 30".
    quantity : str
        The name of what it compares.
    unit : str
        Its unit; "" if it has none or an unknown one.
    least : float or None
        The lower limit, if there is one.
    key : str
        How the menu gives this limit, with {} in its place: "above = {}".
    objects : tuple of str
        The objects without which it has no value.
    """

    values: Scored | Cut | Compared
    text: str
    quantity: str
    unit: str
    least: float | None
    key: str
    objects: tuple[str, ...] = ()


class Part(NamedTuple):
    """A part of a trigger, which each accepted event passes. whole: its requirement; None for a leg. cuts:
    the requirements of the objects that it needs."""

    whole: Requirement | None
    cuts: tuple[Requirement, ...]


def parts_of(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Iterator[Part]:
    """Yield the parts of a trigger that are known: legs, comparisons of its preselection, its threshold.

    Parameters
    ----------
    menu : Menu
        Its menu.
    trigger : Trigger
        The trigger.
    slot : int
        Its slot in a plan.
    compiled : Compiled
        The same, compiled.

    Yields
    ------
    Part
        The threshold is last.
    """
    names = {selection: name for name, selection in menu.scope.objects}
    combination = compiled.combination if isinstance(compiled, CompiledLegThreshold) else compiled
    for number, leg in enumerate(combination.legs if isinstance(combination, CompiledCombination) else ()):
        own = ObjectSelection(leg.objects.base, leg.objects, leg.windows)
        yield Part(None, tuple(_cuts(own, names, f" (leg {number})")))
    requires = getattr(trigger.description, "requires", None)
    with suppress(TrigemuError):  # a plugin may have a key of this name for something else
        for text in _comparisons(parse_tree(requires)) if isinstance(requires, str) else ():
            relation = parse_condition(text, menu.scope)
            if isinstance(relation, Relation):
                yield Part(_compared(relation, text), tuple(_all_cuts(relation, names)))
    if compiled.threshold is not None:
        cuts = _all_cuts(compiled.observable, names) if isinstance(compiled, CompiledThreshold) else ()
        yield Part(_scored(menu, trigger, slot, compiled), tuple(cuts))


def _scored(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Requirement:
    text = getattr(trigger.description, "observable", None)
    quantity, unit = excerpt(text) if isinstance(text, str) else "score", unit_of_threshold(menu, trigger)
    if isinstance(compiled, CompiledLegThreshold):
        column, objects = compiled.column, compiled.combination.legs[compiled.leg].objects
        quantity = f"{_name(column)} of leg {compiled.leg}"
        unit = unit or unit_of(Element(objects, 0, column))
    threshold = compiled.threshold
    assert threshold is not None
    what = f"event with {quantity} above {threshold:g}"
    return Requirement(Scored(slot), what, quantity, unit, threshold, "above = {}", objects_needed(compiled))


def _compared(relation: Relation, text: str) -> Requirement:
    compared = Compared(relation)
    least = None
    match relation:
        case Relation(operation=">" | ">=" | "==", left=_, right=Constant(value=value)):
            least = value
        case Relation(operation="<" | "<=" | "==", left=Constant(value=value)):
            least = value
    tree = parse_tree(text)
    assert isinstance(tree, ast.Compare)
    sides = tree.comparators[0], tree.left
    number = sides[0] if isinstance(relation.left, Constant) else sides[1]
    quantity = excerpt(ast.unparse(number))
    return Requirement(
        compared,
        f"event with {excerpt(text)}",
        quantity,
        unit_of(compared.number),
        least,
        f"{quantity} > {{}}",
    )


def _comparisons(tree: ast.expr) -> Iterator[str]:
    """Yield the comparisons of two numbers that a condition requires to be true."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _comparisons(part)
    elif isinstance(tree, ast.Compare):
        operands = [tree.left, *tree.comparators]
        for left, op, right in zip(operands, tree.ops, operands[1:], strict=False):
            yield ast.unparse(ast.Compare(left, [op], [right]))


def _all_cuts(content: object, names: Mapping[ObjectSelection, str]) -> Iterator[Requirement]:
    for selection, _ in all_uses(content):
        yield from _cuts(selection, names)


def _cuts(
    selection: ObjectSelection, names: Mapping[ObjectSelection, str], where: str = ""
) -> Iterator[Requirement]:
    """Yield the windows that select objects, those of the selections that it is made from first."""
    if selection.source:
        yield from _cuts(selection.source, names)
    objects = selection.source or ObjectSelection(selection.base)
    for column, of in selection.windows:
        name = _name(column)
        limits = [{k: v for k, v in msgspec.structs.asdict(w).items() if v is not None} for w in any_of(of)]
        written = toml_text.entry(name, limits[0] if isinstance(of, Window) else limits)
        key = "min" if isinstance(of, Window) and of.min is not None else "above"
        yield Requirement(
            Cut(objects, column, of),
            f"{names.get(objects, objects.base)} with {excerpt(written)}{where}",
            name,
            unit_of(Element(objects, 0, column)),
            of.lowest if isinstance(of, Window) else None,
            f"{name} = {{ {key} = {{}} }}",
        )


def _name(column: Column) -> str:
    return column if isinstance(column, str) else column.name
