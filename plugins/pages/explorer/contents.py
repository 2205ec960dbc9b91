"""The input of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.api import Menu, MenuRates, Scores, SignalBins

from .halves import Unseen


@dataclass(frozen=True)
class Contents:
    """The input of a page, except for the ranges of its thresholds.

    scores: the score table. menus: as written, with their budgets solved. texts: their files. rates:
    of each menu. unseen: the half for triggers that were fitted. signals: the events of each signal
    in the page, which are all those of the score table. version: of trigemu.
    """

    scores: Scores
    menus: tuple[Menu, ...]
    texts: tuple[str, ...]
    rates: tuple[MenuRates, ...]
    unseen: Unseen
    signals: Mapping[str, SignalBins]
    version: str
