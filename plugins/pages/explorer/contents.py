"""What a page is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.api import Menu, Scores, SignalBins

from .halves import Unseen


@dataclass(frozen=True)
class Contents:
    """What a page is made from, but for the range of its thresholds.

    scores: the score table. menus: as they are written, with their budgets solved. texts: their files.
    warnings: what a user should know of the rates of each. unseen: the half for triggers that were fitted.
    signals: the events of each signal that is shown, all of the score table. version: that of trigemu.
    """

    scores: Scores
    menus: tuple[Menu, ...]
    texts: tuple[str, ...]
    warnings: tuple[tuple[str, ...], ...]
    unseen: Unseen
    signals: Mapping[str, SignalBins]
    version: str
