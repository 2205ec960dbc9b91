"""Ties between thresholds: equal ones, and values that others exclude."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trigemu.api import Menu, ScoreKind, TrigemuError

from .goal_tables import Span, Tie
from .goals import Goals
from .kernels import MOST
from .limits import Order
from .variable import Variable


def orders_of(variables: Sequence[Variable], goals: Goals) -> tuple[Order, ...]:
    """Return the ties between two variables."""
    number = {n: i for i, v in enumerate(variables) if v.what == "above" for n in v.triggers}
    return tuple(
        Order(number[lower], number[higher], by)
        for lower, higher, by in _pairs(goals)
        if lower in number and higher in number
    )


def _pairs(goals: Goals) -> Iterator[tuple[str, str, float]]:
    """Yield each two triggers of which the second has the higher threshold, and by how much."""
    for tie in goals.ties:
        if tie.at_least is not None:
            for lower, higher in zip(tie.triggers, tie.triggers[1:], strict=False):
                yield lower, higher, tie.at_least


def merge(thresholds: dict[str, Variable], tie: Tie, goals: Goals) -> None:
    """Make one variable of thresholds that are equal: with the values that the steps of all of them allow."""
    own = list(dict.fromkeys(thresholds[name] for name in tie.triggers))
    names = tuple(name for v in own for name in v.triggers)
    low, high = max(v.values[0] for v in own), min(v.values[-1] for v in own)
    values = sorted({value for v in own for value in v.values if low <= value <= high})
    stepped = {n for of in goals.vary if isinstance(of.above, Span) and of.above.step for n in of.triggers}
    for v in own:
        if not stepped.isdisjoint(v.triggers):
            values = [value for value in values if value in v.values]
    if not values:
        spans = ", ".join(f"{v.name} from {v.values[0]:g} to {v.values[-1]:g}" for v in own)
        raise TrigemuError(
            f"{goals.path}: the thresholds of a [[tie]] are equal, but have no common value: {spans}: widen "
            "the ranges, or give them the same step"
        )
    values = values[:: -(-len(values) // MOST)]
    merged = Variable("above", names, tuple(values), own[0].written)
    for name in names:
        thresholds[name] = merged


def without_excluded(menu: Menu, variables: tuple[Variable, ...], goals: Goals) -> tuple[Variable, ...]:
    """Return the variables without the values that the ties exclude: those that no value of another threshold
    fits.

    Raises
    ------
    TrigemuError
        If no value is left.
    """
    of = {name: variable for variable in variables for name in variable.triggers}
    left: dict[Variable | str, tuple[float, ...]] = {variable: variable.values for variable in variables}
    for name in (name for pair in _pairs(goals) for name in pair[:2] if name not in of):
        kind = menu.trigger(name).description
        assert isinstance(kind, ScoreKind)
        left[name] = (kind.threshold,)
    before: object = None
    while left != before:
        before = dict(left)
        for lower, higher, by in _pairs(goals):
            low, high = of.get(lower, lower), of.get(higher, higher)
            above = tuple(value for value in left[high] if value >= left[low][0] + by)
            below = tuple(value for value in left[low] if value <= left[high][-1] - by)
            if not above or not below:
                raise TrigemuError(
                    f"{goals.path}: a [[tie]] cannot be met: {higher} at least {by:g} above {lower}: with "
                    f"the other ties, {lower} is at least {left[low][0]:g}, and {higher} at most "
                    f"{left[high][-1]:g}"
                )
            left[high], left[low] = above, below
    return tuple(replace(variable, values=left[variable]) for variable in variables)
