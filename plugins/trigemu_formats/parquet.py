"""Parquet as written by awkward: a file, or a folder of files with different columns of the same events.

jet: list of {pt, eta, phi, …}           → collection `jet` with pt, eta, phi, …
list of {Jet_pt, Jet_eta, …}             → `jet` with pt, eta, … (the part before the first _, in lower case)
Jet_pt, Jet_eta, …: lists of numbers     → the same
met, met_phi; MET_…; MET: {pt, phi}      → met, met_phi
n_interaction, nInteraction              → n_interaction
weight, genWeight                        → the weight; 1 if there is none
id, event; parent                        → id, parent (parent: the event itself if there is none)
a boolean, or a number HLT_… or L1_…     → a stored decision of that name
any number per event                     → a scalar of that name ({…}: names joined by _)
X_pt, X_phi: numbers per event           → also a collection `x` of one object per event

The format does not store the sum over all generated events: with weights, `sum_of_weights` must be given in
the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, module_of_extra
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.locations import parts
from trigemu.samples.memory import SCALARS as NAMES
from trigemu.samples.root import DECISIONS, keep_memory
from trigemu.samples.source import Beginning, Schema, Source, events_of, schema_of

SCALARS = NAMES | {"genWeight": "weight"}
EVENT = WEIGHT, ID, PARENT = ("", "weight"), ("", "id"), ("", "parent")


@dataclass(frozen=True)
class _ParquetColumn:
    """The location of a column. leaves: the paths in Parquet's schema that have to be read for it; fields:
    the path to it, from the top-level field down. type: its numbers."""

    file: str
    leaves: tuple[str, ...]
    fields: tuple[str, ...]
    decision: bool
    type: str


@dataclass
class Parquet(Source):
    """A file or folder, opened for each read."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        return beginning.folder or beginning.start.startswith(b"PAR1")

    @contextmanager
    def _opened(self, file: str, metadata: Any = None) -> Iterator[Any]:
        parquet_file = module_of_extra("pyarrow.parquet", "reading Parquet", "formats", "pyarrow").ParquetFile
        with (
            self._stream(file) as stream,
            parquet_file(stream, metadata=metadata, page_checksum_verification=True) as parquet,
        ):
            yield parquet

    @cached_property
    def _footers(self) -> dict[str, Any]:
        """Metadata and Arrow schema of each file."""
        keep_memory()
        footers = {}
        for file in parts(self.path):
            with self._opened(file) as parquet:
                footers[file] = (parquet.metadata, parquet.schema_arrow)
        if not footers:
            raise SampleError("the folder has neither a catalogue.toml nor files *.parquet")
        rows = {file: metadata.num_rows for file, (metadata, _) in footers.items()}
        if len(set(rows.values())) > 1:
            numbers = ", ".join(f"{Path(file).name}: {n}" for file, n in rows.items())
            raise SampleError(
                f"the files of a folder hold columns of the same events and need equal numbers of events "
                f"({numbers}); list files with different events one by one"
            )
        return footers

    @cached_property
    def _columns(self) -> dict[Need, _ParquetColumn]:
        columns: dict[Need, _ParquetColumn] = {}
        for file, (metadata, schema) in self._footers.items():
            leaves = (metadata.schema.column(i).path for i in range(metadata.num_columns))
            for need, column in _columns_of(file, schema, leaves):
                if need in columns:
                    raise SampleError(
                        f"{'.'.join(filter(None, need))} is in {Path(columns[need].file).name} as "
                        f"{_name(columns[need])} and in {Path(file).name} as {_name(column)}"
                    )
                columns[need] = column
        single = {
            name.removesuffix("_pt")
            for collection, name in columns
            if not collection and name.endswith("_pt")
        }
        for (collection, name), column in list(columns.items()):
            prefix, _, column_name = name.rpartition("_")
            if not collection and prefix in single and not column.decision:
                columns.setdefault((prefix.lower(), column_name), column)
        return columns

    @property
    def types(self) -> Mapping[Need, str]:
        return {need: column.type for need, column in self._columns.items()}

    @property
    def weight_column(self) -> str:
        return _name(self._columns[WEIGHT]) if WEIGHT in self._columns else ""

    @cached_property
    def entries(self) -> int:
        return int(next(iter(self._footers.values()))[0].num_rows)

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """The entries at which all files begin a new row group."""
        groups = [set(_row_groups(metadata)) for metadata, _ in self._footers.values()]
        return tuple(sorted(set.intersection(*groups)))

    @property
    def sum_of_weights(self) -> float:
        if WEIGHT in self._columns:
            raise SampleError(
                "has weights but not their sum over all generated events: the file may be a skim and "
                "cannot be normalised; give sum_of_weights in its catalogue entry"
            )
        return float(self.entries)

    @property
    def has_parents(self) -> bool:
        return PARENT in self._columns

    @cached_property
    def schema(self) -> Schema:
        return schema_of(self._columns)

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(name for (_, name), column in self._columns.items() if column.decision)

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        read = self._read(start, stop, [("", name) for name in names])
        return {name: values != 0 for (_, name), (_, values) in read.items()}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read the needed columns, and always weight, id and parent, of some entries."""
        needed = set(needs)
        needed |= {(name, "pt") for name, _ in needed if name} | {*EVENT}
        columns = self._read(start, stop, needed)
        return events_of(columns, {n: columns["", n][1] for _, n in EVENT if ("", n) in columns}, start, stop)

    def _read(
        self, start: int, stop: int, needs: Iterable[Need]
    ) -> dict[Need, tuple[IntArray | None, Array]]:
        """Read the columns that exist: offsets of the lists (None if the column has no lists) and the
        numbers."""
        columns = {need: self._columns[need] for need in needs if need in self._columns}
        read: dict[Need, tuple[IntArray | None, Array]] = {}
        for file in sorted({column.file for column in columns.values()}):
            of_file = {need: column for need, column in columns.items() if column.file == file}
            leaves = tuple(sorted({leaf for column in of_file.values() for leaf in column.leaves}))
            table = self._table(file, leaves, start, stop)
            fields = {name: table[name] for name in {column.fields[0] for column in of_file.values()}}
            del table  # each field is freed when it has been copied
            while fields:
                field, chunks = fields.popitem()
                # Arrow copies a single chunk too, to combine it with no other.
                rows = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
                of_field = ((need, column) for need, column in of_file.items() if column.fields[0] == field)
                read |= {need: _numbers(column, rows) for need, column in of_field}
                del chunks, rows
        return read

    def _table(self, file: str, leaves: tuple[str, ...], start: int, stop: int) -> Any:
        """Decode some entries, without holding more than these in memory."""
        from pyarrow import Table

        metadata, _ = self._footers[file]
        edges = _row_groups(metadata)
        groups = [i for i, (a, b) in enumerate(pairwise(edges)) if max(a, start) < min(b, stop)]
        with self._opened(file, metadata) as parquet:
            if not groups or (start, stop) == (edges[groups[0]], edges[groups[-1] + 1]):
                return parquet.read_row_groups(groups, columns=list(leaves))
            batches, row = [], edges[groups[0]]
            for batch in parquet.iter_batches(CHUNK_EVENTS, row_groups=groups, columns=list(leaves)):
                begin, end = max(start - row, 0), min(stop - row, len(batch))
                row += len(batch)
                batches += [batch[begin:end]] if begin < end else []
                if row >= stop:
                    break
            return Table.from_batches(batches)


def _row_groups(metadata: Any) -> list[int]:
    """Return the first entry of each row group, and the end."""
    sizes = (metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    return list(accumulate(sizes, initial=0))


def _columns_of(file: str, schema: Any, leaves: Iterable[str]) -> Iterator[tuple[Need, _ParquetColumn]]:
    """Yield the columns of Arrow's schema that are supported; the leaves are in the order of its fields."""
    paths = iter(leaves)
    for field in schema:
        columns = [(next(paths), *leaf) for leaf in _leaves_of(field.type, (field.name,))]
        # A type defined by awkward is read entirely: Arrow cannot build it from only some of its fields.
        all_leaves = tuple(path for path, *_ in columns) if hasattr(field.type, "storage_type") else ()
        for path, fields, lists, type_ in columns:
            if not re.fullmatch(r"float|double|bool|u?int\d+", str(type_)) or lists > 1:
                continue
            names = [name for name in fields if name]
            name = "_".join(names)
            decision = not lists and (str(type_) == "bool" or name.startswith(DECISIONS))
            column = _ParquetColumn(file, all_leaves or (path,), fields, decision, str(type_))
            if not lists:
                yield ("", SCALARS.get(name, name)), column
            elif len(names) == 1 and "_" in name:
                prefix, _, last = name.partition("_")
                yield (prefix.lower(), last), column
            elif len(names) == 2:
                yield (names[0].lower(), names[1]), column


def _leaves_of(
    type_: Any, fields: tuple[str, ...], lists: int = 0
) -> Iterator[tuple[tuple[str, ...], int, Any]]:
    """Yield (path of names, number of enclosing lists, type) in the order of Parquet's leaves."""
    stored = getattr(type_, "storage_type", type_)
    if _is_list(stored):
        yield from _leaves_of(stored.value_type, fields, lists + 1)
    elif _is_struct(stored):
        for field in stored:
            yield from _leaves_of(field.type, (*fields, field.name), lists)
    else:
        yield fields, lists, stored


def _is_list(type_: Any) -> bool:
    return str(type_).startswith(("list<", "large_list<"))


def _is_struct(type_: Any) -> bool:
    return str(type_).startswith("struct<")


def _numbers(column: _ParquetColumn, array: Any) -> tuple[IntArray | None, Array]:
    """Extract a column from Arrow's top-level column. Raises SampleError if an entry is missing (null)."""
    names, offsets = iter(column.fields[1:]), None
    while True:
        array = getattr(array, "storage", array)
        if array.null_count:
            raise SampleError(f"{_name(column)} has missing entries (null), which no trigger can compare")
        if _is_list(array.type):
            ends = array.offsets.to_numpy()
            array, offsets = array.values.slice(ends[0], ends[-1] - ends[0]), ends - ends[0]
        elif _is_struct(array.type):
            array = array.field(next(names))
        else:
            return offsets, np.require(array.to_numpy(zero_copy_only=False), requirements="W")


def _name(column: _ParquetColumn) -> str:
    return ".".join(filter(None, column.fields))
