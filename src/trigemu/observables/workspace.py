"""A workspace: quantities of one range of events, each computed once, on first use."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, nearest
from trigemu.base.kernels import inlined, kernel
from trigemu.observables.momenta import delta_phi
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, Scaled, Window, Windows, any_of
from trigemu.samples.events import Events, decision_in, event_starts

T = TypeVar("T")

#: Distances in (η, φ) this close to ΔR are computed exactly; rounding is a million times smaller.
_CLOSE_CALL = 1e-9


@dataclass(frozen=True)
class Objects:
    """Selected objects: offsets int64[n + 1] from 0, and rows int64[m] of the sample's collection (None: all
    of them)."""

    offsets: IntArray
    rows: IntArray | None


class Workspace:
    """A cache of the quantities of one range of events; each is computed once.

    Parameters
    ----------
    events : Events
        The n events, also available as attribute.
    """

    def __init__(self, events: Events) -> None:
        self.events = events
        self._values: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a `key`; the first call computes it with `make`, a function without
        arguments."""
        try:
            return cast(T, self._values[key])
        except KeyError:
            value = self._values[key] = make()
            return value

    def has(self, key: Hashable) -> bool:
        """Return whether the value of a `key` has been computed."""
        return key in self._values

    def narrowed(self, key: Hashable, chosen: BoolArray) -> Workspace:
        """Return a workspace of the `chosen` events, bool[n], made once for each `key`, which identifies the
        choice."""
        if chosen.all():
            return self
        return self.once(("narrowed", key), lambda: Workspace(self.events.part(np.flatnonzero(chosen))))

    def objects(self, selection: ObjectSelection) -> Objects:
        """Return the selected objects of a `selection`, as offsets and rows."""
        return self.once(selection, lambda: self._select_objects(selection))

    def column(self, selection: ObjectSelection, name: Column) -> Array:
        """Return the column `name` of the selected objects of a `selection`, aligned with its offsets."""

        def gather() -> Array:
            column, rows = self.base_column(selection.base, name), self.objects(selection).rows
            return column if rows is None else column.take(rows)

        return self.once((selection, name), gather)

    def sums(self, selection: ObjectSelection, values: Array) -> FloatArray:
        """Return the sum of `values`, one of each object of a `selection`, in each event, float64[n]."""
        offsets = self.objects(selection).offsets
        sums = np.empty(len(offsets) - 1)
        _sum(offsets, values.astype(np.float64, copy=False), sums)
        return sums

    def rows(self, selection: ObjectSelection) -> IntArray:
        """Return the position int64[m] of each object of a `selection` in the sample's collection."""
        rows = self.objects(selection).rows
        if rows is not None:
            return rows
        count = int(self.objects(selection).offsets[-1])
        return self.once(("rows", selection), lambda: np.arange(count))

    def scalar(self, name: str) -> Array:
        """Return the column `name`, with one value per event; raise SampleError if the sample lacks it.

        n_NAME is the number of objects of a collection. Events that do not come from a sample have stored
        decisions under their own names.
        """
        scalars, counted = self.events.scalars, self.events.collections.get(name.removeprefix("n_"))
        if name in scalars:
            return scalars[name]
        if counted is not None and name.startswith("n_"):
            return np.diff(counted.offsets)
        try:
            return scalars[decision_in(("", name)) or name]
        except KeyError:
            raise self._missing(f"{name!r}", nearest(name, self.events.scalars)) from None

    def passing(self, selection: ObjectSelection, windows: Windows) -> BoolArray:
        """Return whether each object of a `selection` is within all `windows`, bool[m]."""
        return self.once((selection, windows), lambda: self._passing(selection, windows))

    def within(self, selection: ObjectSelection, windows: Windows) -> Objects:
        """Return the objects of a `selection` that are within all `windows`: their offsets, and their
        positions among its objects (None: all of them)."""
        offsets = self.objects(selection).offsets
        if not windows:
            return Objects(offsets, None)
        chosen = self.passing(selection, windows)
        return self.once(("within", selection, windows), lambda: Objects(*_select(offsets, chosen)))

    def _base(self, name: str) -> tuple[IntArray, slice]:
        try:
            offsets = self.events.collections[name].offsets
        except KeyError:
            hint = nearest(name, self.events.collections)
            raise self._missing(f"collection {name!r}", hint) from None
        return offsets, slice(offsets[0], offsets[-1])

    def _missing(self, what: str, hint: str) -> SampleError:
        reason = "; only columns that a kind requests from its context are read"
        return SampleError(f"sample {self.events.sample!r} has no {what}{hint}{reason}")

    def base_column(self, base: str, name: Column) -> Array:
        """Return the column `name` of the sample's collection `base` for these events; raise SampleError if
        the sample lacks it."""
        if isinstance(name, Scaled):
            return self.once((base, name), lambda: self._scaled(base, name))
        _, rows = self._base(base)
        columns = self.events.collections[base].columns
        if name not in columns:
            raise self._missing(f"column {base}.{name}", nearest(name, columns))
        return columns[name][rows]

    def _scaled(self, base: str, scaled: Scaled) -> Array:
        pt = self.base_column(base, "pt")
        values = np.zeros_like(pt)
        for slope, offset, windows in scaled.pieces:
            inside = self.passing(ObjectSelection(base), windows)
            term = np.multiply(pt, slope, dtype=pt.dtype) + pt.dtype.type(offset)
            values = np.where(inside, values + term, values)
        return values

    def _select_objects(self, selection: ObjectSelection) -> Objects:
        if selection.source:
            start = selection.source
        elif selection.windows or selection.any_of or selection.overlap:
            start = ObjectSelection(selection.base)
        else:
            offsets, rows = self._base(selection.base)
            return Objects(offsets - rows.start if rows.start else offsets, None)
        before = self.objects(start)
        passing = self.passing(start, selection.windows)
        if selection.any_of:
            passing = passing & np.any([self.passing(start, windows) for windows in selection.any_of], axis=0)
        offsets, rows_ = _select(before.offsets, passing)
        if selection.overlap:
            other, dr = selection.overlap
            eta, phi = self.column(start, "eta"), self.column(start, "phi")
            clear = np.empty(len(eta if rows_ is None else rows_), np.bool_)
            _clear(
                event_starts(offsets),
                eta if rows_ is None else eta[rows_],
                phi if rows_ is None else phi[rows_],
                self.objects(other).offsets,
                self.column(other, "eta"),
                self.column(other, "phi"),
                dr,
                clear,
            )
            offsets, selected = _select(offsets, clear)
            rows_ = rows_ if selected is None else selected if rows_ is None else rows_[selected]
        if rows_ is None:
            return before
        return Objects(offsets, rows_ if before.rows is None else before.rows[rows_])

    def _passing(self, selection: ObjectSelection, windows: Windows) -> BoolArray:
        passing = np.ones(self.objects(selection).offsets[-1], np.bool_)
        for name, window in windows:
            column, alternatives = self.column(selection, name), any_of(window)
            if len(alternatives) == 1:
                self._narrow(passing, selection.base, name, column, alternatives[0])
                continue
            in_any = np.zeros_like(passing)
            for alternative in alternatives:
                within = np.ones_like(passing)
                self._narrow(within, selection.base, name, column, alternative)
                in_any |= within
            passing &= in_any
        return passing

    def _narrow(self, passing: BoolArray, base: str, name: Column, column: Array, window: Window) -> None:
        """Unset `passing` for objects outside a window on a column."""
        low, high = window.span()
        if low > high:  # φ wraps around
            passing &= (column >= np.float64(low)) | (column <= np.float64(high))
        elif low > -math.inf or high < math.inf:
            _within(column, low, high, False, passing)
        low, high = window.abs_span()
        if low > -math.inf or high < math.inf:
            _within(column, low, high, True, passing)
        if window.any_of is not None:
            kind = np.uint64 if column.dtype.kind == "u" else np.int64  # int64 == uint64 compares as float64
            is_any = np.zeros_like(passing)
            for value in window.any_of:
                if kind is np.int64 or value >= 0:
                    is_any |= np.equal(column, kind(value))
            passing &= is_any
        if window.bits is not None:
            if not np.issubdtype(column.dtype, np.integer):
                where = f"sample {self.events.sample!r}: {base}.{name}"
                raise SampleError(f"{where} has no bits: its values are not integers")
            passing &= np.equal(column.astype(np.int64, copy=False) & window.bits, window.bits)


@kernel
def _within(column: Array, low: float, high: float, absolute: bool, passing: BoolArray) -> None:
    for i in range(len(column)):
        value = np.float64(column[i])
        passing[i] &= low <= (abs(value) if absolute else value) <= high


def _select(offsets: IntArray, passing: BoolArray) -> tuple[IntArray, IntArray | None]:
    """Return offsets int64[n + 1] of the passing rows, and these rows, int64[m] (None: all of them)."""
    if passing.all():
        return offsets, None
    before: Array = np.empty(len(passing) + 1, np.int32 if len(passing) < 2**31 else np.int64)
    rows, new_offsets = np.empty(len(passing) + 1, np.int64), np.empty_like(offsets)
    count = _number_passing(passing, offsets, before, rows, new_offsets)
    return new_offsets, rows[:count].copy()


@kernel
def _number_passing(
    passing: BoolArray, offsets: IntArray, before: Array, rows: IntArray, new_offsets: IntArray
) -> int:
    """Select without a loop over the objects of each event, whose end is an unpredictable branch."""
    count = 0
    for i in range(len(passing)):
        before[i] = count
        rows[count] = i
        count += passing[i]
    before[len(passing)] = count
    for event in range(len(offsets)):
        new_offsets[event] = before[np.uint64(offsets[event])]
    return count


@kernel
def _sum(offsets: IntArray, values: FloatArray, sums: FloatArray) -> None:
    """Set the sum of the values of each event; np.bincount would hold the GIL."""
    for event in range(len(sums)):
        total = 0.0
        for i in range(offsets[event], offsets[event + 1]):
            total += values[i]
        sums[event] = total


@kernel
def _clear(
    starts: IntArray,
    eta: Array,
    phi: Array,
    near: IntArray,
    near_eta: Array,
    near_phi: Array,
    dr: float,
    clear: BoolArray,
) -> None:
    """Set whether each object has no object of the other collection within ΔR, bool[m]."""
    event = 0
    for i in range(len(eta)):
        event = max(event, starts[i])
        is_close = False
        for j in range(near[event], near[event + 1]):
            d_eta = np.float64(eta[i]) - np.float64(near_eta[j])
            is_close |= within_dr(d_eta, np.float64(phi[i]), np.float64(near_phi[j]), dr)
        clear[i] = not is_close


@inlined
def within_dr(d_eta: float, phi1: float, phi2: float, dr: float) -> bool:
    """Whether hypot(Δη, Δφ) < ΔR; computed exactly only if the squares are too close to decide."""
    d_phi = abs(phi1 - phi2)
    nearer = min(d_phi, 2 * math.pi - d_phi)
    square = d_eta * d_eta + nearer * nearer
    low, high = dr - _CLOSE_CALL, dr + _CLOSE_CALL
    within = square < low * abs(low)
    if (square < high * high and not within) or d_phi > 2 * math.pi:
        return math.hypot(d_eta, delta_phi(phi1, phi2)) < dr
    return within
