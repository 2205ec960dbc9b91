"""Event tables as Parquet files or TTrees. Columns have units and descriptions."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.emulation.engine import Progress
from trigemu.emulation.per_event import EventTable
from trigemu.emulation.score_files import pyarrow_for
from trigemu.support import Array, TrigemuError, new_file, without_clock

#: The names of the tree in a ROOT file, and of its description.
TREE, ABOUT = "events", "about"
Extend = Callable[[Mapping[str, Array]], object]


def check_event_file(path: Path) -> None:
    """Raise TrigemuError if the suffix of a file name belongs to no format, or to one that cannot be
    written."""
    if path.suffix not in _WRITERS:
        raise TrigemuError(f"{path} should end in {' or '.join(_WRITERS)}")
    if path.suffix == ".parquet":
        pyarrow_for("writing")


def write_events(path: Path, table: EventTable, version: str, progress: Progress) -> int:
    """Write a table into a file, whose suffix determines the format; return the number of its events.

    Raises
    ------
    TrigemuError
        If the file cannot be written, or events cannot be read or decided; no incomplete file remains.
    """
    check_event_file(path)
    about = {
        "version": version,
        "menu": table.menu.name,
        "fired": table.fired.text if table.fired else None,
        "samples": {str(sample.number): sample.name for sample in table.samples},
        "columns": {c.name: {"unit": c.unit, "description": c.description} for c in table.columns},
    }
    written = 0
    with new_file(path) as temporary, _WRITERS[path.suffix](temporary, table, about) as extend:
        for part in table.parts(progress):
            if n := len(part["id"]):
                extend(part)
                written += n
    return written


@contextmanager
def _parquet(path: Path, table: EventTable, about: Mapping[str, Any]) -> Iterator[Extend]:
    """Write Parquet; samples are written by name."""
    pyarrow = pyarrow_for("writing")
    names = [sample.name for sample in table.catalogue.samples]
    kinds = {"bool": "bool_"}
    fields = []
    for column in table.columns:
        kind = getattr(pyarrow, kinds.get(column.dtype, column.dtype))()
        if column.name == "sample":
            kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        described = {"description": column.description, **({"unit": column.unit} if column.unit else {})}
        fields.append(pyarrow.field(column.name, kind, nullable=False, metadata=described))
    schema = pyarrow.schema(fields, metadata={"trigemu": json.dumps(about)})

    def extend(part: Mapping[str, Array]) -> None:
        samples = pyarrow.DictionaryArray.from_arrays(part["sample"], names)
        arrays = [samples if name == "sample" else pyarrow.array(values) for name, values in part.items()]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    # pyarrow cannot open a path that is not UTF-8.
    with path.open("wb") as file, pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        yield extend


@contextmanager
def _root(path: Path, table: EventTable, about: Mapping[str, Any]) -> Iterator[Extend]:
    """Write the tree `events`, and the names of samples and the meaning of columns as JSON."""
    import uproot

    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"trigemu/{table.menu.name}")
    with without_clock(), uproot.recreate(path, uuid_function=lambda: identity) as file:
        file[ABOUT] = json.dumps(about)
        tree = file.mktree(TREE, {column.name: np.dtype(column.dtype) for column in table.columns})
        yield tree.extend


_WRITERS = {".parquet": _parquet, ".root": _root}
