"""The values that goals allow of thresholds, prescales and switches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trigemu.api import IntArray, Menu, ScoreKind, TrigemuError

from .goal_tables import Span, Vary
from .goals import Goals
from .ties import merge, without_excluded
from .variable import Variable

#: How many values a threshold has at most if the goals give no step.
FREE_VALUES = 120


def variables_of(
    menu: Menu, goals: Goals, ranges: Mapping[str, tuple[float, float]], written: Menu
) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """Return the variables, and those that have a single allowed value, which they take.

    Parameters
    ----------
    menu : Menu
        The menu with its budgets solved, and all triggers on that may be.
    goals : Goals
        The goals.
    ranges : mapping of str to (float, float)
        The range of the threshold of each trigger that is free.
    written : Menu
        The menu as written, in which triggers may be off.

    Raises
    ------
    TrigemuError
        If nothing varies, or the ties contradict each other.
    """
    thresholds: dict[str, Variable] = {}
    others: list[Variable] = []
    for vary in goals.vary:
        for name in vary.triggers:
            if vary.above is not None:
                thresholds[name] = _threshold(menu, name, vary.above, ranges)
            others += _others(menu, name, vary, written.trigger(name).enabled)
    for tie in goals.ties:
        if tie.at_least is None:
            merge(thresholds, tie, goals)
    merged = tuple(dict.fromkeys(thresholds.values()))
    merged = without_excluded(menu, merged, goals)
    every = (*merged, *others)
    varied = tuple(variable for variable in every if len(variable.values) > 1)
    if not varied:
        values = ", ".join(f"{variable.name} {variable.values[0]:g}" for variable in every)
        raise TrigemuError(
            f"{goals.path}: nothing varies: each has a single allowed value ({values}): write these into the "
            "menu, or allow more values"
        )
    return varied, tuple(variable for variable in every if len(variable.values) == 1)


def nearest_values(variables: Sequence[Variable]) -> IntArray:
    """Return the indices of the values nearest to those of the menu, int64[variables]."""
    nearest = [int(np.abs(np.array(v.values) - v.written).argmin()) for v in variables]
    return np.array(nearest, np.int64)


def _threshold(
    menu: Menu, name: str, above: Span | str, ranges: Mapping[str, tuple[float, float]]
) -> Variable:
    kind = menu.trigger(name).description
    assert isinstance(kind, ScoreKind)
    low, high = (above.min, above.max) if isinstance(above, Span) else ranges[name]
    given = above.step if isinstance(above, Span) else None
    step = given or round_step(high - low)
    values = {low, high} if step <= 0 else set(_steps(low, high, step, isinstance(above, Span)))
    if not given and low <= kind.threshold <= high:
        values = {v for v in values if not math.isclose(v, kind.threshold, abs_tol=1e-9 * step)}
        values.add(kind.threshold)
    return Variable("above", (name,), tuple(sorted(values)), kind.threshold)


def _steps(low: float, high: float, step: float, from_low: bool) -> Iterator[float]:
    """Yield the values of a range: from its low end, or the multiples of the step within it."""
    digits = max(12 - math.floor(math.log10(step)), 0)
    first = low if from_low else math.ceil(low / step - 1e-9) * step
    number = math.floor((high - first) / step + 1e-9) + 1
    for i in range(number):
        yield min(round(first + i * step, digits), high)


def round_step(width: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, of which at most `FREE_VALUES` fit into a width."""
    if width <= 0:
        return 0.0
    least = width / (FREE_VALUES - 2)
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least)


def _others(menu: Menu, name: str, vary: Vary, enabled: bool) -> Iterator[Variable]:
    prescale = menu.trigger(name).prescale
    if vary.prescale:
        yield Variable("prescale", (name,), tuple(sorted({*vary.prescale})), prescale)
    if vary.switch:
        yield Variable("enabled", (name,), (1.0, 0.0), float(enabled))
