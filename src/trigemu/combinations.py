"""Which combinations of triggers take which rate: those that accept an event together, and no other does.

With the acceptances a of `acceptance.py`, exactly the triggers S accept an event with probability

    exactly(S) = Π over coherent sets C of max(0, min of a_t, t in S ∩ C  −  max of a_t, t in C without S)

an empty minimum being 1 and an empty maximum 0. Over all S that are not empty this adds up to or(M).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu import exact
from trigemu.acceptance import acceptances, coherent_sets
from trigemu.calibrate import crossing_scale
from trigemu.emulate import Emulation
from trigemu.events import BoolArray, FloatArray
from trigemu.menu import Menu
from trigemu.sums import RateSums, Scale, blocks

#: Of the events of a pattern: combinations that fewer of them are in do not decide which are the largest.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Combination:
    """hz ± error_hz of events that these triggers accept and no other of the menu does."""

    triggers: tuple[str, ...]
    hz: float
    error_hz: float


@dataclass(frozen=True)
class Combinations:
    """The largest, by falling rate; how many others occur, and what they take together in Hz."""

    largest: tuple[Combination, ...]
    others: int
    others_hz: float


def exclusive_rates(emulation: Emulation, menu: Menu | None = None, most: int = 15) -> Combinations:
    """The combinations of a menu of an emulation, its only one by default, with the highest rates."""
    known = emulation.given if menu in emulation.given else emulation.menus
    number = 0 if menu is None else known.index(menu)
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    sets = coherent_sets(menu.enabled)
    table, scales = emulation.counted(number)
    scale = Scale(scales, crossing_scale(menu, emulation.catalogue))
    hz = exact.to_float(table.weight) * scale.of_sample[table.sample] * scale.everything
    rates = _approximate(acceptances(table.words, menu, bits), hz, sets)
    order = sorted(rates, key=lambda combination: (-rates[combination], combination))
    chosen = [np.isin(np.arange(len(menu.enabled)), combination) for combination in order[:most]]
    sums = RateSums(table, scale, len(chosen))
    for rows in blocks(table) if chosen else ():
        accepted = acceptances(table.words[rows], menu, bits)
        sums.add(rows, np.column_stack([exactly(accepted, members, sets) for members in chosen]))
    values, squares = sums.result()
    names = [trigger.name for trigger in menu.enabled]
    return Combinations(
        largest=tuple(
            Combination(tuple(names[i] for i in combination), float(value), float(np.sqrt(square)))
            for combination, value, square in zip(order[:most], values, squares, strict=True)
        ),
        others=len(order[most:]),
        others_hz=math.fsum(rates[combination] for combination in order[most:]),
    )


def exactly(accepted: FloatArray, members: BoolArray, sets: Sequence[Sequence[int]]) -> FloatArray:
    """float64[m]: the probability that the members, bool[t], accept and no other, from float64[m, t]."""
    probability = np.ones(len(accepted))
    for together in sets:
        inside = [t for t in together if members[t]]
        outside = [t for t in together if not members[t]]
        all_inside = accepted[:, inside].min(axis=1) if inside else 1.0
        any_outside = accepted[:, outside].max(axis=1) if outside else 0.0
        probability *= np.maximum(all_inside - any_outside, 0.0)
    return probability


def _approximate(
    accepted: FloatArray, hz: FloatArray, sets: Sequence[Sequence[int]]
) -> dict[tuple[int, ...], float]:
    """The rate in Hz of every combination, by the places of its triggers, up to rounding."""
    patterns, number = np.unique(accepted, axis=0, return_inverse=True)
    rates: dict[tuple[int, ...], float] = {}
    for row, rate in zip(patterns, np.bincount(number.ravel(), hz, len(patterns)), strict=True):
        for combination, probability in _outcomes(row, sets):
            if combination:
                rates[combination] = rates.get(combination, 0.0) + float(rate) * probability
    return rates


def _outcomes(
    row: FloatArray, sets: Sequence[Sequence[int]], likely: float = 1.0
) -> Iterator[tuple[tuple[int, ...], float]]:
    """The combinations that may accept an event, each with its probability, from float64[t]."""
    if not sets:
        yield (), likely
        return
    fired = sorted((t for t in sets[0] if row[t] > 0), key=lambda t: -row[t])
    bounds = [1.0, *(float(row[t]) for t in fired), 0.0]
    for count in range(len(fired) + 1):  # a common counter: the least prescaled come first
        probability = likely * (bounds[count] - bounds[count + 1])
        if probability > NEGLIGIBLE:
            for others, other_probability in _outcomes(row, sets[1:], probability):
                yield tuple(sorted((*fired[:count], *others))), other_probability
