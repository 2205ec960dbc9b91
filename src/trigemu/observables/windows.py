"""Windows on the columns of objects, and columns derived from pT."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import msgspec

from trigemu.base.toml import Key, TomlTable

#: An integer that a column can hold, an int64.
_Integer = Annotated[int, msgspec.Meta(ge=1 - 2**63, le=2**63 - 1)]


class Range(TomlTable, frozen=True):
    """A range of values v: min ≤ v ≤ max, above < v < below; all given limits must hold."""

    min: float | None = None  #: The smallest value.
    max: float | None = None  #: The largest value.
    above: float | None = None  #: An exclusive lower limit.
    below: float | None = None  #: An exclusive upper limit.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if all(getattr(self, name) is None for name in ("min", "max", "above", "below")):
            yield "", "an empty range: give min, max, above or below"
        yield from self.contradictions()

    @property
    def lowest(self) -> float | None:
        """The lower limit; None if there is none."""
        return self.above if self.min is None else self.min

    def contradictions(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield a mistake if no value is within the limits whose names have a prefix."""
        low, high = self.span(prefix)
        if low > high:
            value = partial(getattr, self)
            lows = [prefix + name for name in ("above", "min") if value(prefix + name) is not None]
            highs = [prefix + name for name in ("below", "max") if value(prefix + name) is not None]
            first, last = max(lows, key=value), min(highs, key=value)
            relation = "is above" if value(first) > value(last) else "leaves nothing for"
            yield first, f"{first} = {value(first)} {relation} {last} = {value(last)}"

    def span(self, prefix: str = "") -> tuple[float, float]:
        """Return the smallest and the largest float64 within the limits whose names have a prefix."""
        low, above, high, below = (getattr(self, prefix + name) for name in ("min", "above", "max", "below"))
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        if above is not None:
            low = max(low, math.nextafter(above, math.inf))
        if below is not None:
            high = min(high, math.nextafter(below, -math.inf))
        return low, high


class Window(Range, frozen=True):
    """A window on values v: min ≤ v ≤ max, above < v < below, the same for |v| (`abs_…`), v one of `any_of`,
    all of `bits` set in v; all given conditions must hold.

    For `phi`, a min above the max is a window that wraps around at π."""

    abs_min: float | None = None  #: The smallest absolute value.
    abs_max: float | None = None  #: The largest absolute value.
    abs_above: float | None = None  #: An exclusive lower limit on the absolute value.
    abs_below: float | None = None  #: An exclusive upper limit on the absolute value.
    any_of: tuple[_Integer, ...] | None = None  #: The allowed integers.
    #: An integer whose bits must all be set in the value.
    bits: Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self == Window():
            yield "", "an empty window: give min, max, above, below, the same with abs_, any_of or bits"
        yield from self.contradictions("abs_")


#: Windows on one column, any of which must hold.
AnyOf = tuple[Window, ...]
#: Windows on columns, all of which must hold.
Windows = tuple[tuple["Column", Window | AnyOf], ...]


def any_of(windows: Window | AnyOf) -> AnyOf:
    """Return the windows on a column, one of which must hold."""
    return (windows,) if isinstance(windows, Window) else windows


@dataclass(frozen=True)
class Scaled:
    """A column derived from pT, in the precision of pT: the sum of slope × pT + offset over the pieces whose
    windows hold; 0 if none does."""

    name: str
    pieces: tuple[tuple[float, float, Windows], ...]  # Slope, offset and windows of each


#: A column of a sample, by name, or a derived one.
Column = str | Scaled


def column_needs(base: str, column: Column) -> Iterator[tuple[str, str]]:
    """Yield the (collection, column) pairs of the sample that a column of a collection depends on."""
    yield base, column if isinstance(column, str) else "pt"
    for _, _, windows in () if isinstance(column, str) else column.pieces:
        for inner, _ in windows:
            yield from column_needs(base, inner)


class Windowed(TomlTable, frozen=True):
    """Windows on columns, all of which must hold."""

    further: ClassVar[str | None] = "windows"

    #: The name of a column, such as `pt` or `eta`, and the window that an object must be in; of a list of
    #: windows, one.
    windows: dict[str, Window | AnyOf] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        """Yield mistakes in windows. Only φ wraps around: on other columns, no value passes a min above the
        max."""
        for name, window in self.windows.items():
            if not window:
                yield name, f"{name} = []: expected one window or more"
            for w in any_of(window) if name != "phi" else ():
                yield from ((name, f"{name}: {message}") for _, message in w.contradictions())


class Piece(Windowed, frozen=True, kw_only=True):
    """A term slope × pT + offset, for objects within windows."""

    slope: float  #: The factor on pT.
    offset: float = 0.0  #: The constant term, in the unit of the column.


class Alternative(Windowed, frozen=True):
    """Windows on columns, all of which must hold."""

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not self.windows:
            yield "", "an empty alternative: name a column and its window"
        yield from super().mistakes()
