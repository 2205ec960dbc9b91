"""Tables of events as files: Parquet, or a TTree `events` in a ROOT file.

Both have the metadata `about`, JSON with the version, the menus, the samples, and the unit and meaning of
each column. A score table is a Parquet file that also has, as `trigemu_scores`, the sums of the other events
and the definitions of its triggers.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trigemu.base.arrays import IntArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import TrigemuError, module_of_extra
from trigemu.base.files import check_no_pipe, new_file, without_clock
from trigemu.counting.patterns import COLUMNS, PatternTable, empty_table, merge_tables
from trigemu.emulation.engine import Progress, joined
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.reweight import at_conditions
from trigemu.emulation.score_table import PLAIN_COLUMNS
from trigemu.emulation.scores import (
    Columns,
    EventColumn,
    Scores,
    Selection,
    ThresholdRange,
)
from trigemu.menus.read import MenusLike, menus_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import Sample

#: The names of the tree in a ROOT file, and of its metadata there and in Parquet.
TREE, ABOUT, PARQUET_ABOUT = "events", "about", "trigemu"
#: The names of the further metadata of a score table, and of their SHA-256.
KEY, DIGEST = b"trigemu_scores", b"trigemu_scores_sha256"
#: The version of the format of score tables.
FORMAT = 4
#: The smallest number of events of a row group.
_ROWS = 2**18
#: The columns of a pattern table that are not integers.
_FLOATS = ("largest", "weight", "square")


def write_events(path: Path, table: EventTable, version: str, progress: Progress) -> int:
    """Write a table into a file, whose suffix determines the format; return the number of its events."""
    fired = table.fired.text if table.fired else None
    samples = {str(sample.number): sample.name for sample in table.samples}
    about = {"version": version, "menu": table.menu.name, "fired": fired, "samples": samples}
    check_event_file(path)
    return _write(path, _WRITERS[path.suffix], table, table.parts(progress), about)


def write_scores(path: Path, scores: Scores, version: str) -> int:
    """Write a score table as Parquet.

    Parameters
    ----------
    path : Path
        The file.
    scores : Scores
        The table. If its events were not yet read, no more than some chunks are in memory.
    version : str
        The version of trigemu, written to the file.

    Returns
    -------
    int
        The number of events in the file.

    Raises
    ------
    TrigemuError
        If the file cannot be written; no incomplete file remains.
    """
    rest = empty_table(1)

    def parts() -> Iterator[Columns]:
        nonlocal rest
        for part in scores.parts():
            rest = merge_tables([rest, part.sums])
            yield part.columns

    def metadata() -> dict[bytes, bytes]:
        about = _About(
            FORMAT,
            {sample.name: _content(sample) for sample in scores.catalogue.background},
            {name: _content(scores.catalogue.sample(name)) for name in scores.signal_names},
            dict(scores.threshold_ranges),
            [*scores.columns[len(PLAIN_COLUMNS) :]],
            sorted(scores.made_with),
            {name: getattr(rest, name).tolist() for name in COLUMNS if name != "words"},
        )
        text = msgspec.json.encode(about)
        return {KEY: text, DIGEST: hashlib.sha256(text).hexdigest().encode()}

    about = {"version": version, "menus": [menu.name for menu in scores.menus]}
    return _write(path, _parquet, scores, parts(), about, metadata)


def check_event_file(path: Path) -> None:
    """Raise TrigemuError if the suffix of a file name belongs to no format, or to one that cannot be
    written."""
    if path.suffix not in _WRITERS:
        raise TrigemuError(f"{path} should end in {' or '.join(_WRITERS)}")
    if path.suffix == ".parquet":
        _pyarrow_for("writing")


def _write(
    path: Path,
    write: Callable[..., AbstractContextManager[Callable[[Columns], object]]],
    table: EventTable | Scores,
    parts: Iterable[Columns],
    about: dict[str, Any],
    metadata: Callable[[], dict[bytes, bytes]] = dict,
) -> int:
    """Write events in row groups; return their number. metadata: what Parquet has besides `about`, known
    after the events."""
    about["columns"] = {c.name: {"unit": c.unit, "description": c.description} for c in table.columns}
    events, waiting = 0, list[Columns]()
    with new_file(path) as temporary, write(temporary, table, about, metadata) as extend:
        for part in parts:
            events += len(part["id"])
            waiting += [part] if len(part["id"]) else []
            if sum(len(part["id"]) for part in waiting) >= _ROWS:
                extend(joined(waiting))
                waiting = []
        if waiting:
            extend(joined(waiting))
    return events


@contextmanager
def _parquet(
    path: Path, table: EventTable | Scores, about: object, metadata: Callable[[], dict[bytes, bytes]]
) -> Iterator[Callable[[Columns], object]]:
    """Write Parquet; samples are written by name."""
    pyarrow = _pyarrow_for("writing")
    fields, samples = [], [sample.name for sample in table.catalogue.samples]
    for column in table.columns:
        kind = getattr(pyarrow, column.dtype.replace("bool", "bool_"))()
        if column.name == "sample":
            kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        described = {"description": column.description, **({"unit": column.unit} if column.unit else {})}
        fields.append(pyarrow.field(column.name, kind, nullable=False, metadata=described))
    schema = pyarrow.schema(fields, metadata={PARQUET_ABOUT: json.dumps(about)})

    def extend(part: Columns) -> None:
        arrays = [pyarrow.DictionaryArray.from_arrays(part["sample"], samples)]
        arrays += [pyarrow.array(part[field.name]) for field in fields[1:]]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    options = {"compression": "zstd", "write_page_checksum": True}
    # pyarrow cannot open a path that is not UTF-8.
    with path.open("wb") as file, pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
        yield extend
        writer.add_key_value_metadata(metadata())


@contextmanager
def _root(
    path: Path, table: EventTable, about: object, _metadata: object
) -> Iterator[Callable[[Columns], object]]:
    """Write the tree `events`, and the names of samples and the meaning of columns as JSON."""
    import uproot

    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"trigemu/{table.menu.name}")
    with without_clock(), uproot.recreate(path, uuid_function=lambda: identity) as file:
        file[ABOUT] = json.dumps(about)
        yield file.mktree(TREE, {c.name: np.dtype(c.dtype) for c in table.columns}).extend


_WRITERS = {".parquet": _parquet, ".root": _root}


def read_scores(path: Path, menus: MenusLike, catalogue: SamplesLike = None) -> Scores:
    """Read a score table.

    Parameters
    ----------
    path : Path
        The file.
    menus : path, Menu, or list of these
        The menus to emulate: those that the table was made for, or others with the same triggers.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples of the table, as in `emulate`; their events are not read.

    Returns
    -------
    Scores

    Raises
    ------
    TrigemuError
        If the file is not a score table, is damaged, or was made from other samples.
    """
    pyarrow = _pyarrow_for("reading")
    menus = menus_of(menus)
    catalogue = at_conditions(menus, catalogue)
    try:
        check_no_pipe(Path(path))
        with (
            Path(path).open("rb") as stream,
            pyarrow.parquet.ParquetFile(stream, page_checksum_verification=True) as file,
        ):
            about = _read_about(path, file.metadata.metadata or {}, catalogue)
            columns = (*PLAIN_COLUMNS, *about.columns)
            arrays = {column.name: np.empty(file.metadata.num_rows, column.dtype) for column in columns}
            start = 0
            for group in range(file.num_row_groups):
                read = file.read_row_group(group, [*arrays])
                rows = slice(start, start := start + len(read))
                for name, values in arrays.items():
                    values[rows] = _numbers(read[name], catalogue) if name == "sample" else read[name]
    except (OSError, pyarrow.ArrowException) as error:
        raise TrigemuError(f"{path}: cannot be read as a score table: {error}") from error
    kinds = {name: np.float64 if name in _FLOATS else np.int64 for name in about.rest}
    sums: dict[str, Any] = {name: np.array(values, kinds[name]) for name, values in about.rest.items()}
    rest = PatternTable(words=np.zeros((len(sums["n"]), 1), np.uint64), **sums)
    held = len(arrays["id"]) + int(rest.n.sum())
    expected = sum(catalogue.sample(name).events for name in about.background | about.signals)
    if held != expected:
        raise TrigemuError(
            f"{path}: it includes {held} events of samples with {expected}: make the table again"
        )
    known = tuple(about.signals), about.threshold_ranges, frozenset(about.made_with)
    return Scores(menus, catalogue, columns, *known, lambda: [Selection(arrays, rest)])


def _numbers(names: Any, catalogue: Catalogue) -> IntArray:
    """Return the number of each sample of a column of their names, int64[n]."""
    named = names.combine_chunks()
    numbers = [catalogue.sample(name).number for name in named.dictionary.to_pylist()]
    of_events: IntArray = np.array(numbers, np.int64)[named.indices.to_numpy()]
    return of_events


class _About(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata of a score table."""

    format: int
    background: dict[str, str]  # background, signals: Fingerprints of the samples, by name
    signals: dict[str, str]
    threshold_ranges: dict[str, ThresholdRange]
    columns: list[EventColumn]  # Of scores and decisions
    made_with: list[str]
    rest: dict[str, list[float]]  # The columns of the pattern table of the other events, but their patterns


def _read_about(path: Path, metadata: Mapping[bytes, bytes], catalogue: Catalogue) -> _About:
    """Return the metadata of a score table. Raises TrigemuError if it is damaged, or made from other samples
    than those of a catalogue."""
    if KEY not in metadata:
        raise TrigemuError(f"{path}: it is not a score table; trigemu scores makes one")
    text = metadata[KEY]
    if DIGEST not in metadata:  # as before version 4 of the format
        raise TrigemuError(f"{path}: it has the format of an earlier version: make the table again")
    if hashlib.sha256(text).hexdigest().encode() != metadata[DIGEST]:
        raise TrigemuError(f"{path}: its metadata are damaged: make the table again")
    if (version := json.loads(text)["format"]) != FORMAT:
        raise TrigemuError(f"{path}: format = {version}, expected {FORMAT}: make the table again")
    read = msgspec.json.decode(text, type=_About)
    samples = {sample.name: sample for sample in catalogue.samples}
    for name, content in (read.background | read.signals).items():
        if name not in samples or _content(samples[name]) != content:
            raise TrigemuError(
                f"{path}: it was made from a sample {name!r} that differs from that of {catalogue.path}"
            )
    if missing := {sample.name for sample in catalogue.background} - read.background.keys():
        raise TrigemuError(f"{path}: it was made without the sample {min(missing)!r}")
    return read


def _content(sample: Sample) -> str:
    """Return a fingerprint of a sample, independent of the folder of its files."""
    files = [(Path(source.path).name, source.entries, source.identity) for source in sample.sources]
    return fingerprint(sample.identity, files)


def _pyarrow_for(doing: str) -> Any:
    """Return pyarrow with its module for Parquet, or raise MissingExtraError on `doing` with Parquet."""
    module_of_extra("pyarrow.parquet", f"{doing} Parquet", "formats", "pyarrow")
    import pyarrow

    return pyarrow
