"""Which rates a menu has: of each event, the fraction that each of them counts.

With or(S) and a_t of `acceptance.py`, M all enabled triggers of one level, G a group, t a trigger of the
level:

    total       or({t}), or(G)                  unique     or(M) − or(M without t), or(M) − or(M without G)
    share       or(M) · a_t / Σ_s a_s, s in M, and the sum of these for a group
    covered     total − unique, which the error of the unique fraction needs
    lost        or(M of the last level) − the same if t, of an earlier level, never accepts
    rate        or(M) of a level; that of the menu is the last level's
    rejected    or(M of the level before) − or(M), which the error of the rejection needs

A menu without levels has one. Shares are in proportion to a, which is 1/k for each of k triggers only where
none is prescaled (docs/rates.md).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Literal, NamedTuple

import numpy as np

from trigemu.counting.acceptance import Acceptance
from trigemu.menus.menu import Menu
from trigemu.support.arrays import BoolArray, FloatArray

ALL = ("total", "unique", "share", "covered", "lost")


class Label(NamedTuple):
    """A rate of a menu. name: of the level, trigger or group."""

    what: Literal["menu", "level", "trigger", "group"]
    name: str
    quantity: str


MENU = Label("menu", "", "rate")


def fractions(menu: Menu, acceptance: Acceptance, wanted: Container[str] = ALL) -> dict[Label, FloatArray]:
    """float64[m] of each rate, for m patterns."""
    levels = members_by_level(menu)
    either = {level: acceptance.either(members) for level, members in levels.items()}
    names, last = list(levels), list(levels)[-1]
    found = {MENU: either[last]}
    for level, before in zip(names, [None, *names], strict=False):
        if menu.levels:
            found[Label("level", level, "rate")] = either[level]
        if before is not None:
            found[Label("level", level, "rejected")] = either[before] - either[level]
    of_triggers = {}
    if "total" in wanted:
        of_triggers["total"] = acceptance.total
    if "unique" in wanted:
        of_triggers["unique"] = np.sum([acceptance.unique(members) for members in levels.values()], axis=0)
    if "covered" in wanted:
        of_triggers["covered"] = of_triggers["total"] - of_triggers["unique"]
    if "share" in wanted:
        of_triggers["share"] = _share(acceptance, levels, either)
    for column, trigger in enumerate(menu.enabled):
        for quantity, values in of_triggers.items():
            found[Label("trigger", trigger.name, quantity)] = values[:, column]
        if "lost" in wanted and not levels[last][column]:
            found[Label("trigger", trigger.name, "lost")] = acceptance.lost(levels[last], column)
    for name, inside in members_by_group(menu).items():
        level = next(level for level, members in levels.items() if members[inside].all())
        if "total" in wanted:
            found[Label("group", name, "total")] = acceptance.either(inside)
        if "unique" in wanted:
            others = acceptance.either(levels[level] & ~inside)
            found[Label("group", name, "unique")] = either[level] - others
        if "covered" in wanted:
            total, unique = (found[Label("group", name, quantity)] for quantity in ("total", "unique"))
            found[Label("group", name, "covered")] = total - unique
        if "share" in wanted:
            found[Label("group", name, "share")] = of_triggers["share"][:, inside].sum(axis=1)
    return found


def members_by_level(menu: Menu) -> dict[str, BoolArray]:
    """bool[t] over the enabled triggers, for each level in order; the one level of a menu without has no
    name."""
    of = np.array([trigger.level or "" for trigger in menu.enabled])
    return {level: of == level for level in menu.levels or ("",)}


def members_by_group(menu: Menu) -> dict[str, BoolArray]:
    """bool[t] over the enabled triggers, for each group in the order of the file."""
    of = np.array([trigger.group or "" for trigger in menu.enabled])
    return {group: of == group for group in dict.fromkeys(t.group for t in menu.enabled if t.group)}


def _share(acceptance: Acceptance, levels: dict[str, BoolArray], either: dict[str, FloatArray]) -> FloatArray:
    share = np.zeros_like(acceptance.total)
    for level, members in levels.items():
        accepted = acceptance.total[:, members]
        summed = accepted.sum(axis=1)
        part = np.divide(either[level], summed, out=np.zeros_like(summed), where=summed > 0)
        share[:, members] = accepted * part[:, None]
    return share
