"""Events from an awkward array of records, the inverse of `Events.to_awkward`.

weight                                   → the rate in Hz of each event
id, event; parent                        → id, parent (parent: the event itself if there is none)
jet: list of {pt, eta, phi, …}           → collection `jet` with pt, eta, phi, … (names in lower case)
Jet_pt, Jet_eta, …: lists of numbers     → the same (the part before the first _, in lower case)
met, met_phi; MET_…; MET: {pt, phi}      → met, met_phi
n_interaction, nInteraction              → n_interaction
any number or boolean per event          → a scalar of that name ({…}: names joined by _)
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


def events_from_awkward(array: Any, sample: str = "events") -> Events:
    """Make events from an awkward array of records, the inverse of `Events.to_awkward`.

    Parameters
    ----------
    array : ak.Array
        One record for each event. Lists of records are collections (`jet`, with `pt`, `eta`, `phi` and any
        others), numbers are scalars (`met`); the columns of objects may also be lists of numbers with names
        like `Jet_pt`. `weight` is the rate of an event in Hz; without it, events are crossings of equal
        weight that add up to 40 MHz. `id` and `parent` are as in `Events`.
    sample : str
        The name of the sample.

    Returns
    -------
    Events
        The events, with views of the array if types allow it; objects are sorted in descending pT. Other
        types, missing or impossible values, NaN, and fields of a collection with different numbers of objects
        are a SampleError, which names the field and the first such event.

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
    where, layout = f"sample {sample!r}", array.layout
    inner = layout
    while inner.is_option or inner.is_indexed:
        inner = inner.content
    if layout.is_unknown or not inner.is_record or inner.is_tuple:
        kind = excerpt(str(array.type))
        raise SampleError(f"{where}: the array is of type {kind}: expected records, with fields such as jet")
    try:
        ragged, scalars = _columns(layout)
        collections = {name: _collection(name, columns) for name, columns in ragged.items()}
    except SampleError as error:
        raise SampleError(f"{where}{error}") from None
    n = len(array)
    given = {name: scalars.pop(name, None) for name in EVENT_COLUMNS}
    for name in ("id", "parent"):
        if (column := given[name]) is not None and column.dtype.kind not in "iu":
            raise SampleError(f"{where}: {name} is of type {column.dtype}: expected integers")
    return make_events(
        sample,
        np.full(n, CROSSING_RATE_HZ / max(n, 1)) if given["weight"] is None else given["weight"],
        collections,
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


#: The columns of a collection, each with the offsets of its lists; a collection without columns has "".
_Ragged = dict[str, tuple[IntArray, Array]]


def _columns(layout: Any) -> tuple[dict[str, _Ragged], dict[str, Array]]:
    """Return the columns of each collection, and the scalars."""
    ragged: dict[str, _Ragged] = {}
    scalars: dict[str, Array] = {}
    written: dict[Need, str] = {}
    for path, offsets, values in _leaves(_present(layout, "the array", None), (), None):
        first, *others = path
        prefix, _, column = first.partition("_")
        name, column = (prefix, column) if others == [] and column else (first, "_".join(others))
        if offsets is None:
            name, column = "", SCALARS.get("_".join(path), "_".join(path))
        need = name.lower(), column
        if before := written.get(need):
            what = ".".join(filter(None, need))
            raise SampleError(f": {what} is given twice, as {before!r} and as {'.'.join(path)!r}")
        written[need] = ".".join(path)
        if offsets is None:
            scalars[column] = values
        else:
            ragged.setdefault(need[0], {})[column] = offsets, values
    return ragged, scalars


def _leaves(
    layout: Any, path: tuple[str, ...], offsets: IntArray | None
) -> Iterator[tuple[tuple[str, ...], IntArray | None, Array]]:
    """Yield the numbers of a layout, with their path of names from the outermost down, and the offsets of
    their lists, None if there are none."""
    name = ".".join(path)
    inner = _present(layout, name, offsets) if path else layout
    if inner.is_numpy and inner.purelist_depth > 1:
        inner = inner.to_RegularArray()
    is_plain = not inner.parameter("__array__")  # else a text
    if inner.is_list and is_plain and len(path) == 1 and offsets is None:
        lists = inner.to_ListOffsetArray64(True)
        offsets = np.asarray(lists.offsets)
        objects = _present(lists.content[: int(offsets[-1])], name, offsets)
        if objects.is_unknown or (objects.is_record and not objects.fields):
            yield path, offsets, np.zeros(int(offsets[-1]))
            return
        if not objects.is_record and not objects.is_list and "_" not in name:
            raise SampleError(
                f": {name} is a list of numbers: expected a name such as Jet_pt, or a list of records such "
                f"as jet: {{pt, eta, phi}}"
            )
        yield from _leaves(objects, path, offsets)
    elif inner.is_record and not inner.is_tuple:
        for field in inner.fields:
            yield from _leaves(inner.content(field), (*path, field), offsets)
    elif inner.is_unknown:
        yield path, offsets, np.zeros(0)
    elif inner.is_numpy and is_plain and inner.data.dtype.kind in "fiub":
        yield path, offsets, np.asarray(inner.data)
    else:
        raise SampleError(
            f": {name} is of type {excerpt(str(inner.form.type))}: expected numbers, records of numbers, "
            f"lists of numbers and lists of records of numbers; leave out the fields that no trigger needs"
        )


def _present(layout: Any, name: str, offsets: IntArray | None) -> Any:
    """Return a layout without options and indices; raise SampleError if an entry is missing (None)."""
    while layout.is_option or layout.is_indexed:
        if layout.is_option and len(missing := np.flatnonzero(layout.mask_as_bool(valid_when=False))):
            first = int(missing[0])
            event = first if offsets is None else int(np.searchsorted(offsets, first, side="right")) - 1
            raise SampleError(f", event {event}: {name} is missing (None)")
        layout = layout.project()
    return layout


def _collection(name: str, columns: _Ragged) -> Collection:
    offsets, _ = next(iter(columns.values()))
    named = {column: values for column, values in columns.items() if column}
    if not named and not offsets[-1]:  # no event has an object, so the columns have no type
        named = {column: (offsets, np.zeros(0, np.float32)) for column in STANDARD}
    try:
        return collection_of(named, name) if named else Collection(offsets, {})
    except SampleError as error:
        raise SampleError(f", {error}") from None
