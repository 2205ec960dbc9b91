"""The patterns that the rates of some menus are computed from, and with which factors they enter.

A rate of what nothing was fitted for is from all events; what a fitted trigger accepts, and what it changes
in other rates, is from the half that it has not seen (`counting/scales.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from trigemu.counting import PatternTable, Scales, own_decisions, pattern_blocks
from trigemu.menus import Menu
from trigemu.support import BoolArray, FloatArray, Words


@dataclass(frozen=True)
class Counted:
    """The patterns of some menus of an emulation.

    Attributes
    ----------
    table : PatternTable
        The patterns of their triggers, in the bin that counts.
    scales : Scales
        The factors with which they enter rates.
    menus : tuple of Menu
        The menus.
    bits : tuple of mapping of str to int
        For each menu, the bits of its triggers.
    fitted : tuple of frozenset of str
        For each menu, the triggers that are judged on the unseen half.
    """

    table: PatternTable
    scales: Scales
    menus: tuple[Menu, ...]
    bits: tuple[Mapping[str, int], ...]
    fitted: tuple[frozenset[str], ...]

    def blocks(self) -> Iterator[slice]:
        """Yield the entries of the table in blocks."""
        return pattern_blocks(self.table, *self.menus)

    @cached_property
    def without_fitted(self) -> tuple[Menu, ...]:
        """The menus with their fitted triggers switched off."""
        return tuple(map(switched_off, self.menus, self.fitted))

    @cached_property
    def fitted_places(self) -> tuple[BoolArray, ...]:
        """For each menu, which of its t enabled triggers are fitted, bool[t]."""
        return tuple(
            np.array([trigger.name in names for trigger in menu.enabled], np.bool_)
            for menu, names in zip(self.menus, self.fitted, strict=True)
        )

    def fractions(self, rows: slice, of: Callable[[Words, tuple[Menu, ...]], FloatArray]) -> FloatArray:
        """Return with which fractions the entries of a block enter some quantities: `of` gives those of the
        patterns uint64[m, w] in some menus, float64[m, columns]."""
        return self.judged(rows, of(self.table.words[rows], self.menus), of)

    def judged(
        self, rows: slice, fractions: FloatArray, of: Callable[[Words, tuple[Menu, ...]], FloatArray]
    ) -> FloatArray:
        """Return the same where the fractions in the menus are known already."""
        touched = np.flatnonzero(self._touched[rows])
        if len(touched):
            places = touched + rows.start
            without = of(self.table.words[places], self.without_fitted)
            fractions = fractions.copy()
            fractions[touched] = self.scales.judged(places, fractions[touched], without)
        return fractions

    @cached_property
    def _touched(self) -> BoolArray:
        """bool[m]: in which entries a fitted trigger may accept; in the others, it changes nothing."""
        touched = np.zeros(len(self.table), np.bool_)
        for menu, bits, names in zip(self.menus, self.bits, self.fitted, strict=True):
            if names:  # in a column of prescales, some may not be used
                own = own_decisions(self.table.words, menu.part(names), bits)
                for name in names & own.keys():
                    touched |= own[name]
        return touched


def switched_off(menu: Menu, names: frozenset[str]) -> Menu:
    """Return a menu with some of its triggers, and all that read them, as in a column of prescales that
    switches them off."""
    triggers = (replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))
