"""Columns from files as collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import awkward as ak
import numpy as np

from trigemu.base.arrays import Array, IntArray
from trigemu.base.errors import SampleError
from trigemu.base.kernels import kernel
from trigemu.samples.events import Collection, Need, ReadEvents, first_falling, first_unordered
from trigemu.samples.formats.source import Schema


def schema_of(needs: Iterable[Need]) -> Schema:
    """Return the schema of a file with some columns."""
    collections: dict[str, set[str]] = {}
    for collection, column in needs:
        collections.setdefault(collection, set()).add(column)
    scalars = frozenset(collections.pop("", ()))
    return Schema({name: frozenset(columns) for name, columns in collections.items()}, scalars)


def flat(array: ak.Array) -> tuple[IntArray, Array]:
    """Convert lists to a flat array. Returns offsets int64[n + 1]."""
    layout = array.layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets)
    return offsets, ak.to_numpy(layout.content)[: offsets[-1]]


def collection_of(
    columns: Mapping[str, tuple[IntArray, Array]], name: str = "", first: int = 0
) -> Collection:
    """Make a collection from flat columns, with objects in descending pT, if there is a pT.

    Parameters
    ----------
    columns : mapping of str to (int64[n + 1], array)
        Offsets and numbers of each column, as from `flat`.
    name : str
        The name of the collection, for messages.
    first : int
        The number of the first event, for messages.

    Returns
    -------
    Collection
        The objects.

    Raises
    ------
    SampleError
        If columns have different numbers of objects, or these are damaged.
    """
    (leading, (offsets, _)), *others = columns.items()
    prefix = name and f"{name}."
    for column, (ends, _) in others:
        if not np.array_equal(offsets, ends):
            event = int(np.argmax(np.diff(ends) != np.diff(offsets)))
            one, other = np.diff(offsets)[event], np.diff(ends)[event]
            raise SampleError(
                f"event {first + event}: {prefix}{leading} has {one} objects, {prefix}{column} {other}"
            )
    if first_falling(offsets) >= 0 or any(len(values) < offsets[-1] for _, values in columns.values()):
        raise SampleError(f"the numbers of objects of {prefix}{leading} are damaged")
    offsets = np.asarray(offsets, np.int64)
    values = {name: column for name, (_, column) in columns.items()}
    pt = values.get("pt")
    if pt is not None and first_unordered(offsets, pt) >= 0:
        order = _falling(offsets, np.require(pt, requirements="W"))
        values = {name: column[order] for name, column in values.items()}
    return Collection(offsets, values)


@kernel
def _falling(offsets: IntArray, pt: Array) -> IntArray:
    """Return the order int64[m] of each event's objects in descending pT, stable for equal pT. Events have
    few objects, mostly in order already, so insertion sort is fastest."""
    order = np.arange(offsets[-1])
    for event in range(len(offsets) - 1):
        for i in range(offsets[event] + 1, offsets[event + 1]):
            j = i
            while j > offsets[event] and pt[order[j - 1]] < pt[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    return order


def events_of(
    columns: Mapping[Need, tuple[IntArray | None, Array]], event: Mapping[str, Array], start: int, stop: int
) -> ReadEvents:
    """Return the entries from start to stop − 1 with columns that were read. The offsets of a column are None
    if it has one number in each event. event: "weight", "id" and "parent", as far as the file has them."""
    collections: dict[str, dict[str, tuple[IntArray, Array]]] = {}
    for (collection, column), (offsets, values) in columns.items():
        if collection:
            ends = np.arange(len(values) + 1) if offsets is None else offsets
            collections.setdefault(collection, {})[column] = ends, values
    id = event.get("id", np.arange(start, stop))
    return ReadEvents(
        weight=event.get("weight", np.ones(stop - start)),
        id=id,
        parent=event.get("parent", id),
        collections={n: collection_of(of_objects, n, start) for n, of_objects in collections.items()},
        scalars={column: values for (name, column), (_, values) in columns.items() if not name},
    )
