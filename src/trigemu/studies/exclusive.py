"""Exclusive rates of combinations of triggers: the rates of events that exactly these triggers accept.

With the acceptances a of `acceptance.py`, exactly the triggers S accept an event with probability

    exactly(S) = Π over coherent sets C of max(0, min of a_t, t in S ∩ C  −  max of a_t, t in C without S)

where an empty minimum is 1 and an empty maximum is 0. The sum over all non-empty S is or(M).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.shown import Shown
from trigemu.counting.acceptance import Acceptance, Part, Row, acceptances
from trigemu.counting.patterns import distinct_entries
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike
from trigemu.rates.menu_rates import emulation_of
from trigemu.samples.memory import SamplesLike

#: Combinations that accept a smaller fraction of the events of a pattern are ignored in the search for the
#: largest rates.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class ExclusiveRate:
    """The rate of events that a combination of triggers accepts together and no other trigger accepts."""

    triggers: tuple[str, ...]  # The names of the triggers
    hz: float  # The rate in Hz
    error_hz: float  # Its statistical uncertainty in Hz


@dataclass(frozen=True, repr=False)
class ExclusiveRates(Shown):
    """The exclusive rates of a menu."""

    _view: ClassVar[str] = "trigemu.results.overlap:ExclusiveRatesView"

    largest: tuple[ExclusiveRate, ...]  #: The combinations with the highest rates, in descending order
    others: int  #: The number of other combinations that occur
    others_hz: float  #: The sum of their rates in Hz


def exclusive_rates(
    emulation: Emulation | MenuLike,
    menu: MenuLike | None = None,
    most: int = 15,
    *,
    catalogue: SamplesLike = None,
    executor: Any = None,
) -> ExclusiveRates:
    """Find the combinations of triggers with the highest exclusive rates.

    Parameters
    ----------
    emulation : path, Menu or Emulation
        A menu, or an emulation. If the menu has levels, only triggers of the last level are combined.
    menu : path or Menu, optional
        One of the menus of the emulation; by default the first.
    most : int
        The largest number of combinations to return.
    catalogue, executor
        The samples and the executor for a menu, as in `emulate`.

    Returns
    -------
    ExclusiveRates

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.exclusive_rates("menus/primary.toml")
    >>> [(" and ".join(rate.triggers), round(rate.hz)) for rate in result.largest]
    [('J100', 18105), ('G30', 2891), ('J100 and G30', 415)]
    """
    emulation = emulation_of(emulation, catalogue, executor)
    number = emulation.number(menu)
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    *_, level = members_by_level(menu).values()
    counted = emulation.counted(number)
    table, unseen = counted.table, counted.unseen
    hz = table.weight * counted.everything
    rates: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for part, factor in ((menu, unseen), (counted.without_fitted[0], 1.0 - unseen)):
        for rows in counted.blocks() if factor.any() else ():
            entry, first = distinct_entries(table.words[rows])
            acceptance = acceptances(table.words[rows][first], part, bits)
            of_patterns = np.bincount(entry, hz[rows] * factor[rows], len(first))
            for pattern in np.flatnonzero(of_patterns).tolist():
                for triggers, probability in _combinations(acceptance.outcomes(pattern, level)):
                    rates[tuple(sorted(triggers))] += float(of_patterns[pattern]) * probability
    rates.pop((), None)
    order = sorted(rates, key=lambda combination: (-rates[combination], combination))
    combined = [np.isin(np.arange(len(menu.enabled)), combination) for combination in order[:most]]

    def exclusive(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        acceptance = acceptances(words, menus[0], bits)
        return np.column_stack([exactly(acceptance, members, level) for members in combined])

    values, variances = counted.sums(exclusive, len(combined)) if combined else np.zeros((2, 0))
    names = [trigger.name for trigger in menu.enabled]
    largest = tuple(
        ExclusiveRate(tuple(names[i] for i in combination), float(value), float(np.sqrt(variance)))
        for combination, value, variance in zip(order[:most], values, variances, strict=True)
    )
    others = order[most:]
    return ExclusiveRates(largest, len(others), math.fsum(rates[combination] for combination in others))


def _combinations(parts: Sequence[Part]) -> list[tuple[tuple[int, ...], float]]:
    """Return the combinations that can accept an event, from independent `parts`, and their probabilities."""
    combinations: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    for outcomes in parts:
        before, combinations = combinations, []
        for probability, counters in outcomes:
            found = [(triggers, likely * probability) for triggers, likely in before]
            for counter in counters:
                fired = [row.trigger for row in counter]
                widths = [*enumerate(_width(counter, n) for n in range(len(counter) + 1))]
                found = [
                    ((*triggers, *fired[:n]), likely * width)
                    for triggers, likely in found
                    for n, width in widths
                    if likely * width > NEGLIGIBLE
                ]
            combinations += found
    return combinations


def _width(counter: Sequence[Row], n: int) -> float:
    """Return the probability that of the triggers of one counter, of which the least prescaled come first,
    exactly the first n accept."""
    return (counter[n - 1].accept if n else 1.0) - (counter[n].accept if n < len(counter) else 0.0)


def exactly(acceptance: Acceptance, members: BoolArray, within: BoolArray) -> FloatArray:
    """Return the probability, float64[m], that all triggers in `members` accept and no other trigger in
    `within` accepts; both are bool[t]."""
    inside = members & within
    accepted = acceptance.accepted
    possible = (accepted > 0) @ inside.astype(np.int64) == inside.sum()
    possible &= (accepted == 1) @ (within & ~inside).astype(np.int64) == 0
    probability, positions = np.zeros(len(possible)), {*np.flatnonzero(inside).tolist()}
    for pattern in np.flatnonzero(possible).tolist():
        parts = acceptance.outcomes(pattern, within)
        probability[pattern] = math.prod(_exactly_in(part, positions) for part in parts)
    return probability


def _exactly_in(part: Part, members: Set[int]) -> float:
    """Return the probability that in a part the `members` accept, of its triggers, and no others."""
    fired = [{row.trigger for counter in counters for row in counter} for _, counters in part]
    needed, total = members & set().union(*fired), 0.0
    for (probability, counters), triggers in zip(part, fired, strict=True):
        if needed <= triggers:
            for counter in counters:
                n = sum(row.trigger in members for row in counter)
                are_first = all(row.trigger in members for row in counter[:n])
                probability *= _width(counter, n) if are_first else 0.0
            total += probability
    return total
