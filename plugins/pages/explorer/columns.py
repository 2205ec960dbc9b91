"""The scores and decisions of a page: the possible thresholds of each score, and the thresholds of the
triggers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.api import (
    BitKind,
    FloatArray,
    Menu,
    ScoreKind,
    Scores,
    Stored,
    ThresholdRange,
    TrigemuError,
    Trigger,
    definition,
    fingerprint,
    unit_of_threshold,
)

#: Approximate number of round thresholds of a score, and largest number in all: a byte numbers them.
ROUND_STEPS, MAX_STEPS = 150, 255
#: A positive range that spans more than this factor has steps in proportion to the threshold.
_WIDE = 1000.0
#: Narrower ranges are not divided.
_SMALLEST = 1e-200


@dataclass(frozen=True)
class Column:
    """A score of a page.

    observable: that the threshold is on, in the language of the menus; None for the score of a special kind.
    name: the observable, or the first trigger. unit: of the thresholds. stored: the column of the score
    table. integral: whether all scores are integers. written: the highest threshold in a menu. steps:
    float64[k], the possible thresholds, ascending.
    """

    observable: str | None
    name: str
    unit: str
    stored: int
    integral: bool
    written: float
    steps: FloatArray

    def step(self, threshold: float) -> int:
        """Return the number of a threshold that is one of the steps."""
        return int(np.searchsorted(self.steps, threshold))

    def within(self, limits: ThresholdRange) -> tuple[int, int]:
        """Return the first and the last step in a range."""
        first, end = (
            np.searchsorted(self.steps, limits.low),
            np.searchsorted(self.steps, limits.high, "right"),
        )
        return int(first), int(end) - 1


@dataclass(frozen=True)
class Columns:
    """The scores and decisions of the triggers of menus.

    scores: the scores. bits: the fixed decisions, each with its bit of the score table, −1 for one that
    rejects all events. of: for each menu, by trigger, the number of its score or bit, and the range of
    thresholds of a score.
    """

    scores: tuple[Column, ...]
    bits: tuple[tuple[str, int], ...]
    of: tuple[Mapping[str, tuple[int, ThresholdRange | None]], ...]


def columns_of(
    scores: Scores, menus: Sequence[Menu], threshold_ranges: Mapping[str, ThresholdRange]
) -> Columns:
    """Return the scores and decisions of menus that a score table was made for.

    threshold_ranges: the range of thresholds of each trigger; one that the menu is written with is added to
    it.
    """
    used: dict[int, list[tuple[Menu, Trigger, ThresholdRange]]] = {}
    bits: dict[tuple[str, int], int] = {}
    of: list[dict[str, tuple[int, ThresholdRange | None]]] = []
    for menu in menus:
        of.append({})
        for trigger in menu.triggers:
            if isinstance(trigger.description, BitKind):
                continue
            name, stored = trigger.name, _stored(scores, menu, trigger)
            if stored and isinstance(trigger.description, ScoreKind):
                threshold = trigger.description.threshold
                low, high = threshold_ranges.get(name, (threshold, threshold))
                limits = ThresholdRange(min(low, threshold), max(high, threshold))
                used.setdefault(stored.column, []).append((menu, trigger, limits))
                of[-1][name] = stored.column, limits
            else:
                bit = (stored.names[0], stored.bit) if stored else (name, -1)
                of[-1][name] = bits.setdefault(bit, len(bits)), None
    number = {column: n for n, column in enumerate(sorted(used))}
    return Columns(
        tuple(_column(scores, column, used[column]) for column in number),
        tuple(bits),
        tuple(
            {name: (number[n] if limits else n, limits) for name, (n, limits) in triggers.items()}
            for triggers in of
        ),
    )


def _stored(scores: Scores, menu: Menu, trigger: Trigger) -> Stored | None:
    """Return the position of a trigger in the table; None if it accepts no event, because it is disabled and
    its threshold or its decisions are unknown."""
    if (
        not trigger.enabled
        and isinstance(trigger.description, ScoreKind)
        and trigger.description.threshold == math.inf
    ):
        return None
    stored = scores.stored.get(definition(fingerprint(menu.scope), trigger))
    if stored is None and trigger in menu.used:
        raise TrigemuError(f"{trigger.place}: the score table has no trigger {trigger.name!r}: make it again")
    return stored


def _column(scores: Scores, stored: int, of: Sequence[tuple[Menu, Trigger, ThresholdRange]]) -> Column:
    menu, trigger, _ = of[0]
    observable = getattr(trigger.description, "observable", None)
    written = sorted({t.description.threshold for _, t, _ in of if isinstance(t.description, ScoreKind)})
    low, high = min(limits.low for *_, limits in of), max(limits.high for *_, limits in of)
    values = scores.table.scores[:, stored]
    values = values[np.isfinite(values)]
    integral = bool(len(values)) and bool((values == np.rint(values)).all())
    observable = observable if isinstance(observable, str) else None
    name = observable or trigger.name
    try:
        steps = steps_between(low, high, written, integral)
    except ValueError as error:
        raise TrigemuError(f"{trigger.place}: {name}: {error}") from None
    return Column(observable, name, unit_of_threshold(menu, trigger), stored, integral, written[-1], steps)


def steps_between(low: float, high: float, written: Sequence[float], integral: bool) -> FloatArray:
    """Return ascending thresholds from low to high: both ends, the exact thresholds of menus, and round ones;
    for a score of integers, those in steps of 1 from a threshold of a menu.

    ValueError if a page cannot number so many.
    """
    required = np.unique([low, high, *written])
    if integral and high - low <= ROUND_STEPS:
        between = written[0] + np.arange(math.ceil(low - written[0]), math.floor(high - written[0]) + 1)
    elif low > 0 and high > _WIDE * low:
        between = np.array([float(f"{value:.2e}") for value in np.geomspace(low, high, ROUND_STEPS)])
    else:
        between = _multiples(low, high)
    steps = np.unique([*required, *between])
    steps = steps[(steps >= low) & (steps <= high)]
    if len(steps) > MAX_STEPS:
        raise ValueError(f"{len(required)} thresholds of one score: a page supports at most {MAX_STEPS}")
    return steps


def _multiples(low: float, high: float) -> FloatArray:
    """Return the multiples of 1, 2 or 5 times a power of 10 that are between two numbers."""
    if high - low < _SMALLEST:
        return np.zeros(0)
    power = math.floor(math.log10((high - low) / ROUND_STEPS))
    factor = next(f for f in (1, 2, 5, 10) if f * 10.0**power * ROUND_STEPS >= (high - low) * (1 - 1e-9))
    spacing = factor * 10.0**power
    numbers = np.arange(math.ceil(low / spacing), math.floor(high / spacing) + 1)
    return np.array([round(number * spacing, -power) for number in numbers.tolist()])
