"""The observables of the turn-ons of signals in a page, and their bins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trigemu.api import Menu, Profile, Scores

from .columns import Column, columns_of

#: The most bins of a turn-on, and the end of the last bin in units of the highest threshold.
_BINS, _REACH = 40, 3.0


def turnon_profiles(scores: Scores, menus: Sequence[Menu]) -> tuple[Profile, ...]:
    """Return the observables of triggers with a range of thresholds, in bins of round edges.

    Only menus with the objects and sums of the first menu contribute.
    """
    same_scope = [menu for menu in menus if menu.scope == menus[0].scope]
    columns = columns_of(scores, same_scope, scores.threshold_ranges)
    profiles: dict[str, Profile] = {}
    for column in columns.scores:
        if column.observable and len(column.steps) > 1 and column.observable not in profiles:
            profiles[column.observable] = Profile(column.observable, _edges(column), unit=column.unit)
    return tuple(profiles.values())


def _edges(column: Column) -> tuple[float, ...]:
    low, high = float(column.steps[0]), float(column.steps[-1])
    if column.written > 0:
        low, high = min(low, 0.0), max(high, _REACH * column.written)
    power = math.floor(math.log10((high - low) / _BINS))
    width = next(f * 10.0**power for f in (1, 2, 5, 10, 20) if f * 10.0**power * (_BINS - 1) >= high - low)
    if column.integral:
        width = max(width, 1.0)
    first, last = math.floor(low / width), math.floor(high / width) + 1  # the last bin has the highest score
    return tuple(round(number * width, max(0, -power)) for number in np.arange(first, last + 1).tolist())
