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

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.counting.acceptance import Acceptance
from trigemu.counting.patterns import with_data
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
        column: FloatArray = self.matrix[:, [self.columns[label]]].toarray().ravel()
        return column

    def of(self, labels: list[Label]) -> sparse.csr_array:
        """The fractions of some rates, float64[m, labels]; 0 for those that the menu does not have."""
        n, matrix = len(self.columns), self.matrix
        wider = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], n + 1))
        return wider[:, [self.columns.get(label, n) for label in labels]]


class Accepted:
    """The accepted fractions of m patterns by the enabled triggers of a menu, for all quantities.

    levels: bool[t] over the enabled triggers, of each level. either: float64[m], or(M) of each level. total,
    unique, share: float64[m, t], sparse, each within its level.
    """

    def __init__(self, menu: Menu, acceptance: Acceptance) -> None:
        self.acceptance = acceptance
        self.levels = members_by_level(menu)
        self.either = {level: acceptance.either(members) for level, members in self.levels.items()}
        numbers = {name: number for number, name in enumerate(groups_of(menu))}
        #: int64[t]: the number of the group of each trigger, or −1
        self.group = np.array([numbers.get(t.group or "", -1) for t in menu.enabled], np.int64)
        self.last = list(self.levels)[-1]

    @property
    def total(self) -> sparse.csr_array:
        return self.acceptance.accepted

    @cached_property
    def unique(self) -> sparse.csr_array:
        first, *others = (self.acceptance.unique(members) for members in self.levels.values())
        return sum(others, start=first)

    @cached_property
    def share(self) -> sparse.csr_array:
        total, levels = self.total, np.column_stack([*self.levels.values()])
        either, summed = np.column_stack([*self.either.values()]), total @ levels.astype(np.float64)
        part = np.divide(either, summed, out=np.zeros_like(summed), where=summed > 0)
        place = np.repeat(np.arange(len(part)) * len(self.levels), np.diff(total.indptr))
        if len(self.levels) > 1:
            place += levels.argmax(axis=1)[total.indices]
        return with_data(total, total.data * part.ravel()[place])

    @cached_property
    def lost(self) -> sparse.csr_array:
        """The loss of the last level without each trigger of an earlier one."""
        members, either = self.levels[self.last], self.either[self.last]
        columns = [sparse.csc_array((len(either), 1))] * len(members)
        for trigger in np.flatnonzero(~members).tolist():
            patterns, loss = self.acceptance.lost_without(members, trigger)
            kept = np.abs(loss) > ROUNDING * either[patterns]  # not the same products in another order
            place = patterns[kept], np.zeros(np.count_nonzero(kept), np.int64)
            columns[trigger] = sparse.csc_array((loss[kept], place), (len(either), 1))
        return sparse.hstack(columns, "csr")

    @property
    def members(self) -> FloatArray:
        """Whether a trigger is in a group, float64[t, groups]."""
        members: FloatArray = np.equal.outer(self.group, np.arange(self.group.max(initial=-1) + 1)) * 1.0
        return members

    @cached_property
    def of_groups(self) -> sparse.csr_array:
        """or(G), float64[m, groups]."""
        return self.acceptance.either_of_each(self.group)

    @cached_property
    def unique_of_groups(self) -> sparse.csr_array:
        """or(M) − or(M without G), float64[m, groups], within the level of each."""
        first, *others = (self.acceptance.unique(members, self.group) for members in self.levels.values())
        return sum(others, start=first)


@dataclass(frozen=True)
class Quantity:
    """A rate of triggers and groups."""

    name: str
    meaning: str  # a sentence for the reference
    of_triggers: Callable[[Accepted], sparse.csr_array]  # float64[m, t]: the fractions that count
    of_groups: Callable[[Accepted], sparse.csr_array] | None = None  # float64[m, groups]: the same
    listed: bool = True  # whether tables and documents show it for each trigger
    compared: bool = False  # whether variants of a menu are compared by it
    part_of_total: bool = False  # whether it is at most the total in each event, which bounds its upper limit
    of_last_level: bool = True  # whether triggers of the last level have it


#: All rates of triggers and groups, in the order of the columns. Add a new one here.
QUANTITIES = (
    Quantity(
        "total",
        "The rate Σ w f over the events, where f is the accepted fraction of an event of weight w.",
        lambda a: a.total,
        lambda a: a.of_groups,
        compared=True,
    ),
    Quantity(
        "unique",
        "The rate that the menu, or the level, would lose without the trigger.",
        lambda a: a.unique,
        lambda a: a.unique_of_groups,
        compared=True,
        part_of_total=True,
    ),
    Quantity(
        "share",
        "Its part of the rate of the menu, or of the level: shares add up.",
        lambda a: a.share,
        lambda a: sparse.csr_array(a.share @ a.members),
    ),
    Quantity(
        "covered",
        "The part of the total rate that other triggers accept as well.",
        lambda a: a.total - a.unique,
        lambda a: a.of_groups - a.unique_of_groups,
        listed=False,
    ),
    Quantity(
        "lost",
        "The rate that the last level would lose without the trigger, in menus with levels.",
        lambda a: a.lost,
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
    """The fraction of m patterns that each rate counts."""
    accepted = Accepted(menu, acceptance)
    either = [accepted.either[level] for level in accepted.levels]
    levels = either if menu.levels else []
    parts: list[FloatArray | sparse.csr_array] = [
        np.column_stack([either[-1], *levels, *(a - b for a, b in pairwise(levels))])
    ]
    *_, last = accepted.levels.values()
    for quantity in QUANTITIES:
        if quantity.name not in quantities:
            continue
        if quantity.of_last_level:
            parts.append(quantity.of_triggers(accepted))
        elif not last.all():
            parts.append(quantity.of_triggers(accepted)[:, np.flatnonzero(~last)])
        if quantity.of_groups:
            parts.append(quantity.of_groups(accepted))
    return Fractions(menu, quantities, tuple(sparse.csr_array(part) for part in parts if part.shape[1]))


def members_by_level(menu: Menu) -> dict[str, BoolArray]:
    """Return the enabled triggers of each level. Returns dict of str to bool[t]."""
    level_of = np.array([trigger.level or "" for trigger in menu.enabled])
    return {level: level_of == level for level in menu.levels or ("",)}


def groups_of(menu: Menu) -> list[str]:
    """Return the groups of the enabled triggers, in the order of the file."""
    return list(dict.fromkeys(trigger.group for trigger in menu.enabled if trigger.group))
