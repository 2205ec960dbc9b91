"""Everything derived from one range of events, each thing made when first asked for, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from trigemu.errors import SampleError, nearest
from trigemu.events import Array, BoolArray, Events, IntArray
from trigemu.kernels import delta_r, kernel
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
            near = self.objects(other).offsets
            eta, phi = self.column(start, "eta"), self.column(start, "phi")
            near_eta, near_phi = self.column(other, "eta"), self.column(other, "phi")
            passing = _clear(before.offsets, near, eta, phi, near_eta, near_phi, dr, passing)
        if passing.all():
            return before
        offsets, rows_ = _select(before.offsets, passing)
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
def _clear(
    offsets: IntArray,
    near: IntArray,
    eta: Array,
    phi: Array,
    near_eta: Array,
    near_phi: Array,
    dr: float,
    passing: BoolArray,
) -> BoolArray:
    """Of the passing objects, those not within dR of an object of the other collection."""
    clear = passing.copy()
    for event in range(len(offsets) - 1):
        for j in range(near[event], near[event + 1]):
            for i in range(offsets[event], offsets[event + 1]):
                if clear[i] and delta_r(eta[i], phi[i], near_eta[j], near_phi[j]) < dr:
                    clear[i] = False
    return clear


def _select(offsets: IntArray, passing: BoolArray) -> tuple[IntArray, IntArray]:
    """The passing rows, int64[m], and where those of each event start among them, int64[n + 1]."""
    before = np.zeros(len(passing) + 1, np.int64)
    np.cumsum(passing, out=before[1:])
    return before[offsets], np.flatnonzero(passing)
