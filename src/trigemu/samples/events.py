"""Events: columns of objects and weights in Hz, validated once where they are made.

Everything is flat: a collection is one array a column and the offsets at which its events begin, so a
kernel sees arrays and a range of rows, and `events[a:b]` is a view that copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trigemu.support import Array, FloatArray, IntArray, SampleError, kernel

T = TypeVar("T")

#: Weights are rates: nothing that crosses at 40 MHz comes near this, and exact sums rely on it.
MAX_WEIGHT_HZ = 2.0**40


class _Taken(Mapping[str, T]):
    """What `take` makes of the values of a mapping, when first asked for."""

    def __init__(self, values: Mapping[str, T], take: Callable[[T], T]) -> None:
        self._values, self._take, self._taken = values, take, dict[str, T]()

    def __getitem__(self, name: str) -> T:
        if name not in self._taken:
            self._taken[name] = self._take(self._values[name])
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class Collection:
    """The objects of one kind, ragged over events.

    offsets: int64[n + 1], event i owns the rows offsets[i]:offsets[i + 1] of every column.
    columns: float32, float64, int32 or int64 each; `pt`, `eta`, `phi` in GeV and radians, and any
        further one. The objects of one event descend in pT.
    """

    offsets: IntArray
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> Collection:
        start, stop, _ = rows.indices(len(self))
        return Collection(self.offsets[start : stop + 1], self.columns)

    def take(self, rows: IntArray) -> Collection:
        """The objects of some events, in the order given."""
        taken = self.part(rows)
        return replace(taken, columns=dict(taken.columns))

    def part(self, rows: IntArray) -> Collection:
        """The same for a short time: a column is copied when it is first asked for."""
        offsets, objects = objects_of(self.offsets, rows)
        return Collection(offsets, _Taken(self.columns, lambda column: column[objects]))


@dataclass(frozen=True)
class Events:
    """A range of events of one sample.

    sample: its name. weight: float64[n] in Hz. id, parent: uint64[n]; `parent` is shared by events made
    from one generated interaction, and every split of a sample hashes it. collections: by singular
    name (`jet`, `photon`, …). scalars: one number an event (`met`, `met_phi`, …), float or integer.
    core: the rows that count; those outside are neighbouring crossings, visible and never counted.
    """

    sample: str
    weight: FloatArray
    id: npt.NDArray[np.uint64]
    parent: npt.NDArray[np.uint64]
    collections: Mapping[str, Collection] = field(default_factory=dict)
    scalars: Mapping[str, Array] = field(default_factory=dict)
    core: slice = field(default_factory=lambda: slice(None))

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: slice) -> Events:
        """A view of some rows, all of which count."""
        return replace(
            self,
            weight=self.weight[rows],
            id=self.id[rows],
            parent=self.parent[rows],
            collections={name: c[rows] for name, c in self.collections.items()},
            scalars={name: column[rows] for name, column in self.scalars.items()},
            core=slice(None),
        )

    def around(self, start: int, stop: int, margin: int) -> Events:
        """A view of rows start to stop, all of which count, and of so many on either side, where there are
        any."""
        first = max(0, start - margin)
        view = self[first : stop + margin]
        return replace(view, core=slice(start - first, stop - first)) if margin else view

    def take(self, rows: IntArray) -> Events:
        """A copy of some rows, in the order given, all of which count."""
        collections = {name: collection.take(rows) for name, collection in self.collections.items()}
        taken = self.part(rows)
        return replace(taken, collections=collections, scalars=dict(taken.scalars))

    def part(self, rows: IntArray) -> Events:
        """The same for a short time: a collection is copied when it is first asked for, and until then
        all events stay in memory."""
        return replace(
            self,
            weight=self.weight[rows],
            id=self.id[rows],
            parent=self.parent[rows],
            collections=_Taken(self.collections, lambda collection: collection.part(rows)),
            scalars=_Taken(self.scalars, lambda column: column[rows]),
            core=slice(None),
        )


def make_events(
    sample: str,
    weight: Array,
    collections: Mapping[str, Collection],
    scalars: Mapping[str, Array] | None = None,
    *,
    id: Array | None = None,
    parent: Array | None = None,
    first: int = 0,
) -> Events:
    """Check and normalise columns once; `first` is the number of the first event, for messages.

    SampleError names sample, column and first event for NaN, infinite or oversized weights, lengths
    that do not fit and objects that do not descend in pT.
    """
    n = len(weight)
    numbers = np.arange(first, first + n, dtype=np.uint64)
    _check_finite(sample, "weight", weight, first)
    too_large = np.flatnonzero(np.abs(weight) > MAX_WEIGHT_HZ)
    if len(too_large):
        at = int(too_large[0])
        raise SampleError(
            f"sample {sample!r}, event {first + at}: the weight {weight[at]:g} Hz is above "
            f"{MAX_WEIGHT_HZ:g} Hz; weights are rates in Hz, check the normalisation"
        )
    checked = {name: _checked_collection(sample, name, c, n, first) for name, c in collections.items()}
    columns = {name: native(column) for name, column in (scalars or {}).items()}
    for name, column in columns.items():
        _check_length(sample, name, len(column), n)
        _check_nan(sample, name, column, first)
    return Events(
        sample=sample,
        weight=np.ascontiguousarray(weight, np.float64),
        id=numbers if id is None else np.asarray(id, np.uint64),
        parent=numbers if parent is None else np.asarray(parent, np.uint64),
        collections=checked,
        scalars=columns,
    )


def native(column: Array) -> Array:
    """The column as float32, float64, int32 or int64 in native byte order, whichever holds it."""
    kind, size = column.dtype.kind, column.dtype.itemsize
    if kind == "f":
        return np.ascontiguousarray(column, np.float32 if size <= 4 else np.float64)
    small = kind == "b" or size < 4 or (kind == "i" and size == 4)
    return np.ascontiguousarray(column, np.int32 if small else np.int64)


def _checked_collection(sample: str, name: str, c: Collection, n: int, first: int) -> Collection:
    _check_length(sample, name, len(c), n)
    offsets = np.ascontiguousarray(c.offsets, np.int64)
    columns = {key: native(column) for key, column in c.columns.items()}
    for key, column in columns.items():
        if len(column) < offsets[-1]:
            raise SampleError(
                f"sample {sample!r}: {name}.{key} has {len(column)} objects, its events {offsets[-1]}"
            )
        nan = first_nan(column[: offsets[-1]])
        if nan >= offsets[0]:
            event = first + int(np.searchsorted(offsets, nan, side="right")) - 1
            raise SampleError(f"sample {sample!r}, event {event}: {name}.{key} is not a number (NaN)")
    if "pt" in columns:
        event = first_unordered(offsets, columns["pt"])
        if event >= 0:
            where = f"sample {sample!r}, event {first + event}"
            raise SampleError(f"{where}: {name}.pt objects do not descend in pT")
    return Collection(offsets, columns)


def _check_length(sample: str, name: str, length: int, n: int) -> None:
    if length != n:
        raise SampleError(f"sample {sample!r}: {name} has {length} events, the weights have {n}")


def _check_nan(sample: str, name: str, column: Array, first: int) -> None:
    nan = first_nan(column)
    if nan >= 0:
        raise SampleError(f"sample {sample!r}, event {first + nan}: {name} is not a number (NaN)")


def _check_finite(sample: str, name: str, column: Array, first: int) -> None:
    _check_nan(sample, name, column, first)
    infinite = np.flatnonzero(~np.isfinite(column))
    if len(infinite):
        raise SampleError(f"sample {sample!r}, event {first + int(infinite[0])}: {name} is infinite")


@kernel
def objects_of(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Offsets int64[m + 1] of m chosen events, and int64[o]: the rows of their objects."""
    chosen = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        chosen[i + 1] = chosen[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    objects = np.empty(chosen[-1], np.int64)
    for i in range(len(rows)):
        for k in range(chosen[i + 1] - chosen[i]):
            objects[chosen[i] + k] = offsets[rows[i]] + k
    return chosen, objects


@kernel
def event_starts(offsets: IntArray) -> IntArray:
    """int64[m + 1], for offsets from 0: the event that begins at each object, 0 where none does, so that
    the event of an object is the largest up to there. With it one loop over all objects takes the place
    of one over those of each event, whose end is a branch that nobody can predict."""
    starts = np.zeros(offsets[-1] + 1, np.int64)
    for event in range(len(offsets) - 1):
        starts[offsets[event]] = event
    return starts


@kernel
def first_nan(column: Array) -> int:
    """The first row that is NaN, or −1."""
    if not any_nan(column):
        return -1
    for i in range(len(column)):
        if column[i] != column[i]:
            return i
    return -1


@kernel
def any_nan(column: Array) -> bool:
    """Without an early exit, so that it is vectorised."""
    found = False
    for i in range(len(column)):
        found |= column[i] != column[i]
    return found


@kernel
def first_unordered(offsets: IntArray, pt: Array) -> int:
    """The first event whose objects do not descend in pT, or −1."""
    if _ascents_within(offsets, pt) == 0:
        return -1
    for event in range(len(offsets) - 1):
        for i in range(offsets[event] + 1, offsets[event + 1]):
            if pt[i] > pt[i - 1]:
                return event
    return -1


@kernel
def _ascents_within(offsets: IntArray, pt: Array) -> int:
    """All ascents but those from one event to the next; one flat loop, which is vectorised."""
    ascents = 0
    for i in range(offsets[0] + 1, offsets[-1]):
        ascents += pt[i] > pt[i - 1]
    for event in range(len(offsets) - 1):
        start = offsets[event]
        if offsets[event + 1] > start > offsets[0]:
            ascents -= pt[start] > pt[start - 1]
    return ascents


#: (collection, column) of the sample, or ("", scalar).
Need = tuple[str, str]
