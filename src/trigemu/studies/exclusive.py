"""Exclusive rates of combinations of triggers: the rates of events that exactly these triggers accept.

With the acceptances a of `acceptance.py`, exactly the triggers S accept an event with probability

    exactly(S) = Π over coherent sets C of max(0, min of a_t, t in S ∩ C  −  max of a_t, t in C without S)

where an empty minimum is 1 and an empty maximum is 0. The sum over all non-empty S is or(M).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import reduce
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
    return ExclusiveRates(
        largest=tuple(
            ExclusiveRate(tuple(names[i] for i in combination), float(value), float(np.sqrt(variance)))
            for combination, value, variance in zip(order[:most], values, variances, strict=True)
        ),
        others=len(order[most:]),
        others_hz=math.fsum(rates[combination] for combination in order[most:]),
    )


#: Triggers that accept an event, and the probability.
_Combination = tuple[tuple[int, ...], float]


def _combinations(parts: Sequence[Part]) -> list[_Combination]:
    """Return the combinations that can accept an event, from independent `parts`."""
    combinations: list[_Combination] = [((), 1.0)]
    for outcomes in parts:
        before, combinations = combinations, []
        for probability, counters in outcomes:
            with_outcome = [(triggers, likely * probability) for triggers, likely in before]
            combinations += reduce(_with_counter, counters, with_outcome)
    return combinations


def _with_counter(combinations: Iterable[_Combination], counter: Sequence[Row]) -> list[_Combination]:
    """Return combinations with each set of triggers of one counter that can accept together."""
    fired = [row.trigger for row in counter]
    bounds = [1.0, *(row.accept for row in counter), 0.0]  # the least prescaled come first
    return [
        ((*triggers, *fired[:count]), likely * (bounds[count] - bounds[count + 1]))
        for triggers, likely in combinations
        for count in range(len(bounds) - 1)
        if likely * (bounds[count] - bounds[count + 1]) > NEGLIGIBLE
    ]


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
    accept = [
        [{row.trigger: row.accept for row in counter if row.accept > 0} for counter in counters]
        for _, counters in part
    ]
    needed = members & {trigger for outcome in accept for counter in outcome for trigger in counter}
    total = 0.0
    for (probability, _), outcome in zip(part, accept, strict=True):
        if needed <= {trigger for counter in outcome for trigger in counter}:
            for counter in outcome:
                least = min((counter[trigger] for trigger in members & counter.keys()), default=1.0)
                most = max((counter[trigger] for trigger in counter.keys() - members), default=0.0)
                probability *= max(least - most, 0.0)
            total += probability
    return total
