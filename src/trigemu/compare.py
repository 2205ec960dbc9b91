"""Variants of a menu, compared on the same events.

Of each event a variant accepts a fraction f: of the menu, or(M); of a trigger, total and unique as in
`rates.py`. A difference is Σ w (f_A − f_B) and its uncertainty √(Σ w² (f_A − f_B)²), event by event: what
both accept cancels, which no sum in quadrature knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from trigemu.acceptance import acceptances, coherent_sets, or_of, unique_of
from trigemu.calibrate import crossing_scale
from trigemu.emulate import Emulation
from trigemu.errors import TrigemuError
from trigemu.events import FloatArray
from trigemu.menu import Menu, Trigger
from trigemu.rates import rates
from trigemu.results import MenuRates
from trigemu.sums import RateSums, Scale, blocks

#: ("menu" or a trigger, "rate_hz", "total_hz" or "unique_hz"): the fraction of each pattern, float64[m].
Fractions = Mapping[tuple[str, str], FloatArray]


@dataclass(frozen=True)
class Difference:
    """Variant a less variant b, in Hz; what: "menu" or a trigger, which counts as 0 where it is absent."""

    a: str
    b: str
    what: str
    quantity: str
    difference_hz: float
    error_hz: float


@dataclass(frozen=True)
class Gain:
    """What variant b accepts and a does not, in Hz."""

    a: str
    b: str
    hz: float
    error_hz: float


@dataclass(frozen=True)
class Common:
    """What trigger of_a of variant a and of_b of b both accept, in Hz. Triggers of one name share their
    prescale counter; others are independent."""

    a: str
    b: str
    of_a: str
    of_b: str
    hz: float
    error_hz: float


@dataclass(frozen=True)
class Change:
    """A trigger that differs between two variants: how, in words."""

    a: str
    b: str
    trigger: str
    how: str


@dataclass(frozen=True)
class Comparison:
    """Variants by the names of their menus, which differ."""

    variants: tuple[MenuRates, ...]
    differences: tuple[Difference, ...]
    gained: tuple[Gain, ...]
    common: tuple[Common, ...]
    changes: tuple[Change, ...]


def compare(emulation: Emulation) -> Comparison:
    """The menus of an emulation, in pairs. TrigemuError for one menu alone, or two of one name."""
    menus = emulation.menus
    names = [menu.name for menu in menus]
    if len(menus) < 2:
        raise TrigemuError(f"{menus[0].path}: a comparison needs at least two menus")
    if len(set(names)) < len(names):
        paths = ", ".join(str(menu.path) for menu in menus)
        raise TrigemuError(f"the menus {paths} are called {', '.join(names)}: give each a name of its own")
    pairs = list(combinations(range(len(menus)), 2))
    labels = {(i, j): _labels(menus[i], menus[j]) for i, j in pairs}
    table, scales = emulation.counted()
    crossing = [crossing_scale(menu, emulation.catalogue) for menu in menus]
    scale = Scale(scales, max(crossing))
    ratios = [value / max(crossing) for value in crossing]
    lower, higher = (RateSums(table, scale, sum(map(len, labels.values()))) for _ in range(2))
    both = RateSums(table, scale, sum(len(menus[i].enabled) * len(menus[j].enabled) for i, j in pairs))
    for rows in blocks(table):
        accepted = [
            acceptances(table.words[rows], menu, bits)
            for menu, bits in zip(menus, emulation.plan.bits, strict=True)
        ]
        fractions = [_fractions(menu, a) for menu, a in zip(menus, accepted, strict=True)]
        difference = np.column_stack(
            [
                ratios[i] * fractions[i].get(label, 0.0) - ratios[j] * fractions[j].get(label, 0.0)
                for (i, j) in pairs
                for label in labels[i, j]
            ]
        )
        higher.add(rows, np.maximum(difference, 0.0))
        lower.add(rows, np.maximum(-difference, 0.0))
        both.add(rows, np.hstack([_both(menus[i], menus[j], accepted[i], accepted[j]) for i, j in pairs]))
    columns = [(names[i], names[j], *label) for (i, j) in pairs for label in labels[i, j]]
    differences, gained = _differences(columns, higher.result(), lower.result())
    order = {pair: number for number, pair in enumerate(permutations(names, 2))}
    return Comparison(
        variants=tuple(rates(emulation, menu) for menu in menus),
        differences=tuple(differences),
        gained=tuple(sorted(gained, key=lambda gain: order[gain.a, gain.b])),
        common=tuple(_common([(menus[i], menus[j]) for i, j in pairs], both.result())),
        changes=tuple(change for i, j in pairs for change in _changes(emulation, i, j)),
    )


def _labels(a: Menu, b: Menu) -> list[tuple[str, str]]:
    triggers = dict.fromkeys(trigger.name for trigger in (*a.enabled, *b.enabled))
    of_triggers = [(name, quantity) for name in triggers for quantity in ("total_hz", "unique_hz")]
    return [("menu", "rate_hz"), *of_triggers]


def _fractions(menu: Menu, accepted: FloatArray) -> Fractions:
    sets = coherent_sets(menu.enabled)
    unique = unique_of(accepted, sets)
    found = {("menu", "rate_hz"): or_of(accepted, sets)}
    for column, trigger in enumerate(menu.enabled):
        found[trigger.name, "total_hz"] = accepted[:, column]
        found[trigger.name, "unique_hz"] = unique[:, column]
    return found


def _both(a: Menu, b: Menu, of_a: FloatArray, of_b: FloatArray) -> FloatArray:
    """float64[m, triggers of a × triggers of b], those of b varying faster."""
    columns = []
    for i, first in enumerate(a.enabled):
        for j, second in enumerate(b.enabled):
            same = first.name == second.name
            joined = np.minimum if same else np.multiply
            columns.append(joined(of_a[:, i], of_b[:, j]))
    return np.column_stack(columns)


def _differences(
    columns: Sequence[tuple[str, str, str, str]],
    higher: tuple[FloatArray, FloatArray],
    lower: tuple[FloatArray, FloatArray],
) -> tuple[list[Difference], list[Gain]]:
    """From the sums of what a has more and of what it has less than b; each event is in one of them."""
    differences, gained = [], []
    for column, (a, b, what, quantity) in enumerate(columns):
        more, less = float(higher[0][column]), float(lower[0][column])
        square = float(higher[1][column] + lower[1][column])
        differences.append(Difference(a, b, what, quantity, more - less, float(np.sqrt(square))))
        if what == "menu":
            gained.append(Gain(a, b, less, float(np.sqrt(lower[1][column]))))
            gained.append(Gain(b, a, more, float(np.sqrt(higher[1][column]))))
    return differences, gained


def _common(pairs: Sequence[tuple[Menu, Menu]], sums: tuple[FloatArray, FloatArray]) -> Iterator[Common]:
    values = zip(sums[0].tolist(), np.sqrt(sums[1]).tolist(), strict=True)
    for a, b in pairs:
        for first in a.enabled:
            for second in b.enabled:
                yield Common(a.name, b.name, first.name, second.name, *next(values))


def _changes(emulation: Emulation, i: int, j: int) -> Iterator[Change]:
    a, b = emulation.menus[i], emulation.menus[j]
    bits = emulation.plan.bits[i], emulation.plan.bits[j]
    first, second = ({trigger.name: trigger for trigger in menu.enabled} for menu in (a, b))
    for name in dict.fromkeys((*first, *second)):
        if name not in second:
            how = f"only in {a.name}"
        elif name not in first:
            how = f"only in {b.name}"
        else:
            how = "; ".join(_how(first[name], second[name]))
            if not how and bits[0].get(name) != bits[1].get(name):
                how = "its objects or sums"  # the same words, which mean something else
        if how:
            yield Change(a.name, b.name, name, how)


def _how(first: Trigger, second: Trigger) -> Iterator[str]:
    before, after = _definition(first), _definition(second)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield f"{key}: {_value(before.get(key))} → {_value(after.get(key))}"


def _definition(trigger: Trigger) -> dict[str, object]:
    description = trigger.description
    own = {name: getattr(description, name) for name in description.__struct_fields__}
    common = {key: getattr(trigger, key) for key in ("kind", "group", "prescale", "coherent", "seed")}
    if trigger.budget:
        own[trigger.budget.key] = trigger.budget.hz
    return common | own


def _value(value: object) -> str:
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
