"""What a page is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.emulation import Scores
from trigemu.menus import Menu
from trigemu.output.explorer.halves import Unseen
from trigemu.studies import SignalBins


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
