"""Files of events: their format from their content, their properties, found once by a survey of many files in
parallel, and the numbers of their events."""

from __future__ import annotations

import hashlib
import pickle
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import fsspec
import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray
from trigemu.base.errors import SampleError, UnreadableError, excerpt, quoted
from trigemu.base.files import is_there
from trigemu.base.fingerprint import fingerprint
from trigemu.base.mapping import CHUNK_EVENTS, Engine, Work, map_chunks
from trigemu.base.splitmix import splitmix64
from trigemu.samples.events import Need
from trigemu.samples.formats import each_format, format_named, format_names
from trigemu.samples.formats.root import open_root
from trigemu.samples.formats.source import Beginning, ReadEvents, Schema, Source
from trigemu.samples.locations import is_local_folder, located, opened, parts, timeouts
from trigemu.samples.sample import naming

#: Bytes from the beginning of a file that identify its format, and characters of them in messages.
_START, _SHOWN = 512, 60


#: The format of ROOT files whose tree has a name of its own.
_PLAIN = "nanoaod"


def format_of(path: str, tree: str | None = None) -> str:
    """Return the name of the format of a file or folder. Raises SampleError if no format recognises it;
    errors on opening the file are passed on. tree: the name of the tree with the events in a ROOT file."""
    beginning = _beginning(path)
    if tree and beginning.trees:
        beginning = replace(beginning, trees=(tree.rpartition("/")[2].partition(";")[0],))
    for name, source in each_format():
        if source.recognises(beginning):
            return name
    if beginning.start.startswith(b"root"):
        return _PLAIN
    raise SampleError(
        f"unknown format: it is {_described(beginning)}, which none of the formats recognises "
        f"(known: {', '.join(format_names())})"
    )


def _described(beginning: Beginning) -> str:
    """Describe a file in a message, from its beginning."""
    start = beginning.start
    if beginning.folder:
        return "a folder without a catalogue.toml"
    if not start.strip():
        return "blank" if start else "empty"
    try:
        text = start.decode("utf-8", "ignore" if len(start) == _START else "strict")
    except UnicodeDecodeError:
        text = "\0"
    line = text.strip().splitlines()[0] if "\0" not in text else ""
    return f"text that begins with {quoted(excerpt(line, _SHOWN))}" if line else "binary data of another kind"


def _beginning(path: str) -> Beginning:
    if is_local_folder(path):
        return Beginning(True, b"", ())
    with opened(path, compression="infer") as stream:
        start: bytes = stream.read(_START)
    if not start.startswith(b"root"):
        return Beginning(False, start, ())
    with open_root(path) as file:
        return Beginning(False, start, tuple(file.keys(cycle=False, recursive=False)))


#: Files that a process keeps open.
OPEN_FILES = 32


@dataclass(frozen=True)
class Facts:
    """The properties of a file; see `Source` for those that are not explained here."""

    entries: int
    boundaries: tuple[int, ...]
    schema: Schema
    neighbours: Literal["none", "line", "orbit"]
    has_parents: bool
    stored: tuple[str, ...]
    sum_of_weights: float | None  # None if it was not requested, or a signal has none
    sha256: str | None  # Its digest; None for a remote file without a digest in the catalogue
    identity: str  # A text that changes when the file does
    # Identifies the opening of the catalogue: files may change until the next.
    opening: str = field(compare=False)
    no_sum: str = ""  # Why a signal has no sum of weights; empty if it has one
    tree: str = ""  # The name of the tree with the events in a ROOT file; empty for other files
    # The numbers of its events, until they are compared with those of other files.
    numbering: Numbering | None = field(default=None, compare=False)

    def for_reading(self) -> Facts:
        """Return the few properties that are needed to read events, which are sent with every task."""
        return replace(self, boundaries=(), schema=Schema({}, frozenset()), stored=())


@dataclass
class EventFile(Source):
    """A file of events with known properties. Reading raises UnreadableError if the number of events has
    changed: it is then another file."""

    format: str = field(kw_only=True)
    facts: Facts = field(kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "facts": self.facts.for_reading()}

    @property
    def _opened(self) -> Source:
        source = opened_source(self.format, self.path, self.facts.opening, self.tree)
        if source.entries != self.entries:
            raise UnreadableError(
                f"has {source.entries} events, and had {self.entries} when its catalogue was opened"
            )
        return source

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        return self._opened.read(start, stop, needs)

    @property
    def types(self) -> Mapping[Need, str]:
        return self._opened.types

    @property
    def weight_column(self) -> str:
        return self._opened.weight_column

    def counted(self, needs: Iterable[Need]) -> tuple[Need, ...]:
        return self._opened.counted(needs)

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return self._opened.read_stored(start, stop, names)

    @property
    def tree_name(self) -> str:
        return self.facts.tree

    @property
    def physical(self) -> bool:  # type: ignore[override]  # each format has one for all its files
        return format_named(self.format).physical

    @property
    def entries(self) -> int:
        return self.facts.entries

    @property
    def boundaries(self) -> tuple[int, ...]:
        return self.facts.boundaries

    @property
    def schema(self) -> Schema:
        return self.facts.schema

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        return self.facts.neighbours

    @property
    def has_parents(self) -> bool:
        return self.facts.has_parents

    @property
    def stored(self) -> tuple[str, ...]:
        return self.facts.stored

    @property
    def sum_of_weights(self) -> float:
        if self.facts.no_sum:
            raise SampleError(f"{self.path}: {self.facts.no_sum}")
        assert self.facts.sum_of_weights is not None, "it was not requested"
        return self.facts.sum_of_weights

    @property
    def identity(self) -> str:
        return self.facts.identity


@lru_cache(maxsize=OPEN_FILES)
def opened_source(format: str, path: str, opening: str, tree: str) -> Source:
    """Return a file, which is opened when it is first used. opening: see `Facts`."""
    return format_named(format)(path, tree=tree)


#: Hashes that are kept of all files together, and at least of each.
MOST_HASHES, LEAST_HASHES = 2**23, 2**10
#: The columns of run, section and number of an event.
_COLUMNS = (
    ("run", "luminosityBlock", "event"),
    ("run", "luminosityBlock", "id"),
    ("runNumber", "lumiBlock", "eventNumber"),
)
#: The largest hash.
ALL = 2**64 - 1

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Numbering:
    """The numbers of the events of a file."""

    hashes: Hashes  # uint64[k]: Hashes of run, section and number of its events, up to `limit`
    limit: int  # The largest hash that is kept
    simulated: bool  # Whether other events may have the same numbers


def numbering_of(source: Source, most: int) -> Numbering | None:
    """Return the numbers of the events of a file; None if it has none. most: how many hashes are kept."""
    if not (columns := numbers_of(source)):
        return None
    kept, limit, simulated = [np.empty(0, np.uint64)], ALL, bool(source.weight_column)
    for _, (run, _, _), hashes in hashed(source, columns):
        simulated |= bool(np.less_equal(run, 1).any())
        kept.append(hashes[hashes <= np.uint64(limit)])
        if sum(map(len, kept)) > 2 * most:
            kept, limit = _smallest(kept, most)
    if sum(map(len, kept)) > most:
        kept, limit = _smallest(kept, most)
    return Numbering(np.concatenate(kept), limit, simulated)


def _smallest(hashes: list[Hashes], most: int) -> tuple[list[Hashes], int]:
    kept = np.partition(np.concatenate(hashes), most - 1)[:most]
    return [kept], int(kept.max())


def numbers_of(source: Source) -> list[Need]:
    """Return the columns of run, section and number of the events; none if the file lacks one of them."""
    names = next((names for names in _COLUMNS if {*names} <= source.schema.scalars), ())
    return [("", name) for name in names]


def hashed(source: Source, columns: Sequence[Need]) -> Iterator[tuple[int, list[Array], Hashes]]:
    """Yield ranges of a file: the first entry; runs, sections and numbers of its events; and their hashes."""
    for start in range(0, source.entries, CHUNK_EVENTS):
        stop = min(start + CHUNK_EVENTS, source.entries)
        scalars = source.read(start, stop, columns).scalars
        hashes = np.zeros(stop - start, np.uint64)
        for _, name in columns:
            hashes = splitmix64(hashes ^ scalars[name].astype(np.uint64))
        yield start, [scalars[name] for _, name in columns], hashes


#: Properties of a file on a server that change with it.
_TAGS = ("size", "ETag", "Content-MD5", "Digest", "Last-Modified", "mtime")
#: Total size of files that this process opens without workers.
_FEW_BYTES = 2**30
#: Events whose weights are read at a time.
_SUMMED = 2**20
#: Seconds before a remote file is tried again.
PAUSE_S = 1.0


@dataclass(frozen=True)
class ToOpen:
    """A file to open. sha256: in the catalogue. opening: see `Facts`. weighted: whether the sum of its
    weights is needed. identified: whether its identity is needed. missing: the message if the file does not
    exist. signal: whether it may lack the sum of weights, because no rate depends on it. tree: the name of
    the tree with its events; empty: the format finds it. hashes: how many are kept of the numbers of its
    events. declared: whether the catalogue has the sum of the weights of all generated events."""

    sample: str
    path: str
    format: str
    sha256: str | None
    opening: str
    weighted: bool
    identified: bool
    missing: str = ""
    signal: bool = False
    tree: str = ""
    hashes: int = 0
    declared: bool = False

    @property
    def size(self) -> int:
        return 1

    @property
    def key(self) -> str:
        return fingerprint(self)

    @property
    def pause(self) -> float:
        return PAUSE_S if self.is_remote else 0.0

    @property
    def is_remote(self) -> bool:
        return isinstance(located(self.path), str)


@dataclass(frozen=True)
class Problem:
    """The reason why a file cannot be used. unreadable: whether it may be left out. settled: whether its
    server reports that it does not exist."""

    message: str
    unreadable: bool
    settled: bool = False


Surveyed = Facts | Problem


class Survey(Work[ToOpen, Surveyed]):
    """The work of opening files. A problem of a file is a result, so that all problems are reported at once.

    host: the machine that opens the files, if it may differ from the user's.
    """

    def __init__(self, host: str = "") -> None:
        self._host = host

    def __call__(self, file: ToOpen) -> Surveyed:
        result = survey(file)
        if isinstance(result, Problem) and self._host and not file.missing:
            return replace(result, message=f"{result.message} (opened on {self._host})")
        return result

    def content(self) -> bytes:
        return pickle.dumps((_survey_on_worker, (socket.gethostname(),)))


def surveyed(files: Sequence[ToOpen], engine: Engine) -> list[Surveyed]:
    """Return the properties or the problem of each file. A file that cannot be read is opened again if it is
    remote, or by another worker."""
    plain = replace(engine, checkpoint=None)  # checkpoints need the properties
    if _are_few(files):  # faster than starting workers
        plain.executor = None
    results = [*map_chunks(Survey(), files, plain)]
    for attempt in range(engine.retries):
        failed = [
            n
            for n, (file, result) in enumerate(zip(files, results, strict=True))
            if isinstance(result, Problem) and result.unreadable and not result.settled
            if file.is_remote or engine.executor
        ]
        if not failed:
            break
        time.sleep(max(files[n].pause for n in failed) * 2**attempt)
        again = map_chunks(Survey(), [files[n] for n in failed], plain)
        for n, result in zip(failed, again, strict=True):
            results[n] = result
    schemas: dict[object, Schema] = {}  # those of one sample are equal, and held once
    for n, result in enumerate(results):
        if isinstance(result, Facts):
            content = frozenset(result.schema.collections.items()), result.schema.scalars
            results[n] = replace(result, schema=schemas.setdefault(content, result.schema))
    return results


def _are_few(files: Sequence[ToOpen]) -> bool:
    """Whether this process can open and verify the files in about a second."""
    if len(files) > OPEN_FILES:
        return False
    local = [where for file in files if isinstance(where := located(file.path), Path) and is_there(where)]
    return sum(path.stat().st_size for path in local) <= _FEW_BYTES


def _survey_on_worker(user: str) -> Survey:
    host = socket.gethostname()
    return Survey(host if host != user else "")


def survey(file: ToOpen) -> Surveyed:
    """Return the properties of a file, or the reason why it cannot be used."""
    if file.missing:
        return Problem(f"sample {file.sample!r}: {file.missing}", True, True)
    try:
        sha256 = _verified(file)
        with naming(file.sample, file.path):
            source = opened_source(file.format, file.path, file.opening, file.tree)
            _check_format(source, file.format)
            total, no_sum = _sum_of_weights(source, file)
            return Facts(
                entries=source.entries,
                boundaries=source.boundaries,
                schema=source.schema,
                neighbours=source.neighbours,
                has_parents=source.has_parents,
                stored=source.stored,
                sum_of_weights=total,
                sha256=sha256,
                identity=sha256 or (_tag(file.path) if file.identified else ""),
                opening=file.opening,
                no_sum=no_sum,
                tree=source.tree_name,
                numbering=numbering_of(source, file.hashes) if file.hashes else None,
            )
    except SampleError as error:
        settled = file.is_remote and isinstance(error.__cause__, FileNotFoundError)
        return Problem(str(error), isinstance(error, UnreadableError), settled)


def _check_format(source: Source, format: str) -> None:
    """Raise SampleError if the tree of a ROOT file is that of another format, with other columns."""
    tree = source.tree_name.rpartition("/")[2]
    if not source.trees or tree in source.trees:
        return
    for name, other in each_format():
        if tree in other.trees:
            raise SampleError(
                f'its tree {tree!r} has the format {name!r}, not {format!r}: give format = "{name}" in its '
                f"catalogue entry"
            )


def _sum_of_weights(source: Source, file: ToOpen) -> tuple[float | None, str]:
    """Return the sum of the weights of a file, if it is needed, and the reason if a signal has none. If the
    catalogue has the sum of all generated events and the file does not, it is that of the file's events."""
    if not file.weighted:
        return None, ""
    try:
        return source.sum_of_weights, ""
    except UnreadableError:
        raise
    except SampleError as error:
        if file.declared:
            return _sum_over_events(source), ""
        if not file.signal:
            raise
        return None, str(error)


def _sum_over_events(source: Source) -> float | None:
    """Return the sum of the weights of the events of a file; None if some are negative: a part of them may
    then add up to more than all."""
    total = 0.0
    for start in range(0, source.entries, _SUMMED):
        read = source.read(start, min(start + _SUMMED, source.entries), ())
        weight = np.asarray(read.weight, np.float64)
        if (weight < 0).any():
            return None
        total += float(weight.sum())
    return total


def _tag(path: str) -> str:
    where = str(located(path))
    system, name = fsspec.url_to_fs(where, **timeouts(where))
    info: dict[str, Any] = system.info(name)
    return repr([(key, info.get(key)) for key in _TAGS])


def _verified(file: ToOpen) -> str | None:
    """Return the digest of a file; None for a remote one without a digest in the catalogue."""
    if file.sha256 is None and file.is_remote:
        return None
    with naming(file.sample, file.path):
        digest = digest_of(file.path)
    if file.sha256 is not None and digest != file.sha256.lower():
        raise UnreadableError(
            f"sample {file.sample!r}: {file.path} has sha256 {digest}, its catalogue says {file.sha256}: the "
            f"file is damaged or a different one"
        )
    return digest


def digest_of(path: str) -> str:
    """Return the sha256 of a file; for a folder, of its files *.parquet concatenated in order of their
    names."""
    digest = hashlib.sha256()
    for file in parts(path):
        with opened(file) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
