"""The rates of a menu: the fraction of each event that each rate counts.

With or(S) and a_t of `acceptance.py`, M all enabled triggers of one level, G a group, t a trigger of the
level:

    total       or({t}), or(G)                  unique     or(M) − or(M without t), or(M) − or(M without G)
    share       or(M) · a_t / Σ_s a_s, s in M, and the sum of these for a group
    covered     total − unique, which the error of the unique fraction needs
    lost        or(M of the last level) − the same if t, of an earlier level, never accepts
    rate        or(M) of a level; that of the menu is the last level's
    rejected    or(M of the level before) − or(M), which the error of the rejection needs

A menu without levels has a single one. Shares are in proportion to a, which is 1/k for each of k triggers
only if none is prescaled (docs/explanation/rates.md).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.counting.acceptance import Acceptance
from trigemu.counting.sums import ROUNDING
from trigemu.menus.menu import Menu


class Label(NamedTuple):
    """A rate of a menu. name: of the level, trigger or group."""

    what: Literal["menu", "level", "trigger", "group"]
    name: str
    quantity: str


MENU = Label("menu", "", "rate")


@dataclass(frozen=True)
class Fractions:
    """The fraction of m patterns that each rate counts, float64[m] by its label."""

    menu: Menu
    quantities: Container[str]
    parts: tuple[sparse.csr_array, ...]  # float64[m, …], the columns, side by side

    @cached_property
    def columns(self) -> dict[Label, int]:
        """The column of each rate, which not every block of patterns needs."""
        return {label: column for column, label in enumerate(labels_of(self.menu, self.quantities))}

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """float64[m, columns]."""
        return sparse.hstack(self.parts, "csr")

    def __getitem__(self, label: Label) -> FloatArray:
        column: FloatArray = self.of([label]).toarray().ravel()
        return column

    def of(self, labels: list[Label]) -> sparse.csr_array:
        """The fractions of some rates, float64[m, labels]; 0 for those that the menu does not have."""
        n, matrix = len(self.columns), self.matrix
        wider = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], n + 1))
        return wider[:, [self.columns.get(label, n) for label in labels]]


@dataclass(frozen=True)
class Quantity:
    """A rate of triggers and groups."""

    name: str
    meaning: str  # a sentence for the reference
    of_groups: bool = True  # whether groups have it
    listed: bool = True  # whether tables and documents show it for each trigger
    compared: bool = False  # whether variants of a menu are compared by it
    part_of_total: bool = False  # whether it is at most the total in each event, which bounds its upper limit
    of_last_level: bool = True  # whether triggers of the last level have it


#: All rates of triggers and groups, in the order of the columns. Add a new one here.
QUANTITIES = (
    Quantity(
        "total",
        "The rate Σ w f over the events, where f is the accepted fraction of an event of weight w.",
        compared=True,
    ),
    Quantity(
        "unique",
        "The rate that the menu, or the level, would lose without the trigger.",
        compared=True,
        part_of_total=True,
    ),
    Quantity(
        "share",
        "Its part of the rate of the menu, or of the level: shares add up.",
    ),
    Quantity(
        "covered",
        "The part of the total rate that other triggers accept as well.",
        listed=False,
    ),
    Quantity(
        "lost",
        "The rate that the last level would lose without the trigger, in menus with levels.",
        of_groups=False,
        listed=False,
        part_of_total=True,
        of_last_level=False,
    ),
)
#: The meaning of each.
MEANINGS = {quantity.name: quantity.meaning for quantity in QUANTITIES}
#: The names of all.
ALL = tuple(quantity.name for quantity in QUANTITIES)
#: The names in tables of rates.
LISTED = tuple(quantity.name for quantity in QUANTITIES if quantity.listed)
#: The names of rates that are compared between menus.
COMPARED = tuple(quantity.name for quantity in QUANTITIES if quantity.compared)


def labels_of(menu: Menu, quantities: Container[str] = ALL) -> list[Label]:
    """Return the rates of a menu, in the order of the columns of `fractions`."""
    labels = [MENU, *(Label("level", level, "rate") for level in menu.levels)]
    labels += [Label("level", level, "rejected") for level in menu.levels[1:]]
    *_, last = menu.levels or (None,)
    for quantity in QUANTITIES:
        if quantity.name in quantities:
            labels += [
                Label("trigger", trigger.name, quantity.name)
                for trigger in menu.enabled
                if quantity.of_last_level or trigger.level != last
            ]
            if quantity.of_groups:
                labels += [Label("group", name, quantity.name) for name in groups_of(menu)]
    return labels


def fractions(menu: Menu, acceptance: Acceptance, quantities: Container[str] = ALL) -> Fractions:
    """Return the fraction of m patterns that each rate counts."""
    levels = members_by_level(menu)
    either = [acceptance.either(members) for members in levels.values()]
    rates = [either[-1], *(either if menu.levels else []), *(a - b for a, b in pairwise(either))]
    numbers = {name: number for number, name in enumerate(groups_of(menu))}
    group = np.array([numbers.get(t.group or "", -1) for t in menu.enabled], np.int64)
    total = acceptance.accepted

    def unique(group: IntArray) -> sparse.csr_array:
        first, *others = (acceptance.unique(members, group) for members in levels.values())
        return sum(others, start=first)

    # Of each quantity, those of the triggers, and those of the groups
    of: dict[str, tuple[sparse.csr_array, ...]] = {}
    if "total" in quantities or "covered" in quantities:
        of["total"] = total, acceptance.either_of_each(group)
    if "unique" in quantities or "covered" in quantities:
        of["unique"] = unique(np.arange(len(group))), unique(group)
    if "share" in quantities:
        members, each = np.column_stack([*levels.values()]), np.column_stack(either)
        summed = total @ members.astype(np.float64)
        part = np.divide(each, summed, out=np.zeros_like(summed), where=summed > 0)
        place = np.repeat(np.arange(len(part)) * len(levels), np.diff(total.indptr))
        if len(levels) > 1:
            place += members.argmax(axis=1)[total.indices]
        share = total.copy()
        share.data *= part.ravel()[place]
        of["share"] = share, sparse.csr_array(share @ np.equal.outer(group, np.arange(len(numbers))) * 1.0)
    if "covered" in quantities:
        of["covered"] = tuple(a - b for a, b in zip(of["total"], of["unique"], strict=True))
    if "lost" in quantities:
        *_, last = levels.values()
        losses = [acceptance.lost_without(last, trigger) for trigger in np.flatnonzero(~last).tolist()]
        pattern = np.concatenate([np.zeros(0, np.int64), *(patterns for patterns, _ in losses)])
        loss = np.concatenate([np.zeros(0), *(of_trigger for _, of_trigger in losses)])
        column = np.repeat(np.arange(len(losses)), [len(patterns) for patterns, _ in losses])
        kept = np.abs(loss) > ROUNDING * either[-1][pattern]  # not the same products in another order
        shape = len(either[-1]), len(losses)
        of["lost"] = (sparse.csr_array((loss[kept], (pattern[kept], column[kept])), shape),)
    parts = [matrix for name in ALL if name in quantities for matrix in of[name] if matrix.shape[1]]
    return Fractions(menu, quantities, (sparse.csr_array(np.column_stack(rates)), *parts))


def members_by_level(menu: Menu) -> dict[str, BoolArray]:
    """Return the enabled triggers of each level. Returns dict of str to bool[t]."""
    level_of = np.array([trigger.level or "" for trigger in menu.enabled])
    return {level: level_of == level for level in menu.levels or ("",)}


def groups_of(menu: Menu) -> list[str]:
    """Return the groups of the enabled triggers, in the order of the file."""
    return list(dict.fromkeys(trigger.group for trigger in menu.enabled if trigger.group))
