"""The contribution of the errors of thresholds to the error of a gain, for thresholds found from rate
budgets.

Triggers with such a threshold are also evaluated with thresholds that are one error lower and one error
higher, in the same pass over the events: triggers that differ only in their thresholds are evaluated together
(`Plan.groups`). Half the difference between the two gains is the shift of the gain by one standard deviation
of the threshold.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigemu.counting import MENU, Label, acceptances, fractions
from trigemu.emulation import Plan
from trigemu.menus import Menu, Solution
from trigemu.support import FloatArray, Words

#: Accepted fractions of the patterns, float64[m], by the name of a trigger; None: the whole menu.
Fractions = dict[str | None, FloatArray]


@dataclass(frozen=True)
class Threshold:
    """A threshold that was found from a budget, in all menus that contain it.

    lower, higher: for each menu, the bits of the triggers with this threshold one error lower and higher;
    empty if no trigger of the menu has the threshold.
    """

    lower: tuple[Mapping[str, int], ...]
    higher: tuple[Mapping[str, int], ...]

    def shifts(
        self, menus: Sequence[Menu], plan: Plan, words: Words, triggers: Sequence[str]
    ) -> list[Fractions]:
        """Return, for each menu, how the accepted fractions of patterns change if the threshold changes by
        one error; an empty dictionary for menus without the threshold."""
        shifts: list[Fractions] = []
        for menu, bits, lower, higher in zip(menus, plan.bits, self.lower, self.higher, strict=False):
            low, high = (
                accepted(menu, {**bits, **own}, words, triggers) if own else {} for own in (lower, higher)
            )
            shifts.append({name: (high[name] - low[name]) / 2 for name in low})
        return shifts


def accepted(menu: Menu, bits: Mapping[str, int], words: Words, triggers: Iterable[str]) -> Fractions:
    """Return the accepted fractions of patterns, of a menu and of those of `triggers` that it contains."""
    values = fractions(menu, acceptances(words, menu, bits), ("total",))
    own = [trigger.name for trigger in menu.enabled if trigger.name in triggers]
    return {None: values[MENU], **{name: values[Label("trigger", name, "total")] for name in own}}


def with_moved(menus: tuple[Menu, ...]) -> tuple[Menu, ...]:
    """Return the menus, followed by menus of only the triggers whose thresholds were found from budgets:
    first with thresholds that are one error lower, then higher. A single menu has no gain and is returned
    alone."""
    if len(menus) < 2 or not any(map(_solutions, menus)):
        return menus
    moved = []
    for sign in (-1.0, 1.0):
        for menu in menus:
            to = {
                name: replace(s, threshold=s.threshold + sign * s.error)
                for name, s in _solutions(menu).items()
            }
            moved.append(menu.solved(to).part(to))
    return *menus, *moved


def thresholds_of(menus: tuple[Menu, ...], plan: Plan) -> list[Threshold]:
    """Return the thresholds found from budgets, in the plan of `with_moved`. Triggers with the same score and
    the same budget share a threshold, even if it differs a little between their menus."""
    if len(plan.bits) == len(menus):
        return []
    score_of = {bit: number for number, group in enumerate(plan.groups) for bit in group.bits.tolist()}
    names: dict[Hashable, list[list[str]]] = {}
    for at, menu in enumerate(menus):
        for name in _solutions(menu):
            key = score_of[plan.bits[at][name]], menu.trigger(name).budget
            names.setdefault(key, [[] for _ in menus])[at].append(name)
    lower, higher = plan.bits[len(menus) : 2 * len(menus)], plan.bits[2 * len(menus) :]
    return [
        Threshold(*(tuple(map(_chosen, bits, of_menus)) for bits in (lower, higher)))
        for of_menus in names.values()
    ]


def _solutions(menu: Menu) -> dict[str, Solution]:
    return {t.name: t.solution for t in menu.enabled if t.solution and t.solution.error > 0}


def _chosen(bits: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    return {name: bits[name] for name in names}


def shifts_of_gains(
    thresholds: Sequence[Threshold],
    menus: Sequence[Menu],
    plan: Plan,
    words: Words,
    triggers: Sequence[str],
) -> dict[tuple[str, str | None], list[FloatArray]]:
    """Return how the difference of accepted fractions to the first menu changes if each threshold changes by
    one error, by menu and trigger; without an entry for differences that do not change."""
    shifts: dict[tuple[str, str | None], list[FloatArray]] = {}
    for threshold in thresholds:
        of_menus = threshold.shifts(menus, plan, words, triggers)
        for menu, own in zip(menus[1:], of_menus[1:], strict=True):
            for name in (None, *(t.name for t in menu.enabled if t.name in triggers)):
                if name in own or name in of_menus[0]:
                    none = np.zeros(len(words))
                    shift = own.get(name, none) - of_menus[0].get(name, none)
                    shifts.setdefault((menu.name, name), []).append(shift)
    return shifts
