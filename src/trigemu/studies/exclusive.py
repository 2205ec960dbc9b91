"""Exclusive rates of combinations of triggers: the rates of events that exactly these triggers accept.

With the acceptances a of `acceptance.py`, exactly the triggers S accept an event with probability

    exactly(S) = Π over coherent sets C of max(0, min of a_t, t in S ∩ C  −  max of a_t, t in C without S)

where an empty minimum is 1 and an empty maximum is 0. The sum over all non-empty S is or(M).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.shown import Shown
from trigemu.counting.acceptance import Acceptance, acceptances
from trigemu.counting.patterns import distinct_entries, starts_of
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

    _view: ClassVar[str] = "trigemu.results.rates:ExclusiveRatesView"

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
                for triggers, probability in _combinations(acceptance, pattern, level):
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


def _combinations(
    acceptance: Acceptance, pattern: int, within: BoolArray
) -> list[tuple[tuple[int, ...], float]]:
    """Return the combinations of triggers in `within`, bool[t], that can accept a pattern, and their
    probabilities."""
    rows, combinations = acceptance.rows, [(tuple[int, ...](), 1.0)]
    own = slice(*np.searchsorted(rows.pattern, [pattern, pattern + 1]))
    columns = rows.part, rows.outcome, rows.probability, rows.counter, rows.trigger, rows.accept
    listed = zip(*(column[own].tolist() for column in columns), strict=True)
    for _, part in groupby(listed, itemgetter(0)):
        before, combinations = combinations, []
        for (_, probability), outcome in groupby(part, itemgetter(1, 2)):
            found = [(triggers, likely * probability) for triggers, likely in before]
            for _, counter in groupby(outcome, itemgetter(3)):
                inside = [(trigger, accept) for *_, trigger, accept in counter if within[trigger]]
                fired = [trigger for trigger, _ in inside]
                limits = pairwise([1.0, *(accept for _, accept in inside), 0.0])
                widths = [*enumerate(higher - lower for higher, lower in limits)]
                found = [
                    ((*triggers, *fired[:n]), likely * width)
                    for triggers, likely in found
                    for n, width in widths
                    if likely * width > NEGLIGIBLE
                ]
            combinations += found
    return combinations


def exactly(acceptance: Acceptance, members: BoolArray, within: BoolArray) -> FloatArray:
    """Return the probability, float64[m], that all triggers in `members` accept and no other trigger in
    `within` accepts; both are bool[t].

    Of the triggers of one counter, the first n accept exactly with the width between the probability of the
    last of them and that of the next.
    """
    rows, members = acceptance.rows, members & within
    outcome = starts_of(rows.pattern, rows.part, rows.outcome)
    outcome_of = np.repeat(np.arange(len(outcome)), np.diff(outcome, append=len(rows.pattern)))
    probability, found = rows.probability[outcome], np.zeros(len(outcome), np.int64)

    inside = np.flatnonzero(within[rows.trigger])
    is_member, accept = members[rows.trigger[inside]], rows.accept[inside]
    counter = starts_of(outcome_of[inside], rows.counter[inside])
    size = np.diff(counter, append=len(inside))
    n = np.add.reduceat(is_member.astype(np.int64), counter)
    is_first = np.arange(len(inside)) < np.repeat(counter + n, size)
    higher = np.where(n > 0, accept[counter + n - 1], 1.0)
    lower = np.where(n < size, np.append(accept, 0.0)[counter + n], 0.0)
    possible = np.logical_and.reduceat(is_first == is_member, counter)
    np.multiply.at(probability, outcome_of[inside[counter]], np.where(possible, higher - lower, 0.0))
    np.add.at(found, outcome_of[inside[counter]], n)

    part = starts_of(rows.pattern[outcome], rows.part[outcome])
    needed = np.maximum.reduceat(found, part)
    probability[found < np.repeat(needed, np.diff(part, append=len(outcome)))] = 0.0
    pattern, result = rows.pattern[outcome[part]], np.ones(acceptance.patterns)
    np.multiply.at(result, pattern, np.add.reduceat(probability, part))
    result[np.bincount(pattern, needed, acceptance.patterns) < members.sum()] = 0.0
    return result
