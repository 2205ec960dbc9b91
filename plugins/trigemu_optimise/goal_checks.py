"""Whether goals fit a menu, the limits that they ask for, and the cap that a floor on the live fraction puts
on a rate."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from trigemu.base.errors import TrigemuError, nearest
from trigemu.counting.quantities import members_by_level
from trigemu.menus.menu import Menu, Trigger
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import ScoreKind

from .goals import Goals, Limit, Live
from .variables import Bound


def rate_of_live(live: Live, goals: Path, menu: Menu, catalogue: Catalogue) -> float:
    """Return the largest rate of accepts, in Hz at the crossing rate of a menu, with a live fraction."""
    from trigemu_live import every_slot, largest_input_rate, read_filling, read_rules

    crossing_rate = menu.crossing_rate_hz
    filling = read_filling(_place(live.filling, goals)) if live.filling else every_slot(crossing_rate)
    rate = largest_input_rate(read_rules(_place(live.rules, goals)), filling, live.min)
    of_crossings = catalogue.table.convention == "crossing"
    return rate * crossing_rate / filling.crossing_rate_hz if of_crossings else rate


def _place(text: str, goals: Path) -> str:
    """Return a name or a pattern as it is, and a path relative to the folder of the goals."""
    return str(goals.parent / text) if Path(text).suffix in (".toml", ".csv") else text


def check_goals(menu: Menu, goals: Goals, catalogue: Catalogue) -> None:
    """Raise TrigemuError if goals name what a menu or the samples do not have, or ask for the impossible."""
    for channel in goals.channels:
        if catalogue.sample(channel.sample) in catalogue.background:
            raise TrigemuError(
                f"{goals.path}: channel {channel.label!r}: {channel.sample!r} is a background sample: "
                "expected a signal"
            )
    varied: set[tuple[str, str]] = set()
    for vary in goals.vary:
        given = {
            "above": vary.above is not None,
            "prescale": vary.prescale is not None,
            "switch": vary.switch,
        }
        for name in vary.triggers:
            trigger = _trigger(menu, name, goals, "[[vary]]")
            where = f"{goals.path}: [[vary]] {name}"
            if name in goals.table.keep:
                raise TrigemuError(f"{where}: it is listed under keep, so it must not vary")
            if given["above"]:
                _check_threshold(trigger, where)
            if math.isinf(trigger.prescale):
                raise TrigemuError(
                    f"{where}: the column {menu.columns.chosen!r} of prescales switches it off"
                )
            if not trigger.enabled and (not vary.switch or trigger.budget):
                raise TrigemuError(f"{where}: the menu disables it: enable it, or give it switch = true")
            for key in (key for key, is_given in given.items() if is_given):
                if (name, key) in varied:
                    raise TrigemuError(f"{where}: {key} is given twice")
                varied.add((name, key))
    for name in goals.table.keep:
        _trigger(menu, name, goals, "keep")
    for tie in goals.ties:
        for name in tie.triggers:
            where = f"{goals.path}: [[tie]] {name}"
            _check_threshold(_trigger(menu, name, goals, "[[tie]]"), where)
            if tie.at_least is None and (name, "above") not in varied:
                raise TrigemuError(
                    f"{where}: its threshold does not vary, so it cannot equal another one: give it above "
                    "under [[vary]], or use at_least"
                )


def _check_threshold(trigger: Trigger, where: str) -> None:
    if not isinstance(trigger.description, ScoreKind):
        raise TrigemuError(
            f"{where}: its kind {trigger.kind!r} has no threshold: for a cut on one leg of a combination, "
            "use the kind leg_threshold"
        )


def _trigger(menu: Menu, name: str, goals: Goals, where: str) -> Trigger:
    names = [trigger.name for trigger in menu.triggers]
    if name not in names:
        raise TrigemuError(
            f"{goals.path}: {where}: the menu {menu.name!r} has no trigger {name!r}{nearest(name, names)}"
        )
    return menu.trigger(name)


def bounds_of(
    menu: Menu, goals: Goals, catalogue: Catalogue
) -> tuple[tuple[Bound, ...], tuple[frozenset[str], ...]]:
    """Return the limits of goals, the first is the cap on the rate of the menu, and the sets of triggers that
    they are on, the first is the menu."""
    levels = {
        level: frozenset(t.name for t, inside in zip(menu.enabled, members, strict=True) if inside)
        for level, members in members_by_level(menu).items()
    }
    first, *_, last = (*levels.values(), *levels.values())
    sets = {last: 0}

    def number(members: frozenset[str]) -> int:
        return sets.setdefault(members, len(sets))

    bounds = [Bound("rate of the menu", 0, -1, 0.0, goals.table.rate_hz)]
    for limit in goals.limits:
        members = _members(menu, limit, goals, levels)
        low, high = limit.min_hz or 0.0, np.inf if limit.max_hz is None else limit.max_hz
        if limit.quantity == "rate":
            bounds.append(Bound(limit.label, number(members), -1, low, high))
            continue
        level = next((level for level in levels.values() if members <= level), None)
        if level is None:
            raise TrigemuError(f"{goals.path}: [[limit]] on the {limit.label}: it is of several levels")
        bounds.append(Bound(limit.label, number(level), number(level - members), low, high))
    if goals.live:
        high = rate_of_live(goals.live, goals.path, menu, catalogue)
        bounds.append(Bound(f"rate for {100 * goals.live.min:g} % live", number(first), -1, 0.0, high))
    return tuple(bounds), tuple(sets)


def _members(menu: Menu, limit: Limit, goals: Goals, levels: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the triggers that a limit is on."""
    where = f"{goals.path}: [[limit]] on the {limit.label}"
    if limit.trigger is not None:
        if not _trigger(menu, limit.trigger, goals, "[[limit]]").enabled:
            raise TrigemuError(f"{where}: the menu disables it")
        return frozenset([limit.trigger])
    what, name, names = "group", limit.group, list(dict.fromkeys(t.group for t in menu.enabled if t.group))
    if limit.level is not None:
        what, name, names = "level", limit.level, list(menu.levels)
    if name not in names:
        known = f"the {what}s {', '.join(names)}" if names else f"no {what}s"
        raise TrigemuError(f"{where}: the menu has {known}{nearest(str(name), names)}")
    return levels[name] if what == "level" else frozenset(t.name for t in menu.enabled if t.group == name)
