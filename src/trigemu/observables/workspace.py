"""A workspace: quantities of one range of events, each computed once, on first use."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, nearest
from trigemu.base.kernels import inlined, kernel
from trigemu.observables.selections import Column, ObjectSelection, Scaled, Windows, any_of
from trigemu.samples.events import Events, decision_in, event_starts

T = TypeVar("T")
#: Directions that are opposite up to rounding, such as a single object and the missing momentum that it
#: causes, differ by +π. Otherwise rounding could flip the sign of a network's input.
OPPOSITE = math.pi - 1e-12
#: Distances in (η, φ) this close to ΔR are computed exactly; rounding is a million times smaller.
_CLOSE_CALL = 1e-9


@dataclass(frozen=True)
class Objects:
    """Selected objects: offsets int64[n + 1] from 0, and rows int64[m] of the sample's collection (None: all
    of them)."""

    offsets: IntArray
    rows: IntArray | None


class Workspace:
    """The quantities of one range of events; each is computed once.

    Parameters
    ----------
    events : Events
        The n events, also available as attribute.
    """

    def __init__(self, events: Events) -> None:
        self.events = events
        self.values: dict[Hashable, Any] = {}  #: What has been computed, by its key

    def once(self, key: Hashable, make: Callable[..., T], *arguments: Any) -> T:
        """Return the value of a `key`; the first call computes it: `make` of the `arguments`."""
        value = self.values.get(key)
        if value is None:
            self.values[key] = value = make(*arguments)
        return cast(T, value)

    def narrowed(self, key: Hashable, chosen: BoolArray) -> Workspace:
        """Return a workspace of the `chosen` events, bool[n], made once for each `key` of a choice."""
        if chosen.all():
            return self
        return self.once(("narrowed", key), lambda: Workspace(self.events[np.flatnonzero(chosen)]))

    def scalar(self, name: str) -> Array:
        """Return the column `name`, with one value per event; raise SampleError if the sample lacks it.
        n_NAME is the number of objects of a collection. Events that do not come from a sample have stored
        decisions under their own names."""
        scalars, counted = self.events.scalars, self.events.collections.get(name.removeprefix("n_"))
        if counted is not None and name.startswith("n_") and name not in scalars:
            return np.diff(counted.offsets)
        column = scalars.get(name)
        if column is None and (column := scalars.get(decision_in(("", name)) or name)) is None:
            raise self._missing(f"{name!r}", nearest(name, scalars))
        return column

    def _missing(self, what: str, hint: str) -> SampleError:
        reason = "; only columns that a kind requests from its context are read"
        return SampleError(f"sample {self.events.sample!r} has no {what}{hint}{reason}")

    def objects(self, selection: ObjectSelection) -> Objects:
        """Return the selected objects of a `selection`, as offsets and rows; raise SampleError if the sample
        lacks its collection."""
        if known := self.values.get(selection):
            return cast(Objects, known)
        start, base = selection.source or selection.all_objects, selection.base
        if start == selection:
            if base not in self.events.collections:
                raise self._missing(f"collection {base!r}", nearest(base, self.events.collections))
            offsets = self.events.collections[base].offsets
            objects = Objects(offsets - offsets[0] if offsets[0] else offsets, None)
        else:
            if selection.overlap:  # the last step
                start, (other, dr) = selection.before_overlap, selection.overlap
                eta, phi = (self.column(start, name) for name in ("eta", "phi"))
                others = self.objects(other).offsets, self.column(other, "eta"), self.column(other, "phi")
                passing = np.empty(len(eta), np.bool_)
                _set_clear(event_starts(self.objects(start).offsets), eta, phi, others, dr, passing)
            else:
                passing = self.passing(start, selection.windows)
                if selection.any_of:
                    passing = passing & np.any([self.passing(start, w) for w in selection.any_of], axis=0)
            objects = self.objects(start)
            if not passing.all():
                offsets, rows = _select(passing, objects.offsets)
                objects = Objects(offsets, rows if objects.rows is None else objects.rows[rows])
        self.values[selection] = objects
        return objects

    def column(self, selection: ObjectSelection, name: Column) -> Array:
        """Return the column `name` of the selected objects of a `selection`, aligned with its offsets; raise
        SampleError if the sample lacks it."""
        key = selection, name
        if (known := self.values.get(key)) is not None:
            return cast(Array, known)
        rows, of_all = self.objects(selection).rows, selection.all_objects
        collection = self.events.collections[selection.base]
        if selection != of_all:
            column = self.column(of_all, name)
            column = column if rows is None else column.take(rows)
        elif isinstance(name, Scaled):
            pt = self.column(of_all, "pt")
            column = np.zeros_like(pt)
            for slope, offset, windows in name.pieces:
                term = np.multiply(pt, slope, dtype=pt.dtype) + pt.dtype.type(offset)
                column = np.where(self.passing(of_all, windows), column + term, column)
        elif name in collection.columns:
            column = collection.columns[name][collection.offsets[0] : collection.offsets[-1]]
        else:
            raise self._missing(f"column {selection.base}.{name}", nearest(name, collection.columns))
        self.values[key] = column
        return column

    def rows(self, selection: ObjectSelection) -> IntArray:
        """Return the position int64[m] of each object of a `selection` in the sample's collection."""
        objects = self.objects(selection)
        return np.arange(objects.offsets[-1]) if objects.rows is None else objects.rows

    def passing(self, selection: ObjectSelection, windows: Windows) -> BoolArray:
        """Return whether each object of a `selection` is within all `windows`, bool[m]."""
        key = selection, windows
        if (known := self.values.get(key)) is not None:
            return cast(BoolArray, known)
        passing = np.ones(self.objects(selection).offsets[-1], np.bool_)
        for name, allowed in windows:
            column, any_inside = self.column(selection, name), np.zeros(len(passing), np.bool_)
            for window in any_of(allowed):
                inside, limits = np.ones(len(passing), np.bool_), (*window.span(), *window.span("abs_"))
                if limits != (-math.inf, math.inf, -math.inf, math.inf):
                    _within(column, *limits, inside)
                if window.any_of is not None:
                    is_unsigned = column.dtype.kind == "u"  # int64 == uint64 compares as float64
                    values = [value for value in window.any_of if value >= 0 or not is_unsigned]
                    inside &= np.isin(column, np.array(values, np.uint64 if is_unsigned else np.int64))
                if window.bits is not None:
                    if not np.issubdtype(column.dtype, np.integer):
                        what = f"{selection.base}.{name} has no bits: its values are not integers"
                        raise SampleError(f"sample {self.events.sample!r}: {what}")
                    inside &= np.equal(column.astype(np.int64, copy=False) & window.bits, window.bits)
                any_inside |= inside
            passing &= any_inside
        self.values[key] = passing
        return passing


@kernel
def _within(
    column: Array, low: float, high: float, abs_low: float, abs_high: float, inside: BoolArray
) -> None:
    """Set whether each value is within limits. A low limit above the high one, on φ, wraps around."""
    wraps = low > high
    for i in range(len(column)):
        value = np.float64(column[i])
        above, below = low <= value, value <= high
        inside[i] = (above | below if wraps else above & below) & (abs_low <= abs(value) <= abs_high)


@kernel
def _select(passing: BoolArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets int64[n + 1] of the passing objects, and their positions among all, without a loop
    over the objects of each event, whose end is an unpredictable branch."""
    count, before, rows = 0, np.empty(len(passing) + 1, np.int64), np.empty(len(passing) + 1, np.int64)
    for i in range(len(passing)):
        before[i] = count
        rows[count] = i
        count += passing[i]
    before[len(passing)] = count
    new_offsets = np.empty_like(offsets)
    for event in range(len(offsets)):
        new_offsets[event] = before[np.uint64(offsets[event])]
    return new_offsets, rows[:count].copy()


@kernel
def _set_clear(
    starts: IntArray, eta: Array, phi: Array, others: tuple[Array, ...], dr: float, clear: BoolArray
) -> None:
    """Set whether each object has no object of the others within ΔR. others: their offsets, η and φ."""
    (near, near_eta, near_phi), event = others, 0
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


@kernel
def delta_phi(phi1: float, phi2: float) -> float:
    """Return φ1 − φ2 in (−π, π]."""
    difference = phi1 - phi2
    difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return math.pi if difference < -OPPOSITE else difference
