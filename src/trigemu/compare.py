"""Variants of a menu, compared on the same events.

Of each event a variant accepts a fraction f: of the menu, or(M); of a trigger, total and unique as in
`rates.py`. A difference is Σ w (f_A − f_B) and its uncertainty √(Σ w² (f_A − f_B)²), event by event: what
both accept cancels, which no sum in quadrature knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from trigemu.acceptance import acceptances, coherent_sets, or_of, unique_of
from trigemu.calibrate import crossing_scale
from trigemu.changes import changes
from trigemu.emulate import Emulation
from trigemu.errors import TrigemuError
from trigemu.events import BoolArray, FloatArray
from trigemu.menu import Menu, check_names
from trigemu.rates import rates
from trigemu.results import MenuRates
from trigemu.sums import PairSums, RateSums, Scale, blocks

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
    """What variant b accepts and a does not, in Hz: of each event, by what its accepted fraction is higher.
    Prescaled, that is the least which any arrangement of prescale counters gives, and nothing where both
    accept alike."""

    a: str
    b: str
    hz: float
    error_hz: float


class Common(NamedTuple):
    """What trigger of_a of variant a and of_b of b both accept, in Hz, at the lower of their crossing rates.
    Triggers of one name, or of one coherent set, share their prescale counter; others are independent."""

    a: str
    b: str
    of_a: str
    of_b: str
    hz: float
    error_hz: float


@dataclass(frozen=True)
class Change:
    """A trigger, or the "menu" itself, that differs between two variants: how, in words."""

    a: str
    b: str
    what: str
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
    if len(menus) < 2:
        raise TrigemuError(f"{menus[0].path}: a comparison needs at least two menus")
    check_names(menus)
    names = [menu.name for menu in menus]
    pairs = {(names[i], names[j]): _Pair(emulation, i, j) for i, j in combinations(range(len(menus)), 2)}
    gained = {(gain.a, gain.b): gain for pair in pairs.values() for gain in pair.gained}
    return Comparison(
        variants=tuple(rates(emulation, menu) for menu in menus),
        differences=tuple(difference for pair in pairs.values() for difference in pair.differences),
        gained=tuple(gained[pair] for pair in permutations(names, 2)),
        common=tuple(common for pair in pairs.values() for common in pair.common()),
        changes=tuple(
            Change(a, b, what, how)
            for a, b in pairs
            for what, how in changes(emulation, names.index(a), names.index(b))
        ),
    )


class _Pair:
    """The differences of two menus of an emulation: sums of what the first has more, and of what it has
    less, each event being in one of the two; and of what two triggers accept together."""

    def __init__(self, emulation: Emulation, i: int, j: int) -> None:
        self._menus = a, b = emulation.menus[i], emulation.menus[j]
        table, scales = emulation.counted(i, j)
        crossing = [crossing_scale(menu, emulation.catalogue) for menu in self._menus]
        ratios = [value / max(crossing) for value in crossing]
        self._labels = _labels(a, b)
        scale = Scale(scales, max(crossing))
        self._more, self._less = (RateSums(table, scale, len(self._labels)) for _ in range(2))
        self._both = PairSums(table, Scale(scales, min(crossing)), _alike(a, b))
        for rows in blocks(table):
            words = table.words[rows]
            accepted = [acceptances(words, menu, emulation.plan.bits[n]) for menu, n in ((a, i), (b, j))]
            self._both.add(rows, accepted[0], accepted[1])
            first, second = map(_fractions, self._menus, accepted, ratios)
            nothing = np.zeros(len(words))
            difference = np.column_stack(
                [first.get(label, nothing) - second.get(label, nothing) for label in self._labels]
            )
            differ = difference.any(axis=1)
            at, difference = np.flatnonzero(differ) + rows.start, difference[differ]
            self._more.add(at, np.maximum(difference, 0.0))
            self._less.add(at, np.maximum(-difference, 0.0))

    @property
    def differences(self) -> Iterator[Difference]:
        (more, more2), (less, less2) = self._more.result(), self._less.result()
        a, b = (menu.name for menu in self._menus)
        for k, (what, quantity) in enumerate(self._labels):
            error = float(np.sqrt(more2[k] + less2[k]))
            yield Difference(a, b, what, quantity, float(more[k] - less[k]), error)

    @property
    def gained(self) -> tuple[Gain, Gain]:
        """From the first to the second, and back."""
        a, b = (menu.name for menu in self._menus)
        menu = self._labels.index(("menu", "rate_hz"))
        (more, more2), (less, less2) = self._more.result(), self._less.result()
        return (
            Gain(a, b, float(less[menu]), float(np.sqrt(less2[menu]))),
            Gain(b, a, float(more[menu]), float(np.sqrt(more2[menu]))),
        )

    def common(self) -> Iterator[Common]:
        a, b = self._menus
        values, squares = self._both.result()
        numbers = zip(values.ravel().tolist(), np.sqrt(squares).ravel().tolist(), strict=True)
        for first in a.enabled:
            for second in b.enabled:
                yield Common(a.name, b.name, first.name, second.name, *next(numbers))


def _labels(a: Menu, b: Menu) -> list[tuple[str, str]]:
    triggers = dict.fromkeys(trigger.name for trigger in (*a.enabled, *b.enabled))
    of_triggers = [(name, quantity) for name in triggers for quantity in ("total_hz", "unique_hz")]
    return [("menu", "rate_hz"), *of_triggers]


def _fractions(menu: Menu, accepted: FloatArray, ratio: float) -> Fractions:
    """Of the triggers by name, so that menus with the same triggers in another order differ by nothing."""
    order = sorted(range(len(menu.enabled)), key=lambda column: menu.enabled[column].name)
    triggers = [menu.enabled[column] for column in order]
    sorted_, sets = accepted[:, order], coherent_sets(triggers)
    unique = unique_of(sorted_, sets)
    found = {("menu", "rate_hz"): ratio * or_of(sorted_, sets)}
    for column, trigger in enumerate(triggers):
        found[trigger.name, "total_hz"] = ratio * sorted_[:, column]
        found[trigger.name, "unique_hz"] = ratio * unique[:, column]
    return found


def _alike(a: Menu, b: Menu) -> BoolArray:
    """bool[triggers of a, triggers of b]: which share their prescale counter."""
    return np.array(
        [
            [s.name == t.name or (s.coherent is not None and s.coherent == t.coherent) for t in b.enabled]
            for s in a.enabled
        ]
    )
