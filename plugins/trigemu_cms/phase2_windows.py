"""Windows on quantities of legs: alternatives, their intersections, limits as NumPy compares them, and cuts
by range in |η|."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from trigemu.base.errors import TrigemuError
from trigemu.observables.selections import Window

#: The largest number of alternatives that an expression may become.
MAX_ALTERNATIVES = 64
#: The largest number of pairs of alternatives that are joined: a tenth of a second.
MAX_JOINED = 16_384
#: The column of the primary vertex, which has no name in the tools.
Z0 = "z0"


@dataclass(frozen=True)
class OfLeg:
    """A column of the objects of a leg."""

    leg: int
    column: str


@dataclass(frozen=True)
class OfPair:
    """A quantity of two legs, the smaller number first: dr, deta, dphi, dz0, mass or charge (the product).
    columns: those of dz0 or of charge, if they are not `z0` or `charge` of both."""

    legs: tuple[int, int]
    quantity: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class OfSum:
    """The sum of a column over legs, in ascending order."""

    legs: tuple[int, ...]
    column: str


Quantity = OfLeg | OfPair | OfSum
#: A set of windows, all of which must hold.
Conjunction = Mapping[Quantity, Window]
#: Conjunctions, one of which must hold.
Alternatives = tuple[Conjunction, ...]


def both(first: Alternatives, second: Alternatives) -> Alternatives:
    """Return the alternatives in which both hold, without contradictory ones."""
    if len(first) * len(second) > MAX_JOINED:
        raise TrigemuError(f"expands to {len(first)} times {len(second)} alternatives")
    alternatives: list[Conjunction] = []
    for left in first:
        for right in second:
            joined = dict(left)
            for quantity, window in right.items():
                joined[quantity] = joint(joined[quantity], window) if quantity in joined else window
            if all(map(possible, joined.values())):
                alternatives.append(joined)
    if len(alternatives) > MAX_ALTERNATIVES:
        raise TrigemuError(f"expands to more than {MAX_ALTERNATIVES} alternatives")
    return tuple(alternatives)


def joint(first: Window, second: Window) -> Window:
    """Return the intersection of two windows."""
    limits: dict[str, Any] = {}
    for name in msgspec.structs.asdict(first):
        values = [v for v in (getattr(first, name), getattr(second, name)) if v is not None]
        if not values:
            continue
        if name == "any_of":
            limits[name] = tuple(sorted(set.intersection(*map(set, values))))
        elif name == "bits":
            limits[name] = values[0] | values[-1]
        else:
            limits[name] = max(values) if name.endswith(("min", "above")) else min(values)
    return msgspec.convert(limits, Window)


def possible(window: Window) -> bool:
    """Whether any value can lie in a window."""
    low, high = window.span()
    abs_low, abs_high = window.span("abs_")
    return low <= high and abs_low <= abs_high and abs_high >= 0 and window.any_of != ()


def written(window: Window) -> dict[str, float | int | list[int]]:
    """Return the limits of a window on a float32 column for a menu. NumPy rounds a limit to float32 before
    the comparison; each limit becomes the shortest number with the same result without rounding."""
    limits: dict[str, float | int | list[int]] = {}
    for name, limit in msgspec.structs.asdict(window).items():
        if name == "any_of" and limit is not None:
            limits[name] = list(limit)
        elif limit is not None:
            limits[name] = limit if name == "bits" else _as_float32(name, limit)
    for absolute in ("", "abs_"):  # one lower and one upper limit
        for closed, open_, tighter in (("min", "above", operator.gt), ("max", "below", operator.lt)):
            closed_limit, open_limit = (getattr(window, absolute + name) for name in (closed, open_))
            if closed_limit is not None and open_limit is not None:
                limits.pop(absolute + (open_ if tighter(closed_limit, open_limit) else closed))
    return limits


def _as_float32(name: str, limit: float) -> float:
    rounded = np.float32(limit)
    beyond = np.nextafter(rounded, np.float32(-math.inf if name.endswith(("min", "below")) else math.inf))
    low, high = sorted((float(rounded), math.nextafter(float(beyond), float(rounded))))
    shorter = (float(f"{(low + high) / 2:.{digits}e}") for digits in range(17))
    return next((number for number in (limit, *shorter) if low <= number <= high), float(rounded))


ETA = OfLeg(0, "eta")


def by_regions(cuts: Mapping[str, Alternatives], ranges: Mapping[str, tuple[float, float]]) -> Alternatives:
    """Return the alternatives that pass the cuts of all ranges, by rising |η|."""
    passing: Alternatives = ({},)
    for name, (low, high) in ranges.items():
        within: Alternatives = ({ETA: Window(abs_above=low, abs_below=high)},)
        inside = both(within, cuts[name])
        if inside != within:
            outside: Alternatives = ({ETA: Window(abs_max=low)}, {ETA: Window(abs_min=high)})
            passing = both(passing, (*outside, *inside))
    return tuple(sorted(passing, key=lambda windows: windows.get(ETA, Window()).span("abs_")))
