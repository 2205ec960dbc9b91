"""Windows on quantities of legs: alternatives, their intersections, limits as NumPy compares them, and cuts
by range in |η|."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
    if name.endswith(("min", "below")):  # above the preceding number, up to this one
        before = np.nextafter(rounded, np.float32(-math.inf))
        low, high = math.nextafter(float(before), math.inf), float(rounded)
    else:
        after = np.nextafter(rounded, np.float32(math.inf))
        low, high = float(rounded), math.nextafter(float(after), -math.inf)
    for digits in (None, *range(17)):
        candidate = limit if digits is None else float(f"{(low + high) / 2:.{digits}e}")
        if low <= candidate <= high:
            return candidate
    return float(rounded)


ETA = OfLeg(0, "eta")


@dataclass(frozen=True)
class _Part:
    """Cuts for consecutive cells in |η|. Cell 2k is the edge k, cell 2k + 1 is the open interval between the
    edges k and k + 1."""

    first: int
    last: int
    cuts: Conjunction

    def covers(self, cell: int, cuts: Conjunction) -> bool:
        """Whether it has a cell, with none but these cuts."""
        return self.first <= cell <= self.last and self.cuts.items() <= cuts.items()

    def window(self, edges: list[float], free: Collection[int] = ()) -> Window:
        """Return the window on η. free: neighbouring cells that may be in it or not; such an end is chosen so
        that rounding to float32 changes nothing."""
        limits: dict[str, float] = {}
        low, high = edges[self.first // 2], edges[(self.last + 1) // 2]
        if low > 0 or (self.first > 0 and self.first - 1 not in free):
            rounded_down = float(np.float32(low)) < low
            open_ = rounded_down if self.first - 1 in free else self.first % 2 == 1
            limits["abs_above" if open_ else "abs_min"] = low
        if high < math.inf:
            rounded_down = float(np.float32(high)) < high
            open_ = not rounded_down if self.last + 1 in free else self.last % 2 == 1
            limits["abs_below" if open_ else "abs_max"] = high
        return msgspec.convert(limits, Window)


def by_regions(cuts: Mapping[str, Alternatives], ranges: Mapping[str, tuple[float, float]]) -> Alternatives:
    """Return the alternatives that pass the cuts of all ranges."""
    edges = sorted({0.0, math.inf, *(edge for limits in ranges.values() for edge in limits)})
    parts: list[_Part] = []
    for cell in range(2 * len(edges) - 2):
        passing: Alternatives = ({},)
        for name, (low, high) in ranges.items():
            if 2 * edges.index(low) < cell < 2 * edges.index(high):
                passing = both(passing, cuts[name])
        region = _Part(cell, cell, {}).window(edges)
        for conjunction in passing:
            if not both((conjunction,), ({ETA: region},)):
                continue
            needed, eta = dict(conjunction), conjunction.get(ETA, Window())
            inside = joint(eta, region)
            if eta.any_of is None and all(inside.span(p) == region.span(p) for p in ("", "abs_")):
                needed.pop(ETA, None)  # its window contains the entire region
            for number, below in enumerate(parts):
                if below.last in (cell - 1, cell) and below.cuts == needed:
                    parts[number] = replace(below, last=cell)
                    break
            else:
                parts.append(_Part(cell, cell, needed))
    alternatives: list[Conjunction] = []
    for part in parts:
        others = [other for other in parts if other is not part]
        outside = [part.first - 1] * (part.first % 2) + [part.last + 1] * (part.last % 2)
        free = [cell for cell in outside if any(other.covers(cell, part.cuts) for other in others)]
        window = part.window(edges, free)
        alternatives += both((part.cuts,), ({ETA: window} if window != Window() else {},))
    return tuple(alternatives)
