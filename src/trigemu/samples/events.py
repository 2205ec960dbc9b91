"""Events: columns of objects and weights in Hz, validated once on construction.

All columns are flat: a collection has one array per column and the offsets at which its events begin. Kernels
therefore process arrays and a range of rows, and `events[a:b]` is a view without copies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, FloatArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.base.kernels import kernel

if TYPE_CHECKING:
    import awkward as ak


#: Collections of reconstructed objects, whose directions and momenta have limits. Others may have objects
#: without a direction: generator particles with pT 0 and η ±27392, sums, words of hardware.
OBJECTS = frozenset({"jet", "photon", "electron", "muon", "tau"})
#: Column → its lowest and highest value. A pT is above 0; η of 20 is beyond the beam at any energy; φ may
#: begin at −π or at 0.
LIMITS = {"pt": (1.4e-45, math.inf), "eta": (-20.0, 20.0), "phi": (-2 * math.pi, 2 * math.pi)}
SCALAR_LIMITS = {"met": (0.0, math.inf), "met_phi": LIMITS["phi"]}
_ANY = (-math.inf, math.inf)
#: Upper limit of a weight: far above any rate at a 40 MHz crossing rate.
MAX_WEIGHT_HZ = 2.0**40


def _outside(column: Array, low: float, high: float) -> int:
    """Return the first row that is NaN or outside of low to high, or −1. If one limit is finite, infinite
    values are outside."""
    values: Any = column
    if not len(column) or (column.dtype.kind != "f" and math.isinf(low) and math.isinf(high)):
        return -1
    if column.dtype.kind == "f" and math.isfinite(low):
        high = min(high, float(np.finfo(values.dtype).max))
    if values.min() >= low and values.max() <= high:  # NaN if any is
        return -1
    return int(np.argmin((values >= low) & (values <= high)))


def _impossible(where: str, name: str, value: float, low: float, high: float) -> SampleError:
    if value != value:
        return SampleError(f"{where}: {name} is not a number (NaN)")
    allowed = f"from {low:g} to {high:g}"
    if math.isinf(high):
        allowed = f"finite and {'above' if name.endswith('.pt') else 'at least'} 0"
    return SampleError(
        f"{where}: {name} = {value:g} is impossible: expected {allowed}; is the file damaged, or its unit "
        f"another one?"
    )


def first_falling(offsets: IntArray) -> int:
    """Return the first event with negative or decreasing offsets, or −1."""
    events = np.flatnonzero((offsets[1:] < offsets[:-1]) | (offsets[:-1] < 0))
    return int(events[0]) if len(events) else -1


#: The columns of an event that are neither an object nor a scalar, and those that all objects have.
EVENT_COLUMNS, STANDARD = ("weight", "id", "parent"), ("pt", "eta", "phi")


class _Rows(Mapping[str, Any]):
    """Rows of each value of a mapping, which are taken when they are first used."""

    def __init__(self, values: Mapping[str, Any], rows: slice | IntArray) -> None:
        self._values, self._rows, self._taken = values, rows, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._taken:
            self._taken[name] = self._values[name][self._rows]
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class Collection:
    """The objects of one kind, ragged over n events; those of an event are in descending pT."""

    offsets: IntArray  #: int64[n + 1]: event i has the rows offsets[i]:offsets[i + 1] of every column
    #: `pt` (GeV), `eta`, `phi` (radians) and others, each float32, float64, int32, int64 or uint64
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice | IntArray) -> Collection:
        """Return the objects of some events: a view of a slice, or of rows int64[m] columns that are copied
        when they are first used."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return Collection(self.offsets[start : max(start, stop) + 1], self.columns)
        offsets, objects = objects_of(self.offsets, rows)
        return Collection(offsets, _Rows(self.columns, objects))

    def trimmed(self) -> Collection:
        """Return a collection whose columns are views of its own objects only."""
        first, last = self.offsets[[0, -1]].tolist()
        return Collection(self.offsets - first, {n: c[first:last] for n, c in self.columns.items()})


@dataclass(frozen=True)
class ReadEvents:
    """Columns from a file, as in `Events`, but with generator weights."""

    weight: Array  #: array[n]: generator weights; 1 if the file has none
    id: Array  #: array[n]: event numbers, integers
    parent: Array  #: array[n]: generated interactions; the numbers of the events if the file has none
    collections: Mapping[str, Collection]  #: Objects, by singular name
    scalars: Mapping[str, Array]  #: array[n] each: numbers per event


@dataclass(frozen=True)
class Events:
    """A range of n events of one sample."""

    sample: str  #: Name of the sample
    weight: FloatArray  #: float64[n]: weights in Hz
    id: npt.NDArray[np.uint64]  #: uint64[n]: event numbers
    parent: npt.NDArray[np.uint64]  #: uint64[n]: generated interactions, which every split hashes
    #: Objects, by singular name (`jet`, `photon`, …)
    collections: Mapping[str, Collection] = field(default_factory=dict)
    #: array[n] each, float or integer: numbers per event (`met` in GeV, `met_phi` in radians, …)
    scalars: Mapping[str, Array] = field(default_factory=dict)
    #: The rows that count; the others are neighbouring crossings, which triggers can read
    core: slice = field(default_factory=lambda: slice(None))

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: slice | IntArray) -> Events:
        """Return some events, all of which count: views of a slice, or of rows int64[m] columns that are
        copied when they are first used."""
        views = _Rows(self.collections, rows), _Rows(self.scalars, rows)
        return Events(self.sample, self.weight[rows], self.id[rows], self.parent[rows], *views)

    def around(self, start: int, stop: int, margin: int) -> Events:
        """Return a view of the rows `start` to `stop` − 1, which count, and up to `margin` around them."""
        first = max(0, start - margin)
        view = self[first : stop + margin]
        return replace(view, core=slice(start - first, stop - first)) if margin else view

    def trimmed(self) -> Events:
        """Return these events with columns that are views of their own objects only."""
        collections = {name: c.trimmed() for name, c in self.collections.items()}
        return replace(self, collections=collections, scalars=dict(self.scalars))

    def take(self, rows: IntArray) -> Events:
        """Copy the events `rows`, int64[m], in this order; all of them count."""
        return self[rows].trimmed()

    def to_awkward(self) -> ak.Array:
        """Return a view of the events as an awkward array, without copies; `events_from_awkward` is the
        inverse.

        There is one record for each event, also outside of `core`, with `weight` (Hz), `id`, `parent`, a
        number for each scalar, and a list of records for each collection, before selections of a menu:
        `array.jet.pt`. Raises SampleError if a collection and a scalar have the same name.

        Examples
        --------
        >>> import trigemu
        >>> sample = trigemu.open_catalogue().sample("yy")
        >>> array = sample.read(0, 0, 2, [("photon", "pt")]).to_awkward()
        >>> array.photon.pt.to_list()
        [[304.25, 287.75], [17.578125, 13.8515625]]
        """
        from awkward import Array as AwkwardArray, contents  # awkward takes long to import
        from awkward.index import Index64

        def numbers(columns: Mapping[str, Array]) -> dict[str, Any]:
            names = sorted(columns, key=lambda name: ((*STANDARD, name).index(name), name))
            return {name: contents.NumpyArray(columns[name]) for name in names}

        fields = {name: contents.NumpyArray(getattr(self, name)) for name in EVENT_COLUMNS}
        fields |= {name: array for name, array in numbers(self.scalars).items() if name not in EVENT_COLUMNS}
        for name, collection in sorted(self.collections.items()):
            if name in fields:
                where = f"sample {self.sample!r}"
                raise SampleError(f"{where}: {name!r} is the name of a collection and a scalar")
            columns = numbers(collection.columns)
            length = None if columns else int(collection.offsets[-1])
            objects = contents.RecordArray(list(columns.values()), list(columns), length=length)
            fields[name] = contents.ListOffsetArray(Index64(collection.offsets), objects)
        return AwkwardArray(contents.RecordArray(list(fields.values()), list(fields), length=len(self)))


def make_events(
    sample: str,
    weight: Array,
    collections: Mapping[str, Collection],
    scalars: Mapping[str, Array] | None = None,
    *,
    id: Array | None = None,
    parent: Array | None = None,
    first: int = 0,
    physical: bool = False,
) -> Events:
    """Make events from columns, after checking and normalising them.

    Parameters
    ----------
    sample, weight, collections, scalars
        As in `Events`; pT in descending order within an event.
    id, parent : array[n], optional
        Event numbers and numbers of the generated interactions; by default first, first + 1, …
    first : int
        Number of the first event.
    physical : bool
        Whether impossible values of reconstructed objects are errors: pT ≤ 0 or infinite, |η| > 20, |φ| > 2π
        in the collections `OBJECTS`; negative or infinite `met`, |`met_phi`| > 2π.

    Returns
    -------
    Events
        Events with contiguous columns in native byte order. NaN, impossible values, infinite or too large
        weights, different lengths, damaged offsets and objects that are not in descending pT are a
        SampleError, which names sample, column and first event.
    """
    n, where = len(weight), f"sample {sample!r}"
    numbers = np.arange(first, first + n, dtype=np.uint64)
    if (row := _outside(weight, -MAX_WEIGHT_HZ, MAX_WEIGHT_HZ)) >= 0:
        what = f"the weight {weight[row]:g} Hz is above {MAX_WEIGHT_HZ:g} Hz"
        if not math.isfinite(weight[row]):
            what = f"weight is {'not a number (NaN)' if math.isnan(weight[row]) else 'infinite'}"
        what += "; weights are rates in Hz, check the normalisation"
        raise SampleError(f"{where}, event {first + row}: {what}")
    columns = {name: native(column) for name, column in (scalars or {}).items()}
    lengths = [(name, len(values)) for of in (collections, columns) for name, values in of.items()]
    for name, length in lengths:
        if length != n:
            raise SampleError(f"{where}: {name} has {length} events, the weights have {n}")
    checked = {}
    for name, collection in collections.items():
        offsets = np.ascontiguousarray(collection.offsets, np.int64)
        if (event := first_falling(offsets)) >= 0:
            counts = f"its objects go from row {offsets[event]} to {offsets[event + 1]}"
            raise SampleError(f"{where}, event {first + event}: {name} is damaged: {counts}")
        of_objects = {key: native(column) for key, column in collection.columns.items()}
        for key, column in of_objects.items():
            if len(column) < offsets[-1]:
                objects = f"{len(column)} objects, its events {offsets[-1]}"
                raise SampleError(f"{where}: {name}.{key} has {objects}")
            limits = LIMITS.get(key, _ANY) if physical and name in OBJECTS else _ANY
            if (row := _outside(column[offsets[0] : offsets[-1]], *limits)) >= 0:
                row += int(offsets[0])
                event = first + int(np.searchsorted(offsets, row, side="right")) - 1
                raise _impossible(f"{where}, event {event}", f"{name}.{key}", column[row], *limits)
        if "pt" in of_objects and (event := first_unordered(offsets, of_objects["pt"])) >= 0:
            raise SampleError(f"{where}, event {first + event}: {name}.pt objects are not in descending pT")
        checked[name] = Collection(offsets, of_objects)
    for name, column in columns.items():
        limits = SCALAR_LIMITS.get(name, _ANY) if physical else _ANY
        if (row := _outside(column, *limits)) >= 0:
            raise _impossible(f"{where}, event {first + row}", name, column[row], *limits)
    return Events(
        sample,
        np.ascontiguousarray(weight, np.float64),
        numbers if id is None else np.require(id, np.uint64, "W"),
        numbers if parent is None else np.require(parent, np.uint64, "W"),
        checked,
        columns,
    )


def native(column: Array) -> Array:
    """Convert a column to the first of float32, float64, int32, int64, uint64 that holds all values of its
    type, in native byte order and in memory that can be written: kernels would be compiled again for columns
    that are read-only, as those of Arrow are."""
    types = (np.float32, np.float64) if column.dtype.kind == "f" else (np.int32, np.int64, np.uint64)
    held = (kind for kind in types if np.can_cast(column.dtype, kind))
    return np.require(column, next(held, np.float64), ["C", "W"])


@kernel
def objects_of(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets int64[m + 1] of m selected events, and the rows int64[o] of their objects."""
    ends = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        ends[i + 1] = ends[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    objects = np.empty(ends[-1], np.int64)
    for i in range(len(rows)):
        for k in range(ends[i + 1] - ends[i]):
            objects[ends[i] + k] = offsets[rows[i]] + k
    return ends, objects


def event_starts(offsets: IntArray) -> IntArray:
    """Return the event that begins at each object, int64[m + 1], 0 if none does; offsets begin at 0. The
    running maximum is the event of each object: one loop over objects replaces nested ones, whose inner end
    is an unpredictable branch."""
    starts = np.zeros(offsets[-1] + 1, np.int64)
    starts[offsets[:-1]] = np.arange(len(offsets) - 1)  # of events that begin there, the last one stays
    return starts


def first_unordered(offsets: IntArray, pt: Array) -> int:
    """Return the first event whose objects are not in descending pT, or −1."""
    rises = np.greater(pt[1 : offsets[-1]], pt[: max(offsets[-1] - 1, 0)])
    rises[: offsets[0]] = False
    ends = offsets[(offsets > 0) & (offsets < offsets[-1])] - 1
    rises[ends] = False
    if not rises.any():
        return -1
    return int(np.searchsorted(offsets, 1 + rises.argmax(), side="right")) - 1


#: A column to read: (collection, column) of the sample, or ("", scalar).
Need = tuple[str, str]
_STORED = "stored "


def stored_need(decision: str) -> Need:
    """Return the column of a stored decision."""
    return "", f"{_STORED}{decision}"


def decision_in(need: Need) -> str | None:
    """Return the name of the stored decision that a column holds; None for other columns."""
    collection, column = need
    return None if collection or not column.startswith(_STORED) else column.removeprefix(_STORED)
