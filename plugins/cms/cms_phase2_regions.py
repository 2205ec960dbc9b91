"""Conversion of cuts by range in |η| into alternatives of windows.

A range does not include its own ends: its cuts apply neither there nor outside. Each edge of a range is
therefore a region of its own, and so is the interval between two edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from trigemu.api import Window

from .cms_phase2_windows import Alternatives, Conjunction, OfLeg, both, joint

ETA = OfLeg(0, "eta")


@dataclass(frozen=True)
class _Part:
    """Cuts for low ≤ |η| ≤ high. An open end is not part of the interval. A free end may be open or closed,
    since another part covers it."""

    low: float
    high: float
    cuts: Conjunction
    open: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()

    def has(self, eta: float) -> bool:
        inside = self.low < eta < self.high
        ends = {end for end in ("low", "high") if getattr(self, end) == eta}
        return inside or bool(ends - self.open)

    def window(self) -> Window:
        """Return the window on η. A free end becomes closed or open such that rounding to float32 does not
        change the result."""
        limits: dict[str, float] = {}
        if self.low > 0 or (not self.has(0.0) and "low" not in self.free):
            rounded_down = float(np.float32(self.low)) < self.low
            open_ = rounded_down if "low" in self.free else "low" in self.open
            limits["abs_above" if open_ else "abs_min"] = self.low
        if self.high < math.inf:
            rounded_down = float(np.float32(self.high)) < self.high
            open_ = not rounded_down if "high" in self.free else "high" in self.open
            limits["abs_below" if open_ else "abs_max"] = self.high
        return msgspec.convert(limits, Window)


def by_regions(cuts: Mapping[str, Alternatives], ranges: Mapping[str, tuple[float, float]]) -> Alternatives:
    """Return the alternatives that pass the cuts of all ranges."""
    parts: list[_Part] = []
    for region in _regions({0.0, *(edge for limits in ranges.values() for edge in limits)}):
        passing: Alternatives = ({},)
        for name, (low, high) in ranges.items():
            point = region.low == region.high
            if low < region.low < high if point else low <= region.low < high:
                passing = both(passing, cuts[name])
        for conjunction in passing:
            if both((conjunction,), _limits(region)):
                _add(parts, replace(region, cuts=_needed(conjunction, region)))
    parts = [_freed(part, parts) for part in parts]
    return tuple(alternative for part in parts for alternative in both((part.cuts,), _limits(part)))


def _needed(cuts: Conjunction, region: _Part) -> Conjunction:
    """Return the cuts, without the window on η if it contains the entire region."""
    eta, of_region = cuts.get(ETA, Window()), region.window()
    inside = joint(eta, of_region)
    if inside.span() == of_region.span() and inside.abs_span() == of_region.abs_span() and eta.any_of is None:
        return {quantity: window for quantity, window in cuts.items() if quantity != ETA}
    return cuts


def _limits(part: _Part) -> Alternatives:
    window = part.window()
    return ({ETA: window} if window != Window() else {},)


def _regions(edges: set[float]) -> Iterator[_Part]:
    """Yield the edges and the intervals between and above them, by ascending |η|."""
    ordered = sorted(edges - {math.inf})
    for low, high in zip(ordered, [*ordered[1:], math.inf], strict=True):
        yield _Part(low, low, {})
        yield _Part(low, high, {}, frozenset(("low", "high")))


def _add(parts: list[_Part], part: _Part) -> None:
    """Add a part, joined to the neighbour below if the cuts are the same."""
    for i, below in enumerate(parts):
        touches = below.high == part.low and ("high" not in below.open or "low" not in part.open)
        if touches and below.cuts == part.cuts:
            ends = (below.open & {"low"}) | (part.open & {"high"})
            parts[i] = replace(below, high=part.high, open=ends)
            return
    parts.append(part)


def _freed(part: _Part, parts: list[_Part]) -> _Part:
    """Return the part with open ends made free if another part contains them without further cuts."""
    free = {
        end
        for end in part.open
        if any(
            part_.has(getattr(part, end)) and part_.cuts.items() <= part.cuts.items()
            for part_ in parts
            if part_ is not part
        )
    }
    return replace(part, free=frozenset(free))
