"""Columns of events as an awkward array of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from trigemu.samples.errors import SampleError
from trigemu.support import Array, IntArray

T = TypeVar("T")

#: The columns of an event that are neither an object nor a scalar.
OWN = ("weight", "id", "parent")
#: The columns that all objects have.
STANDARD = ("pt", "eta", "phi")


def records_of(
    own: Mapping[str, Array],
    scalars: Mapping[str, Array],
    collections: Mapping[str, tuple[IntArray, Mapping[str, Array]]],
    where: str,
) -> Any:
    """Return one record for each of n events, without copies.

    Parameters
    ----------
    own : mapping of str to array[n]
        The columns `OWN`.
    scalars : mapping of str to array[n]
        Numbers per event; those with a name of `OWN` are left out.
    collections : mapping of str to (int64[n + 1], mapping of str to array)
        Offsets and columns of each collection.
    where : str
        The name of the events in messages.

    Raises
    ------
    SampleError
        If a collection and a scalar have the same name.
    """
    import awkward as ak  # takes long to import, and most programs do not need it

    def numpy(column: Array) -> Any:
        return ak.contents.NumpyArray(column)

    contents: dict[str, Any] = {name: numpy(own[name]) for name in OWN}
    contents |= {name: numpy(column) for name, column in _ordered(scalars) if name not in OWN}
    for name, (offsets, columns) in _ordered(collections):
        if name in contents:
            raise SampleError(f"{where}: {name!r} is the name of a collection and a scalar")
        arrays = {column: numpy(values) for column, values in _ordered(columns)}
        length = None if arrays else int(offsets[-1])
        objects = ak.contents.RecordArray(list(arrays.values()), list(arrays), length=length)
        contents[name] = ak.contents.ListOffsetArray(ak.index.Index64(offsets), objects)
    n = len(own["weight"])
    return ak.Array(ak.contents.RecordArray(list(contents.values()), list(contents), length=n))


def _ordered(columns: Mapping[str, T]) -> list[tuple[str, T]]:
    """Return columns in an order that does not depend on the file."""

    def place(column: tuple[str, T]) -> tuple[int, str]:
        name, _ = column
        return STANDARD.index(name) if name in STANDARD else len(STANDARD), name

    return sorted(columns.items(), key=place)
