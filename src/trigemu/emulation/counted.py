"""The patterns that the rates of some menus are computed from, and their factors in the rates.

Rates without fitted triggers come from all events; the rate of a fitted trigger, and its effect on other
rates, come from the half that it was not fitted to (`counting/scales.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from trigemu.counting import PatternTable, RateSums, Scales, own_decisions, pattern_blocks
from trigemu.menus import Menu
from trigemu.support import BoolArray, FloatArray, Words
from trigemu.triggers import BitKind, Random


@dataclass(frozen=True)
class Counted:
    """The patterns of some menus of an emulation.

    Attributes
    ----------
    table : PatternTable
        The patterns of their triggers, in the selected bin.
    scales : Scales
        Their factors in the rates.
    menus : tuple of Menu
        The menus.
    bits : tuple of mapping of str to int
        For each menu, the bits of its triggers.
    fitted : tuple of frozenset of str
        For each menu, the triggers that are judged on the unseen half.
    constant : tuple of frozenset of str
        For each menu, the triggers that accept all events alike, as a random trigger. Their rates, and what
        they add to others, are known without events; empty if the weight of all events is not known, as in
        one bin.
    """

    table: PatternTable
    scales: Scales
    menus: tuple[Menu, ...]
    bits: tuple[Mapping[str, int], ...]
    fitted: tuple[frozenset[str], ...]
    constant: tuple[frozenset[str], ...]

    def blocks(self) -> Iterator[slice]:
        """Yield the entries of the table in blocks."""
        return pattern_blocks(self.table, *self.menus)

    @cached_property
    def without_fitted(self) -> tuple[Menu, ...]:
        """The menus with their fitted triggers switched off."""
        return tuple(map(switched_off, self.menus, self.fitted))

    @cached_property
    def is_fitted(self) -> tuple[BoolArray, ...]:
        """For each menu, whether each of its t enabled triggers is fitted, bool[t]."""
        return self._enabled(self.fitted)

    @cached_property
    def is_constant(self) -> tuple[BoolArray, ...]:
        """The same for `constant`."""
        return self._enabled(self.constant)

    def _enabled(self, of: tuple[frozenset[str], ...]) -> tuple[BoolArray, ...]:
        return tuple(
            np.array([trigger.name in names for trigger in menu.enabled], np.bool_)
            for menu, names in zip(self.menus, of, strict=True)
        )

    def sums(
        self, of: Callable[[Words, tuple[Menu, ...]], FloatArray], columns: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f of some quantities in Hz and its variance in Hz², float64[columns] each; `of` as in
        `fractions`."""
        constant = self.constant_part(of)
        sums = RateSums(self.table, self.scales, columns, constant)
        for rows in self.blocks():
            fractions = self.fractions(rows, of)
            some = fractions.any(axis=1) | (constant is not None)
            sums.add(np.flatnonzero(some) + rows.start, fractions[some])
        return sums.result()

    def constant_part(self, of: Callable[[Words, tuple[Menu, ...]], FloatArray]) -> FloatArray | None:
        """Return the fractions of an event that only `constant` triggers accept, float64[columns]; None
        without such a trigger."""
        if not any(self.constant):
            return None
        nothing = np.zeros((1, self.table.words.shape[1]), np.uint64)
        others = (
            frozenset(t.name for t in menu.triggers) - names
            for menu, names in zip(self.menus, self.constant, strict=True)
        )
        part: FloatArray = of(nothing, tuple(map(switched_off, self.menus, others)))[0]
        return part

    def fractions(self, rows: slice, of: Callable[[Words, tuple[Menu, ...]], FloatArray]) -> FloatArray:
        """Return the fractions of the entries of a block in some quantities. `of` computes these from
        patterns uint64[m, w] and menus, float64[m, columns]."""
        return self.judged(rows, of(self.table.words[rows], self.menus), of)

    def judged(
        self, rows: slice, fractions: FloatArray, of: Callable[[Words, tuple[Menu, ...]], FloatArray]
    ) -> FloatArray:
        """Return the same from known fractions in the menus."""
        touched = np.flatnonzero(self._touched[rows])
        if len(touched):
            entries = touched + rows.start
            without = of(self.table.words[entries], self.without_fitted)
            fractions = fractions.copy()
            fractions[touched] = self.scales.judged(entries, fractions[touched], without)
        return fractions

    @cached_property
    def _touched(self) -> BoolArray:
        """bool[m]: whether a fitted trigger may accept an entry; otherwise it has no effect."""
        touched = np.zeros(len(self.table), np.bool_)
        for menu, bits, names in zip(self.menus, self.bits, self.fitted, strict=True):
            if names:  # in a column of prescales, some may not be used
                own = own_decisions(self.table.words, menu.part(names), bits)
                for name in names & own.keys():
                    touched |= own[name]
        return touched


def constant_in(menu: Menu) -> frozenset[str]:
    """Return the triggers that accept all events alike: random ones, and what reads nothing else.

    Parameters
    ----------
    menu : Menu
        The menu.

    Returns
    -------
    frozenset of str
        Their names.
    """
    found: set[str] = set()
    for name in menu.order:  # each after those that it reads
        trigger = menu.trigger(name)
        reads, kind = trigger.inputs(), trigger.description
        if found.issuperset(reads) and (
            isinstance(kind, Random) or (isinstance(kind, BitKind) and kind.inputs())
        ):
            found.add(name)
    return frozenset(found)


def switched_off(menu: Menu, names: frozenset[str]) -> Menu:
    """Return a menu with some of its triggers switched off as by a column of prescales, which also affects
    triggers that read them."""
    triggers = (replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))
