"""The part of the errors of live rates that comes from the events of the samples.

The rate after the rules of a trigger is R_t L(R), with its own rate R_t before them, and the live fraction L
at the rate R of the first level. An event of weight w that the trigger accepts with the probability a, and
the first level with b, changes it by

    w L (a + R_t κ b),        κ = d ln L / dR,

so its variance is that of a sum over events with the fraction a + R_t κ b, and is computed like that of any
other rate: with events that share an interaction, and the halves of samples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trigemu.api import Emulation, FloatArray, Menu, RateSums, Words, acceptances, members_by_level


class TableErrors(NamedTuple):
    """Relative errors, float64[rows] each, of rates before and after the rules, and of unique rates. hz and
    unique_hz: float64[rows], the rates before the rules, over all phases of the prescale counters."""

    before: FloatArray
    after: FloatArray
    unique: FloatArray
    unique_after: FloatArray
    hz: FloatArray
    unique_hz: FloatArray


def rows_of(menu: Menu, words: Words, bits: Mapping[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities that triggers, groups and levels accept m patterns, and that they alone in
    their level do, float64[m, rows] each."""
    acceptance = acceptances(words, menu, bits)
    levels = members_by_level(menu)
    either = [acceptance.either(members) for members in levels.values()]
    names = [trigger.group for trigger in menu.enabled]
    total, unique = [acceptance.total], [sum(acceptance.unique(m) for m in levels.values())]
    for group in dict.fromkeys(name for name in names if name):
        inside = np.array([name == group for name in names])
        number = next(n for n, members in enumerate(levels.values()) if members[inside].all())
        members = list(levels.values())[number]
        total.append(acceptance.either(inside)[:, None])
        unique.append((either[number] - acceptance.either(members & ~inside))[:, None])
    of_levels = np.column_stack(either)
    return np.hstack([*total, of_levels]), np.hstack([*unique, of_levels])


def table_errors(
    emulation: Emulation, number: int, without: Collection[str], slope: float, is_scaled: bool = False
) -> TableErrors:
    """Return the relative errors of the rates of a menu. without: triggers that never accept. slope: κ R,
    d ln L / d ln R of the first level. is_scaled: whether all rates are scaled such that R is given; then
    those of triggers relative to R vary."""
    counted = emulation.counted(number)
    (menu,), (bits,) = counted.menus, counted.bits
    levels = len(menu.levels or ("",))
    width = len(menu.enabled) + len({t.group for t in menu.enabled if t.group}) + levels
    first = width - levels

    def both(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        never = (replace(t, prescale=math.inf) if t.name in without else t for t in menus[0].triggers)
        return np.hstack(rows_of(replace(menus[0], triggers=tuple(never)), words, bits))

    constant = counted.constant_part(both)

    def sums(slope: float, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        bound = 1.0 + abs(slope) * max(
            1.0, float(ratio.max(initial=1.0))
        )  # exact sums take fractions up to 1

        def moved(values: FloatArray) -> FloatArray:
            return (values + slope * ratio * values[..., first, None]) / bound

        sums = RateSums(
            counted.table, counted.scales, 2 * width, None if constant is None else moved(constant)
        )
        for rows in counted.blocks():
            sums.add(rows, moved(counted.fractions(rows, both)))
        hz, variance = sums.result()
        return hz * bound, variance * bound**2

    hz, plain = sums(0.0, np.zeros(2 * width))
    ratio = hz / hz[first] if hz[first] > 0 else np.zeros_like(hz)
    moved = sums(-1.0 if is_scaled else slope, ratio)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = [np.where(hz > 0, np.sqrt(v) / hz, 0.0) for v in (moved if is_scaled else plain, moved)]
    (before, unique), (after, unique_after) = (np.split(values, 2) for values in relative)
    return TableErrors(before, after, unique, unique_after, *np.split(hz, 2))


def first_level_rate(emulation: Emulation) -> float:
    """Return the rate in Hz that the first level of the first menu of an emulation accepts."""
    counted = emulation.counted(0)
    levels = len(counted.menus[0].levels or ("",))

    def first(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        total = rows_of(menus[0], words, counted.bits[0])[0]
        return total[:, total.shape[1] - levels, None]

    sums = RateSums(counted.table, counted.scales, 1)
    for rows in counted.blocks():
        sums.add(rows, counted.fractions(rows, first))
    return float(sums.result()[0][0])
