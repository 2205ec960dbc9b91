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

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.counting.acceptance import Acceptance
from trigemu.menus.menu import Menu


class Label(NamedTuple):
    """A rate of a menu. name: of the level, trigger or group."""

    what: Literal["menu", "level", "trigger", "group"]
    name: str
    quantity: str


MENU = Label("menu", "", "rate")


class Accepted:
    """The accepted fractions of m patterns by the enabled triggers of a menu, for all quantities.

    levels: bool[t] over the enabled triggers, of each level. either: float64[m], or(M) of each level. total,
    unique, share: float64[m, t], each within its level.
    """

    def __init__(self, menu: Menu, acceptance: Acceptance) -> None:
        self.acceptance = acceptance
        self._known: dict[bytes, FloatArray] = {}
        self.levels = members_by_level(menu)
        self.either = {level: self._either(members) for level, members in self.levels.items()}
        self.last = list(self.levels)[-1]

    @property
    def total(self) -> FloatArray:
        return self.acceptance.total

    @cached_property
    def unique(self) -> FloatArray:
        unique: FloatArray = np.sum(
            [self.acceptance.unique(members) for members in self.levels.values()], axis=0
        )
        return unique

    @cached_property
    def share(self) -> FloatArray:
        share = np.zeros_like(self.total)
        for level, members in self.levels.items():
            accepted = self.total[:, members]
            summed = accepted.sum(axis=1)
            part = np.divide(self.either[level], summed, out=np.zeros_like(summed), where=summed > 0)
            share[:, members] = accepted * part[:, None]
        return share

    def of_group(self, inside: BoolArray) -> FloatArray:
        """float64[m]: or(G)."""
        return self._either(inside)

    def unique_of_group(self, inside: BoolArray) -> FloatArray:
        """float64[m]: or(M) − or(M without G)."""
        level = next(level for level, members in self.levels.items() if members[inside].all())
        return self.either[level] - self._either(self.levels[level] & ~inside)

    def _either(self, members: BoolArray) -> FloatArray:
        """or(S), computed once for each S: with seeds it is a sum over their counters."""
        key = members.tobytes()
        if key not in self._known:
            self._known[key] = self.acceptance.either(members)
        return self._known[key]

    def lost(self, trigger: int) -> FloatArray | None:
        """float64[m]: the loss of the last level without a trigger; None for triggers of the last level."""
        members = self.levels[self.last]
        return None if members[trigger] else self.acceptance.lost(members, trigger)


@dataclass(frozen=True)
class Quantity:
    """A rate of triggers and groups.

    meaning: a sentence for the reference. of_trigger: float64[m], the fraction that counts for a trigger, by
    its position among the enabled ones; None if it has no such rate. of_group: the same for a group, bool[t].
    listed: whether tables and documents show it for each trigger; compared: whether variants of a menu are
    compared by it. part_of_total: whether an event contributes at most as much as to the total, which bounds
    the upper limit without events.
    """

    name: str
    meaning: str
    of_trigger: Callable[[Accepted, int], FloatArray | None]
    of_group: Callable[[Accepted, BoolArray], FloatArray] | None = None
    listed: bool = True
    compared: bool = False
    part_of_total: bool = False


#: All rates of triggers and groups, in the order of the columns. Add a new one here.
QUANTITIES = (
    Quantity(
        "total",
        "The rate Σ w f over the events, where f is the accepted fraction of an event of weight w.",
        lambda a, t: a.total[:, t],
        Accepted.of_group,
        compared=True,
    ),
    Quantity(
        "unique",
        "The rate that the menu, or the level, would lose without the trigger.",
        lambda a, t: a.unique[:, t],
        Accepted.unique_of_group,
        compared=True,
        part_of_total=True,
    ),
    Quantity(
        "share",
        "Its part of the rate of the menu, or of the level: shares add up.",
        lambda a, t: a.share[:, t],
        lambda a, g: a.share[:, g].sum(axis=1),
    ),
    Quantity(
        "covered",
        "The part of the total rate that other triggers accept as well.",
        lambda a, t: a.total[:, t] - a.unique[:, t],
        lambda a, g: a.of_group(g) - a.unique_of_group(g),
        listed=False,
    ),
    Quantity(
        "lost",
        "The rate that the last level would lose without the trigger, in menus with levels.",
        Accepted.lost,
        listed=False,
        part_of_total=True,
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


def fractions(
    menu: Menu, acceptance: Acceptance, quantities: Container[str] = ALL
) -> dict[Label, FloatArray]:
    """float64[m] of each rate, for m patterns."""
    accepted = Accepted(menu, acceptance)
    values_of = {MENU: accepted.either[accepted.last]}
    for before, level in pairwise([None, *menu.levels]):
        assert level is not None
        values_of[Label("level", level, "rate")] = accepted.either[level]
        if before is not None:
            rejected = accepted.either[before] - accepted.either[level]
            values_of[Label("level", level, "rejected")] = rejected
    groups = members_by_group(menu)
    for quantity in QUANTITIES:
        if quantity.name not in quantities:
            continue
        for position, trigger in enumerate(menu.enabled):
            values = quantity.of_trigger(accepted, position)
            if values is not None:
                values_of[Label("trigger", trigger.name, quantity.name)] = values
        for name, inside in groups.items() if quantity.of_group else ():
            assert quantity.of_group
            values_of[Label("group", name, quantity.name)] = quantity.of_group(accepted, inside)
    return values_of


def members_by_level(menu: Menu) -> dict[str, BoolArray]:
    """Return the enabled triggers of each level. Returns dict of str to bool[t]."""
    level_of = np.array([trigger.level or "" for trigger in menu.enabled])
    return {level: level_of == level for level in menu.levels or ("",)}


def members_by_group(menu: Menu) -> dict[str, BoolArray]:
    """bool[t] over the enabled triggers, for each group in the order of the file."""
    group_of = np.array([trigger.group or "" for trigger in menu.enabled])
    return {group: group_of == group for group in dict.fromkeys(t.group for t in menu.enabled if t.group)}
