"""The observables that a trigger cuts on, on which a decorrelated trigger should depend."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise

from trigemu.base.errors import TrigemuError
from trigemu.menus.menu import Menu
from trigemu.observables.language import parse_tree
from trigemu.triggers.combination import Combination, LegThreshold
from trigemu.triggers.threshold import Threshold

#: Quantities of two objects in the observable language.
_OF_PAIRS = {
    "mass": "m({}, {})",
    "pair_pt": "pt({} + {})",
    "dr": "dr({}, {})",
    "deta": "abs(deta({}, {}))",
    "dphi": "abs(dphi({}, {}))",
}


@singledispatch
def observables_of(kind: object) -> Iterator[str]:
    """Yield the observables that a kind has limits on; none for an unknown one."""
    yield from ()


@observables_of.register
def _(kind: Threshold) -> Iterator[str]:
    yield kind.observable
    if kind.requires is not None:
        yield from compared_numbers(kind.requires)


@observables_of.register
def _(kind: Combination | LegThreshold) -> Iterator[str]:
    """Yield the pT of the leading possible object of each leg, and quantities of pairs of these objects."""
    seen: Counter[str] = Counter()
    objects = []
    for leg in kind.legs:
        objects.append(f"{leg.object}[{seen[leg.object]}]")
        seen[leg.object] += 1
        if leg.crossing == 0:
            yield f"{objects[-1]}.pt"
    for pair in kind.pairs:
        first, second = (objects[leg] for leg in pair.legs)
        if all(kind.legs[leg].crossing == 0 for leg in pair.legs):
            for name, form in _OF_PAIRS.items():
                if getattr(pair, name) is not None:
                    yield form.format(first, second)


def compared_numbers(text: str) -> Iterator[str]:
    """Yield the numbers that a condition compares with constants, as text."""
    for node in ast.walk(parse_tree(text)):
        if isinstance(node, ast.Compare):
            for pair in pairwise([node.left, *node.comparators]):
                numbers = [operand for operand in pair if not isinstance(operand, ast.Constant)]
                if len(numbers) == 1:
                    yield ast.unparse(numbers[0])


@dataclass(frozen=True)
class Candidate:
    """An observable that triggers of a menu cut on. triggers: their names."""

    observable: str
    triggers: tuple[str, ...]


def candidates(menu: Menu) -> tuple[Candidate, ...]:
    """Return the observables that the enabled triggers of a menu cut on, in order; TrigemuError if none."""
    names_of: dict[str, list[str]] = {}
    for trigger in menu.enabled:
        for observable in observables_of(trigger.description):
            names_of.setdefault(observable, []).append(trigger.name)
    if not names_of:
        raise TrigemuError(
            f'{menu.path}: x = "menu": no enabled trigger cuts on an observable; list them in x'
        )
    return tuple(Candidate(observable, tuple(names)) for observable, names in names_of.items())
