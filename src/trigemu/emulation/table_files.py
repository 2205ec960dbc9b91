"""Tables of events as files: Parquet, or a TTree `events` in a ROOT file, both with `About` as JSON.

Parquet can be read again: it also has the sums of the events that were left out, and a digest of both.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import TrigemuError, module_of_extra
from trigemu.base.files import new_file, without_clock
from trigemu.counting.patterns import COLUMNS, PatternTable, empty_table, merge_tables
from trigemu.emulation.engine import joined
from trigemu.emulation.event_table import EventColumn, EventTable, ThresholdRange
from trigemu.emulation.per_event import Columns, Selection
from trigemu.emulation.reweight import at_conditions
from trigemu.menus.read import MenusLike, menus_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike
from trigemu.samples.sample import Sample
from trigemu.triggers.logic import parse_expression

#: The names of the tree in a ROOT file, and of `About` there and in Parquet.
TREE, ABOUT, PARQUET_ABOUT = "events", "about", b"trigemu"
#: The names in Parquet of the sums of the events that were left out, and of the SHA-256 of `About` and sums.
SUMS, DIGEST = b"trigemu_sums", b"trigemu_sha256"
#: The version of the format.
FORMAT = 5
#: The smallest number of events of a row group.
_ROWS = 2**18


class About(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata of a file."""

    format: int
    version: str  # Of trigemu
    menu: str  # The name of the first menu
    menus: list[str]  # The names of all
    fired: str | None  # fired, threshold_ranges, made_with, scale: As in the table
    samples: dict[str, str]  # The names of the samples of the events, by their numbers
    contents: dict[str, str]  # Fingerprints of these samples, by name
    columns: dict[str, EventColumn]
    threshold_ranges: dict[str, ThresholdRange]
    made_with: list[str]
    scale: float


def write_scores(path: Path, scores: EventTable, version: str) -> int:
    """Write a table of events as Parquet or ROOT.

    Parameters
    ----------
    path : Path
        The file, whose suffix determines the format: .parquet, which `read_scores` reads, or .root.
    scores : EventTable
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
    check_event_file(path)
    about = About(
        FORMAT,
        version,
        scores.menu.name,
        [menu.name for menu in scores.menus],
        scores.fired.text if scores.fired else None,
        {str(sample.number): sample.name for sample in scores.samples},
        {sample.name: _content(sample) for sample in scores.samples},
        {column.name: column for column in scores.columns},
        dict(scores.threshold_ranges),
        sorted(scores.made_with),
        scores.scale,
    )
    sums, events, waiting = empty_table(1), 0, list[Columns]()
    with (
        new_file(path) as temporary,
        _WRITERS[path.suffix](temporary, scores, msgspec.json.encode(about), lambda: sums) as extend,
    ):
        for part in scores.selections():
            sums = merge_tables([sums, part.sums])
            events += (n := len(part.columns["id"]))
            waiting += [part.columns] if n else []
            if sum(len(columns["id"]) for columns in waiting) >= _ROWS:
                extend(joined(waiting))
                waiting = []
        if waiting:
            extend(joined(waiting))
    return events


def check_event_file(path: Path) -> None:
    """Raise TrigemuError if the suffix of a file name belongs to no format, or to one that cannot be
    written."""
    if path.suffix not in _WRITERS:
        raise TrigemuError(f"{path} should end in {' or '.join(_WRITERS)}")
    if path.suffix == ".parquet":
        _pyarrow_for("writing")


@contextmanager
def _parquet(
    path: Path, table: EventTable, about: bytes, sums: Callable[[], PatternTable]
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
    schema = pyarrow.schema(fields, metadata={PARQUET_ABOUT: about})

    def extend(part: Columns) -> None:
        arrays = [pyarrow.DictionaryArray.from_arrays(part["sample"], samples)]
        arrays += [pyarrow.array(part[field.name]) for field in fields[1:]]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    options = {"compression": "zstd", "write_page_checksum": True}
    # pyarrow cannot open a path that is not UTF-8.
    with path.open("wb") as file, pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
        yield extend
        left_out = sums()
        text = msgspec.json.encode(
            {name: getattr(left_out, name).tolist() for name in COLUMNS if name != "words"}
        )
        digest = hashlib.sha256(about + text).hexdigest()
        writer.add_key_value_metadata({SUMS: text, DIGEST: digest})


@contextmanager
def _root(path: Path, table: EventTable, about: bytes, _: object) -> Iterator[Callable[[Columns], object]]:
    """Write the tree `events`, and the names of samples and the meaning of columns as JSON."""
    import uproot

    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"trigemu/{table.menu.name}")
    with without_clock(), uproot.recreate(path, uuid_function=lambda: identity) as file:
        file[ABOUT] = about.decode()
        yield file.mktree(TREE, {c.name: np.dtype(c.dtype) for c in table.columns}).extend


_WRITERS: Mapping[str, Callable[..., AbstractContextManager[Callable[[Columns], object]]]] = {
    ".parquet": _parquet,
    ".root": _root,
}


def read_scores(path: Path, menus: MenusLike, catalogue: SamplesLike = None) -> EventTable:
    """Read a table of events from Parquet.

    Parameters
    ----------
    path : Path
        The file, of `trigemu scores` or `trigemu events`.
    menus : path, Menu, or list of these
        The menus to emulate: those that the table was made for, or others with the same triggers.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples of the table, as in `emulate`; their events are not read.

    Returns
    -------
    EventTable

    Raises
    ------
    TrigemuError
        If the file is not such a table, is damaged, or was made from other samples.
    """
    pyarrow = _pyarrow_for("reading")
    menus = menus_of(menus)
    catalogue = at_conditions(menus, catalogue)
    try:
        with (
            Path(path).open("rb") as stream,
            pyarrow.parquet.ParquetFile(stream, page_checksum_verification=True) as file,
        ):
            about, sums = _read_about(path, file.metadata.metadata or {}, catalogue)
            columns, arrays = tuple(about.columns.values()), Columns()
            for column in columns:
                values = file.read([column.name]).column(0)
                if column.name == "sample":
                    named = values.unify_dictionaries().combine_chunks().dictionary_encode()
                    numbers = [catalogue.sample(name).number for name in named.dictionary.to_pylist()]
                    values = np.array(numbers, np.int32)[named.indices]
                arrays[column.name] = np.asarray(values, column.dtype)
    except (OSError, pyarrow.ArrowException) as error:
        raise TrigemuError(f"{path}: cannot be read as a score table: {error}") from error
    samples = tuple(map(catalogue.sample, about.contents))
    held, expected = len(arrays["id"]) + int(sums.n.sum()), sum(sample.events for sample in samples)
    if held != expected:
        raise TrigemuError(
            f"{path}: it includes {held} events of samples with {expected}: make the table again"
        )
    fired = parse_expression(about.fired) if about.fired else None
    whole, known = Selection(arrays, sums), (about.threshold_ranges, frozenset(about.made_with), about.scale)
    return EventTable(menus, catalogue, samples, columns, lambda: [whole], fired, *known)


def _read_about(
    path: Path, metadata: Mapping[bytes, bytes], catalogue: Catalogue
) -> tuple[About, PatternTable]:
    """Return the metadata of a table, and the sums of the events that were left out. TrigemuError if they are
    damaged, or made from other samples than those of a catalogue."""
    text, sums = (metadata.get(name, b"") for name in (PARQUET_ABOUT, SUMS))
    if PARQUET_ABOUT not in metadata:
        raise TrigemuError(f"{path}: it is not a score table; trigemu scores makes one")
    if hashlib.sha256(text + sums).hexdigest().encode() != metadata.get(DIGEST):
        raise TrigemuError(f"{path}: its metadata are damaged: make the table again")
    if (version := json.loads(text)["format"]) != FORMAT:
        raise TrigemuError(f"{path}: format = {version}, expected {FORMAT}: make the table again")
    about, samples = msgspec.json.decode(text, type=About), {s.name: s for s in catalogue.samples}
    for name, content in about.contents.items():
        if name not in samples or _content(samples[name]) != content:
            raise TrigemuError(
                f"{path}: it was made from a sample {name!r} that differs from that of {catalogue.path}"
            )
    if missing := {sample.name for sample in catalogue.background} - about.contents.keys():
        raise TrigemuError(f"{path}: it was made without the sample {min(missing)!r}")
    kinds = dict.fromkeys(("largest", "weight", "square"), np.float64)
    rest: dict[str, Any] = {
        name: np.array(values, kinds.get(name, np.int64)) for name, values in json.loads(sums).items()
    }
    return about, PatternTable(words=np.zeros((len(rest["n"]), 1), np.uint64), **rest)


def _content(sample: Sample) -> str:
    """Return a fingerprint of a sample, independent of the folder of its files."""
    files = [(Path(source.path).name, source.entries, source.identity) for source in sample.sources]
    return fingerprint(sample.identity, files)


def _pyarrow_for(doing: str) -> Any:
    """Return pyarrow with its module for Parquet, or raise MissingExtraError on `doing` with Parquet."""
    module_of_extra("pyarrow.parquet", f"{doing} Parquet", "formats", "pyarrow")
    import pyarrow

    return pyarrow
