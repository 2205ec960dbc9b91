"""Events from an awkward array of records, the inverse of `Events.to_awkward`.

weight                                   → the rate in Hz of each event
id, event; parent                        → id, parent (parent: the event itself if there is none)
jet: list of {pt, eta, phi, …}           → collection `jet` with pt, eta, phi, … (names in lower case)
Jet_pt, Jet_eta, …: lists of numbers     → the same (the part before the first _, in lower case)
met, met_phi; MET_…; MET: {pt, phi}      → met, met_phi
n_interaction, nInteraction              → n_interaction
any number or boolean per event          → a scalar of that name ({…}: names joined by _)

Parquet files have the same names, but their weights are generator weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from trigemu.base.arrays import Array, IntArray
from trigemu.base.errors import SampleError, excerpt, wrong_type
from trigemu.samples.events import EVENT_COLUMNS, STANDARD, Collection, Events, Need, make_events
from trigemu.samples.formats.source import collection_of
from trigemu.samples.normalisation import CROSSING_RATE_HZ

#: Names of columns → names in menus.
SCALARS = {
    **{"MET_pt": "met", "met_pt": "met", "MET_phi": "met_phi"},
    **{"nInteraction": "n_interaction", "event": "id"},
}
_SHAPES = "numbers, records of numbers, lists of numbers and lists of records of numbers"


def events_from_awkward(array: Any, sample: str = "events") -> Events:
    """Make events from an awkward array of records, the inverse of `Events.to_awkward`.

    Parameters
    ----------
    array : ak.Array
        One record for each event. Lists of records are collections (`jet`, with `pt`, `eta`, `phi` and any
        others), numbers are scalars (`met`); the columns of objects may also be lists of numbers with names
        like `Jet_pt`, as in NanoAOD. `weight` is the rate of an event in Hz; without it, events count as
        crossings of equal weight that add up to 40 MHz. `id` and `parent` are as in `Events`.
    sample : str
        The name of the sample.

    Returns
    -------
    Events
        The events, with columns that are views of the array if their types allow it. Objects are sorted in
        descending pT.

    Raises
    ------
    SampleError
        If a field contains neither numbers nor lists of objects, has missing or impossible values or NaN, or
        if the fields of a collection have different numbers of objects; the message names the field and the
        first such event.
    WrongTypeError
        If it is not an awkward array.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> jets = [[{"pt": 120.0, "eta": 0.1, "phi": 2.0}], []]
    >>> array = ak.Array({"jet": jets, "met": [30.0, 80.0], "weight": [5.0, 2.0]})
    >>> events = trigemu.events_from_awkward(array)
    >>> events.collections["jet"].columns["pt"].tolist()
    [120.0]
    """
    if not is_awkward(array):
        raise wrong_type("the events", array, "an awkward array of records", advice_on(array))
    where = f"sample {sample!r}"
    layout = array.layout
    if layout.is_unknown or (layout.is_record and layout.is_tuple) or not _unwrapped(layout).is_record:
        kind = excerpt(str(array.type))
        raise SampleError(f"{where}: the array is of type {kind}: expected records, with fields such as jet")
    ragged, scalars = _columns(layout, where)
    n = len(array)
    given = {name: scalars.pop(name, None) for name in EVENT_COLUMNS}
    for name in ("id", "parent"):
        if (column := given[name]) is not None and column.dtype.kind not in "iu":
            raise SampleError(f"{where}: {name} is of type {column.dtype}: expected integers")
    weight = np.full(n, CROSSING_RATE_HZ / max(n, 1))
    return make_events(
        sample,
        weight if given["weight"] is None else given["weight"],
        {name: _collection(name, columns, where) for name, columns in ragged.items()},
        scalars,
        id=given["id"],
        parent=given["parent"] if given["parent"] is not None else given["id"],
        physical=True,
    )


def is_awkward(array: object) -> bool:
    """Return whether this is an awkward array, without importing awkward: if it is one, awkward is
    imported."""
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(array, awkward.Array)


def advice_on(value: object) -> str:
    """Return how to make an array of what is none; empty if unknown."""
    if type(value).__name__ == "Record":
        return "this is a single event: take array[i : i + 1]"
    if type(value).__name__ in ("dict", "DataFrame", "ndarray") or (isinstance(value, list) and value):
        return "convert records or columns with ak.Array, as events_from_awkward describes"
    return ""


_Ragged = dict[str, tuple[IntArray, Array]]


def _columns(layout: Any, where: str) -> tuple[dict[str, _Ragged], dict[str, Array]]:
    """Return the columns of each collection with their offsets, and the scalars."""
    ragged: dict[str, _Ragged] = {}
    scalars: dict[str, Array] = {}
    written: dict[Need, str] = {}
    record = _present(layout, where, "the array", None)
    for field in record.fields:
        for (name, column), path, offsets, values in _of_field(field, record.content(field), where):
            if before := written.get((name, column)):
                what = f"{name}.{column}" if name else column
                raise SampleError(f"{where}: {what} is given twice, as {before!r} and as {path!r}")
            written[name, column] = path
            if not name:
                scalars[column] = values
                continue
            assert offsets is not None
            ragged.setdefault(name, {})[column] = offsets, values
    return ragged, scalars


def _of_field(field: str, layout: Any, where: str) -> Iterator[tuple[Need, str, IntArray | None, Array]]:
    """Yield the columns of a field of the array: the column, its path in the array, the offsets of the lists
    (None if there are none), and the numbers. A collection without columns has the column ""."""
    inner = _present(layout, where, field, None)
    if inner.is_numpy and inner.purelist_depth > 1:
        inner = inner.to_RegularArray()
    if not inner.is_list or inner.parameter("__array__"):
        for path, numbers in _numbers(inner, where, (field,), None):
            name = "_".join(path)
            yield ("", SCALARS.get(name, name)), ".".join(path), None, numbers
        return
    lists = inner.to_ListOffsetArray64(True)
    offsets = np.asarray(lists.offsets)
    objects = _present(lists.content[: int(offsets[-1])], where, field, offsets)
    if objects.is_unknown or (objects.is_record and not objects.fields):
        yield (field.lower(), ""), field, offsets, np.zeros(int(offsets[-1]))
        return
    prefix, _, column = field.partition("_")
    for path, numbers in _numbers(objects, where, (field,), offsets):
        if len(path) == 1 and not column:
            raise SampleError(
                f"{where}: {field} is a list of numbers: expected a name such as Jet_pt, or a list of "
                f"records such as jet: {{pt, eta, phi}}"
            )
        need = (prefix, column) if len(path) == 1 else (field, "_".join(path[1:]))
        yield (need[0].lower(), need[1]), ".".join(path), offsets, numbers


def _numbers(
    layout: Any, where: str, path: tuple[str, ...], offsets: IntArray | None
) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Yield the columns of numbers of a layout without lists, with their names from the outermost down."""
    inner = _present(layout, where, ".".join(path), offsets)
    if inner.is_record and not inner.is_tuple:
        for field in inner.fields:
            yield from _numbers(inner.content(field), where, (*path, field), offsets)
        return
    column: Array | None = np.zeros(0) if inner.is_unknown else None
    if inner.is_numpy and inner.purelist_depth == 1 and not inner.parameter("__array__"):
        column = np.asarray(inner.data)
    if column is None or column.dtype.kind not in "fiub":
        raise SampleError(
            f"{where}: {'.'.join(path)} is of type {excerpt(str(inner.form.type))}: expected {_SHAPES}; "
            f"leave out the fields that no trigger needs"
        )
    yield path, column


def _present(layout: Any, where: str, name: str, offsets: IntArray | None) -> Any:
    """Return a layout without options and indices; raise SampleError if an entry is missing (None)."""
    while True:
        if layout.is_option:
            if (missing := np.flatnonzero(np.asarray(layout.mask_as_bool(valid_when=False)))).size:
                first = int(missing[0])
                event = first if offsets is None else int(np.searchsorted(offsets, first, side="right")) - 1
                raise SampleError(f"{where}, event {event}: {name} is missing (None)")
            layout = layout.project()
        elif layout.is_indexed:
            layout = layout.project()
        else:
            return layout


def _unwrapped(layout: Any) -> Any:
    while layout.is_option or layout.is_indexed:
        layout = layout.content
    return layout


def _collection(name: str, columns: _Ragged, where: str) -> Collection:
    offsets, _ = next(iter(columns.values()))
    named = {column: values for column, values in columns.items() if column}
    if not named and not offsets[-1]:  # no event has an object, so the columns have no type
        named = {column: (offsets, np.zeros(0, np.float32)) for column in STANDARD}
    try:
        return collection_of(named, name) if named else Collection(offsets, {})
    except SampleError as error:
        raise SampleError(f"{where}, {error}") from None
