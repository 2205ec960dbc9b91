"""A workspace: quantities of one range of events, each computed once, on first use."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, nearest
from trigemu.base.kernels import inlined, kernel
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, Scaled, Window, Windows, any_of
from trigemu.samples.events import Events, decision_in, event_starts

P = ParamSpec("P")
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


def _once(method: Callable[Concatenate[Workspace, P], T]) -> Callable[Concatenate[Workspace, P], T]:
    """Let a method of a workspace compute each value once."""

    @wraps(method)
    def value_of(self: Workspace, /, *key: P.args, **_: P.kwargs) -> T:
        return self.once((method, *key), method, self, *key)

    return value_of


class Workspace:
    """The quantities of one range of events; each is computed once.

    Parameters
    ----------
    events : Events
        The n events, also available as attribute.
    """

    def __init__(self, events: Events) -> None:
        self.events = events
        self._values: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[..., T], *arguments: Any) -> T:
        """Return the value of a `key`; the first call computes it: `make` of the `arguments`."""
        try:
            return cast(T, self._values[key])
        except KeyError:
            value = self._values[key] = make(*arguments)
            return value

    def has(self, key: Hashable) -> bool:
        """Return whether the value of a `key` has been computed."""
        return key in self._values

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
        if name in scalars:
            return scalars[name]
        if counted is not None and name.startswith("n_"):
            return np.diff(counted.offsets)
        try:
            return scalars[decision_in(("", name)) or name]
        except KeyError:
            raise self._missing(f"{name!r}", nearest(name, self.events.scalars)) from None

    @_once
    def base_column(self, base: str, name: Column) -> Array:
        """Return the column `name` of the sample's collection `base` for these events; raise SampleError if
        the sample lacks it."""
        if isinstance(name, Scaled):
            pt = self.base_column(base, "pt")
            values = np.zeros_like(pt)
            for slope, offset, windows in name.pieces:
                term = np.multiply(pt, slope, dtype=pt.dtype) + pt.dtype.type(offset)
                values = np.where(self.passing(ObjectSelection(base), windows), values + term, values)
            return values
        offsets, columns = self._offsets(base), self.events.collections[base].columns
        if name not in columns:
            raise self._missing(f"column {base}.{name}", nearest(name, columns))
        return columns[name][offsets[0] : offsets[-1]]

    def _offsets(self, base: str) -> IntArray:
        if base not in self.events.collections:
            raise self._missing(f"collection {base!r}", nearest(base, self.events.collections))
        return self.events.collections[base].offsets

    def _missing(self, what: str, hint: str) -> SampleError:
        reason = "; only columns that a kind requests from its context are read"
        return SampleError(f"sample {self.events.sample!r} has no {what}{hint}{reason}")

    @_once
    def objects(self, selection: ObjectSelection) -> Objects:
        """Return the selected objects of a `selection`, as offsets and rows."""
        start = selection.source or ObjectSelection(selection.base)
        if start == selection:
            offsets = self._offsets(selection.base)
            return Objects(offsets - offsets[0] if offsets[0] else offsets, None)
        before = self.objects(start)
        passing = self.passing(start, selection.windows)
        if selection.any_of:
            passing = passing & np.any([self.passing(start, windows) for windows in selection.any_of], axis=0)
        selected = _select(before.offsets, passing)
        if selection.overlap:
            clear = self._clear(selected, start, *selection.overlap)
            selected = _of(selected, _select(selected.offsets, clear))
        return _of(before, selected)

    def _clear(
        self, selected: Objects, start: ObjectSelection, other: ObjectSelection, dr: float
    ) -> BoolArray:
        """Return whether each of the selected objects of `start` has no `other` object within ΔR."""
        offsets, (eta, phi) = selected.offsets, (self.column(start, name) for name in ("eta", "phi"))
        if selected.rows is not None:
            eta, phi = eta[selected.rows], phi[selected.rows]
        others = self.objects(other).offsets, self.column(other, "eta"), self.column(other, "phi")
        clear = np.empty(len(eta), np.bool_)
        _set_clear(event_starts(offsets), eta, phi, others, dr, clear)
        return clear

    @_once
    def column(self, selection: ObjectSelection, name: Column) -> Array:
        """Return the column `name` of the selected objects of a `selection`, aligned with its offsets."""
        column, rows = self.base_column(selection.base, name), self.objects(selection).rows
        return column if rows is None else column.take(rows)

    @_once
    def rows(self, selection: ObjectSelection) -> IntArray:
        """Return the position int64[m] of each object of a `selection` in the sample's collection."""
        objects = self.objects(selection)
        return np.arange(objects.offsets[-1]) if objects.rows is None else objects.rows

    def sums(self, selection: ObjectSelection, values: Array) -> FloatArray:
        """Return the sum of `values`, one of each object of a `selection`, in each event, float64[n]."""
        offsets = self.objects(selection).offsets
        sums = np.empty(len(offsets) - 1)
        _sum(offsets, values.astype(np.float64, copy=False), sums)
        return sums

    @_once
    def within(self, selection: ObjectSelection, windows: Windows) -> Objects:
        """Return the objects of a `selection` within all `windows`; rows: positions among its objects."""
        offsets = self.objects(selection).offsets
        return _select(offsets, self.passing(selection, windows)) if windows else Objects(offsets, None)

    @_once
    def passing(self, selection: ObjectSelection, windows: Windows) -> BoolArray:
        """Return whether each object of a `selection` is within all `windows`, bool[m]."""
        passing = np.ones(self.objects(selection).offsets[-1], np.bool_)
        for name, window in windows:
            column = self.column(selection, name)
            inside = [self._inside(f"{selection.base}.{name}", column, w) for w in any_of(window)]
            passing &= np.logical_or.reduce(inside) if len(inside) > 1 else inside[0]
        return passing

    def _inside(self, name: str, column: Array, window: Window) -> BoolArray:
        """Return whether each value of a column is within a window, bool[m]."""
        inside, limits = np.ones(len(column), np.bool_), (*window.span(), *window.span("abs_"))
        if limits != (-math.inf, math.inf, -math.inf, math.inf):
            _within(column, *limits, inside)
        if window.any_of is not None:
            is_unsigned = column.dtype.kind == "u"  # int64 == uint64 compares as float64
            values = [value for value in window.any_of if value >= 0 or not is_unsigned]
            inside &= np.isin(column, np.array(values, np.uint64 if is_unsigned else np.int64))
        if window.bits is not None:
            if not np.issubdtype(column.dtype, np.integer):
                raise SampleError(
                    f"sample {self.events.sample!r}: {name} has no bits: its values are not integers"
                )
            inside &= np.equal(column.astype(np.int64, copy=False) & window.bits, window.bits)
        return inside


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


def _select(offsets: IntArray, passing: BoolArray) -> Objects:
    """Return the offsets int64[n + 1] of the passing objects, and their positions among all."""
    if passing.all():
        return Objects(offsets, None)
    before: Array = np.empty(len(passing) + 1, np.int32 if len(passing) < 2**31 else np.int64)
    rows, new_offsets = np.empty(len(passing) + 1, np.int64), np.empty_like(offsets)
    count = _number_passing(passing, offsets, before, rows, new_offsets)
    return Objects(new_offsets, rows[:count].copy())


def _of(before: Objects, selected: Objects) -> Objects:
    """Return the objects that were selected from those selected before, as rows of all."""
    if before.rows is None or selected.rows is None:
        return selected if before.rows is None else Objects(selected.offsets, before.rows)
    return Objects(selected.offsets, before.rows[selected.rows])


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
    if abs(difference) > math.pi:
        difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return math.pi if difference < -OPPOSITE else difference
