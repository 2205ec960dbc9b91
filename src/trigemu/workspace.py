"""Everything derived from one range of events, each thing made when first asked for, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from trigemu.errors import SampleError, nearest
from trigemu.events import Array, BoolArray, Events, IntArray
from trigemu.kernels import delta_phi, kernel
from trigemu.objects import Derivation, Window

T = TypeVar("T")


@dataclass(frozen=True)
class Objects:
    """A working collection: offsets int64[n + 1] from 0, rows int64[m] of the base's columns (None:
    all of them)."""

    offsets: IntArray
    rows: IntArray | None


class Workspace:
    """Everything derived from one range of events, each thing made once."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned when this key was first asked for."""
        try:
            return cast(T, self._made[key])
        except KeyError:
            value = self._made[key] = make()
            return value

    def narrowed(self, key: Hashable, chosen: BoolArray) -> Workspace:
        """A workspace of the chosen events alone, bool[n]: what is made there costs the others nothing.
        `key` stands for the choice."""
        if chosen.all():
            return self
        return self.once(("narrowed", key), lambda: Workspace(self.events.take(np.flatnonzero(chosen))))

    def objects(self, derivation: Derivation) -> Objects:
        return self.once(derivation, lambda: self._derive(derivation))

    def column(self, derivation: Derivation, name: str) -> Array:
        """A column of a working collection, aligned with its offsets."""
        return self.once((derivation, name), lambda: self._gather(derivation, name))

    def rows(self, derivation: Derivation) -> IntArray:
        """int64[m]: where each object stands among those of the sample's collection."""
        rows = self.objects(derivation).rows
        if rows is not None:
            return rows
        count = int(self.objects(derivation).offsets[-1])
        return self.once(("rows", derivation), lambda: np.arange(count))

    def scalar(self, name: str) -> Array:
        """A column with one value an event."""
        try:
            return self.events.scalars[name]
        except KeyError:
            raise self._missing(f"{name!r}", nearest(name, self.events.scalars)) from None

    def passing(self, derivation: Derivation, windows: tuple[tuple[str, Window], ...]) -> BoolArray:
        """bool[m]: which objects lie in all windows."""
        return self.once((derivation, windows), lambda: self._passing(derivation, windows))

    def _base(self, name: str) -> tuple[IntArray, slice]:
        try:
            offsets = self.events.collections[name].offsets
        except KeyError:
            hint = nearest(name, self.events.collections)
            raise self._missing(f"collection {name!r}", hint) from None
        return offsets, slice(offsets[0], offsets[-1])

    def _missing(self, what: str, hint: str) -> SampleError:
        reason = "; only columns that a kind asks its context for are read"
        return SampleError(f"sample {self.events.sample!r} has no {what}{hint}{reason}")

    def base_column(self, base: str, name: str) -> Array:
        """A column of the sample's own collection, from the first object of these events on."""
        _, rows = self._base(base)
        columns = self.events.collections[base].columns
        if name not in columns:
            raise self._missing(f"column {base}.{name}", nearest(name, columns))
        return columns[name][rows]

    def _gather(self, derivation: Derivation, name: str) -> Array:
        column = self.base_column(derivation.base, name)
        selected = self.objects(derivation).rows
        return column if selected is None else column[selected]

    def _derive(self, derivation: Derivation) -> Objects:
        if derivation.source:
            start = derivation.source
        elif derivation.windows or derivation.overlap:
            start = Derivation(derivation.base)
        else:
            offsets, rows = self._base(derivation.base)
            return Objects(offsets - rows.start if rows.start else offsets, None)
        before = self.objects(start)
        passing = self.passing(start, derivation.windows)
        if derivation.overlap:
            other, dr = derivation.overlap
            offsets, rows_ = _select_clear(
                before.offsets,
                passing,
                self.column(start, "eta"),
                self.column(start, "phi"),
                self.objects(other).offsets,
                self.column(other, "eta"),
                self.column(other, "phi"),
                dr,
            )
        elif passing.all():
            return before
        else:
            offsets, rows_ = _select(before.offsets, passing)
        if len(rows_) == len(passing):
            return before
        return Objects(offsets, rows_ if before.rows is None else before.rows[rows_])

    def _passing(self, derivation: Derivation, windows: tuple[tuple[str, Window], ...]) -> BoolArray:
        passing = np.ones(self.objects(derivation).offsets[-1], np.bool_)
        for name, window in windows:
            column = self.column(derivation, name)
            low = -math.inf if window.min is None else window.min
            high = math.inf if window.max is None else window.max
            if low > high:  # φ wraps around
                passing &= (column >= np.float64(low)) | (column <= np.float64(high))
            elif window.min is not None or window.max is not None:
                _within(column, low, high, False, passing)
            if window.abs_min is not None or window.abs_max is not None:
                high = math.inf if window.abs_max is None else window.abs_max
                _within(column, window.abs_min or 0.0, high, True, passing)
            if window.any_of is not None:
                passing &= np.isin(column, window.any_of)
        return passing


@kernel
def _within(column: Array, low: float, high: float, absolute: bool, passing: BoolArray) -> None:
    if absolute:
        for i in range(len(column)):
            passing[i] &= low <= abs(np.float64(column[i])) <= high
    else:
        for i in range(len(column)):
            passing[i] &= low <= np.float64(column[i]) <= high


@kernel
def _select(offsets: IntArray, passing: BoolArray) -> tuple[IntArray, IntArray]:
    """Where the passing rows of each event start among them, int64[n + 1], and which they are, int64[m]."""
    kept = np.empty(len(offsets), np.int64)
    rows = np.empty(len(passing), np.int64)
    count = 0
    kept[0] = 0
    for event in range(len(offsets) - 1):
        for i in range(offsets[event], offsets[event + 1]):
            rows[count] = i
            count += passing[i]
        kept[event + 1] = count
    return kept, rows[:count].copy()


@kernel
def _select_clear(
    offsets: IntArray,
    passing: BoolArray,
    eta: Array,
    phi: Array,
    near: IntArray,
    near_eta: Array,
    near_phi: Array,
    dr: float,
) -> tuple[IntArray, IntArray]:
    """The same of those that are not within dR of an object of the other collection."""
    kept = np.empty(len(offsets), np.int64)
    rows = np.empty(len(passing), np.int64)
    count = 0
    kept[0] = 0
    for event in range(len(offsets) - 1):
        first, last = near[event], near[event + 1]
        for i in range(offsets[event], offsets[event + 1]):
            clear = passing[i]
            for j in range(first, last):
                d_eta = np.float64(eta[i]) - np.float64(near_eta[j])
                # Most are far apart in η alone, and hypot is never smaller than that.
                if abs(d_eta) < dr and clear:
                    d_phi = delta_phi(np.float64(phi[i]), np.float64(near_phi[j]))
                    clear = not math.hypot(d_eta, d_phi) < dr
            rows[count] = i
            count += clear
        kept[event + 1] = count
    return kept, rows[:count].copy()
