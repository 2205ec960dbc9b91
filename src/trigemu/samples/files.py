"""Files of events: their format, from their content, and their properties, of many files in parallel."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import fsspec
import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, IntArray, splitmix64
from trigemu.base.errors import SampleError, UnreadableError, excerpt, quoted
from trigemu.base.files import is_folder
from trigemu.base.mapping import Engine
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.formats import each_format, format_named, format_names
from trigemu.samples.formats.root import open_root
from trigemu.samples.formats.source import Beginning, Schema, Source
from trigemu.samples.locations import digest_of, located, naming, opened, parts, timeouts
from trigemu.samples.normalisation import SampleTable

#: Bytes from the beginning of a file that identify its format, and characters of them in messages.
_START, _SHOWN = 512, 60


def format_of(path: str, tree: str | None = None) -> str:
    """Return the name of the format of a file or folder; raise SampleError if no format recognises it.
    tree: the name of the tree with the events in a ROOT file."""
    beginning = _beginning(path)
    if tree and beginning.trees:
        beginning = replace(beginning, trees=(tree.rpartition("/")[2].partition(";")[0],))
    for name, source in each_format():
        if source.recognises(beginning):
            return name
    start = beginning.start
    if start.startswith(b"root"):
        return "nanoaod"  # its tree has a name of its own
    try:
        text = start.decode("utf-8", "ignore" if len(start) == _START else "strict").strip()
    except UnicodeDecodeError:
        text = "\0"
    kind = "binary data of another kind"
    if beginning.folder:
        kind = "a folder without a catalogue.toml"
    elif not text:
        kind = "blank" if start else "empty"
    elif "\0" not in text:
        kind = f"text that begins with {quoted(excerpt(text.splitlines()[0], _SHOWN))}"
    known = f"which none of the formats recognises (known: {', '.join(format_names())})"
    raise SampleError(f"unknown format: it is {kind}, {known}")


def _beginning(path: str) -> Beginning:
    if is_folder(located(path)):
        return Beginning(True, b"", ())
    with opened(path, compression="infer") as stream:
        start: bytes = stream.read(_START)
    if not start.startswith(b"root"):
        return Beginning(False, start, ())
    with open_root(path) as file:
        return Beginning(False, start, tuple(file.keys(cycle=False, recursive=False)))


#: Files that a process keeps open, and opens without workers.
OPEN_FILES = 32
#: Hashes that are kept of all files together, and at least of each; the largest hash.
MOST_HASHES, LEAST_HASHES, ALL = 2**23, 2**10, 2**64 - 1
#: Events whose numbers or weights are read at a time.
STEP = 2**21
#: The columns of run, section and number of an event.
_NUMBERING = (
    ("run", "luminosityBlock", "event"),
    ("run", "luminosityBlock", "id"),
    ("runNumber", "lumiBlock", "eventNumber"),
)


@dataclass(frozen=True)
class Numbers:
    """The numbers of the events of a file."""

    hashes: npt.NDArray[np.uint64]  # uint64[k]: Hashes of run, section and number of events, up to `limit`
    entries: IntArray  # int64[k]: These events
    limit: int  # The largest hash that is kept
    simulated: bool  # Whether other events may have the same numbers


def numbering(schema: Schema) -> list[Need]:
    """Return the columns of run, section and number of the events; none if a file lacks one of them."""
    return [("", n) for n in next((names for names in _NUMBERING if {*names} <= schema.scalars), ())]


def numbers_of(source: Source, most: int) -> Numbers | None:
    """Return the numbers of the events of a file; None if it has none. most: how many are kept, about."""
    if not (columns := numbering(source.schema)):
        return None
    limit = min(ALL, ALL * most // max(source.entries, 1))
    kept, entries, simulated = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], bool(source.weight_column)
    for start in range(0, source.entries, STEP):
        scalars = source.columns(start, min(start + STEP, source.entries), columns).scalars
        simulated |= bool(np.less_equal(scalars[columns[0][1]], 1).any())
        run, section, number = (scalars[name].astype(np.uint64) for _, name in columns)
        hashes = splitmix64(splitmix64(splitmix64(run) ^ section) ^ number)
        rows = np.flatnonzero(hashes <= np.uint64(limit))
        kept.append(hashes[rows])
        entries.append(start + rows)
    return Numbers(np.concatenate(kept), np.concatenate(entries), limit, simulated)


@dataclass(frozen=True)
class File:
    """A file of events with known properties, which are explained in `Source`. It is opened again where it is
    read; reading raises UnreadableError if the number of events has changed: it is then another file."""

    path: str
    format: str
    tree: str
    sha256: str | None  # In the catalogue; it was verified
    tree_name: str
    entries: int
    boundaries: tuple[int, ...]
    schema: Schema
    neighbours: Literal["none", "line", "orbit"]
    has_parents: bool
    stored: tuple[str, ...]
    physical: bool
    identity: str
    opening: str = field(compare=False)  # That of the catalogue: files may change until the next
    sum_of_weights: float | None  # None: it was not requested, or there is none
    no_sum: str  # Why a signal has no sum of weights
    numbers: Numbers | None = field(default=None, compare=False, repr=False)  # While a catalogue is opened

    def __getstate__(self) -> dict[str, Any]:
        """Return the few properties that are needed to read events, which are sent with every task."""
        return {**self.__dict__, "boundaries": (), "schema": Schema({}, frozenset()), "stored": ()}

    @property
    def opened(self) -> Source:
        source = opened_source(self.format, self.path, self.opening, self.tree)
        if source.entries != self.entries:
            before = f"had {self.entries} when its catalogue was opened"
            raise UnreadableError(f"has {source.entries} events, and {before}")
        return source

    def columns(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        return self.opened.columns(start, stop, needs)

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return self.opened.read_stored(start, stop, names)


@lru_cache(maxsize=OPEN_FILES)
def opened_source(format: str, path: str, opening: str, tree: str) -> Source:
    """Return a file, which is opened when it is first used. opening: as in `File`."""
    return format_named(format)(path, tree=tree)


#: Properties of a file on a server that change with it.
_TAGS = ("size", "ETag", "Content-MD5", "Digest", "Last-Modified", "mtime")
#: Files that a process opens at a time.
_THREADS = 8
#: Seconds before a remote file is tried again.
PAUSE_S = 1.0


@dataclass(frozen=True)
class ToOpen:
    """A file to open."""

    table: SampleTable  # Its sample
    path: str
    sha256: str | None = None  # In the catalogue
    missing: str = ""  # The message if the file does not exist
    weighted: bool = True  # Whether the sum of its weights is needed
    identified: bool = False  # Whether its identity is needed, which for a remote file is one more request
    opening: str = ""  # As in `File`


#: Members of `Source` that are fields of `File`.
_FACTS = "tree_name", "entries", "boundaries", "schema", "neighbours", "has_parents", "stored", "physical"


def open_files(files: Sequence[ToOpen], engine: Engine) -> list[File | SampleError]:
    """Open files, on the workers of an engine if there are many. An error is a result, so that all are
    reported at once."""
    known = partial(_known, engine.retries, max(LEAST_HASHES, MOST_HASHES // max(len(files), 1)))
    elsewhere: Sequence[Any] = [None] * len(files)
    if engine.executor is not None and len(files) > OPEN_FILES:
        elsewhere = [engine.executor.submit(known, file) for file in files]
    with ThreadPoolExecutor(_THREADS) as threads:
        opened = [*threads.map(known, files, elsewhere)]
    schemas: dict[object, Schema] = {}  # those of one sample are equal: keep one
    for facts in opened:
        if not isinstance(facts, SampleError):
            schema = facts["schema"]
            content = frozenset(schema.collections.items()), schema.scalars
            facts["schema"] = schemas.setdefault(content, schema)
    return [facts if isinstance(facts, SampleError) else File(**facts) for facts in opened]


def _known(
    retries: int, hashes: int, file: ToOpen, elsewhere: Future[dict[str, Any] | SampleError] | None = None
) -> dict[str, Any] | SampleError:
    """Return the fields of a `File`, which leaves some out when it is sent. A remote file is opened several
    times: its server may answer later. elsewhere: the future of a worker, which may be lost, or may not see
    the file."""
    with suppress(Exception):
        if elsewhere is not None and not isinstance(facts := elsewhere.result(), SampleError):
            return facts
    for attempt in range(retries + 1):
        facts = _facts_of(file, hashes)
        settled = not isinstance(facts, UnreadableError) or isinstance(facts.__cause__, FileNotFoundError)
        if settled or attempt == retries or "://" not in file.path:
            break
        time.sleep(PAUSE_S * 2**attempt)
    return facts


def _facts_of(file: ToOpen, hashes: int) -> dict[str, Any] | SampleError:
    """Return the fields of a `File`, or the reason why it cannot be used. hashes: as in `numbers_of`."""
    table = file.table
    if file.missing:
        return UnreadableError(f"sample {table.name!r}: {file.missing}")
    try:
        with naming(table.name, file.path):
            if file.sha256 and file.sha256 != (digest := digest_of(file.path)):
                differ = f"has sha256 {digest}, its catalogue says {file.sha256}"
                raise UnreadableError(f"{differ}: the file is damaged or a different one")
            tree = table.tree or ""
            source = opened_source(table.format, file.path, file.opening, tree)
            name = source.tree_name.rpartition("/")[2]
            for other, kind in each_format() if source.trees and name not in source.trees else ():
                if name in kind.trees:
                    differ = f"its tree {name!r} has the format {other!r}, not {table.format!r}"
                    raise SampleError(f'{differ}: give format = "{other}" in its catalogue entry')
            total, no_sum = _sum_of_weights(source, file)
            return {name: getattr(source, name) for name in _FACTS} | {
                "path": file.path,
                "format": table.format,
                "tree": tree,
                "sha256": file.sha256,
                "identity": file.sha256 or _tag(file),
                "opening": file.opening,
                "sum_of_weights": total,
                "no_sum": no_sum,
                "numbers": numbers_of(source, hashes),
            }
    except SampleError as error:
        return error


def _sum_of_weights(source: Source, file: ToOpen) -> tuple[float | None, str]:
    """Return the sum of the weights of a file, if it is needed, and the reason if a signal has none. If the
    catalogue has the sum of all generated events and the file does not, it is that of the file's events."""
    if not file.weighted:
        return None, ""
    try:
        return source.sum_of_weights, ""
    except SampleError as error:
        if isinstance(error, UnreadableError):
            raise
        if file.table.sum_of_weights is None and file.table.role == "signal":
            return None, str(error)
        if file.table.sum_of_weights is None:
            raise
    total = 0.0
    for start in range(0, source.entries, STEP):
        read = source.columns(start, min(start + STEP, source.entries), ())
        weight = np.asarray(read.weight, np.float64)
        if (weight < 0).any():  # a part of them may then add up to more than all
            return None, ""
        total += float(weight.sum())
    return total, ""


def _tag(file: ToOpen) -> str:
    """Return a text that changes when a file does."""
    if "://" not in file.path:
        of_parts = [(path.name, path.stat()) for path in map(Path, parts(file.path))]
        return repr([(name, status.st_size, status.st_mtime_ns) for name, status in of_parts])
    if not file.identified:
        return ""
    where = str(located(file.path))
    system, name = fsspec.url_to_fs(where, **timeouts(where))
    info: dict[str, Any] = system.info(name)
    return repr([(key, info.get(key)) for key in _TAGS])
