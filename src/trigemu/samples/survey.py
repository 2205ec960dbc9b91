"""The survey of files: an engine opens many files in parallel, each once, to find their properties."""

from __future__ import annotations

import hashlib
import pickle
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np

from trigemu.samples.errors import SampleError, UnreadableError
from trigemu.samples.event_file import OPEN_FILES, Facts, opened_source
from trigemu.samples.formats import each_format
from trigemu.samples.formats.source import Schema, Source
from trigemu.samples.locations import located, opened, parts, timeouts
from trigemu.samples.numbering import numbering_of
from trigemu.samples.sample import naming
from trigemu.support import Engine, fingerprint, is_there

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
    def continues(self) -> bool:
        return False

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


class Survey:
    """The work of opening files. A problem of a file is a result, so that all problems are reported at once.

    host: the machine that opens the files, if it may differ from the user's.
    """

    def __init__(self, host: str = "") -> None:
        self._host = host

    about = "survey of files"
    classes: tuple[type, ...] = ()
    key = ""

    def each(self, files: Sequence[ToOpen]) -> Iterator[list[Surveyed]]:
        schemas: dict[object, Schema] = {}
        for file in files:
            result = survey(file)
            if isinstance(result, Facts):  # the schemas of one sample are equal, and sent once
                content = frozenset(result.schema.collections.items()), result.schema.scalars
                result = replace(result, schema=schemas.setdefault(content, result.schema))
            elif self._host and not file.missing:
                result = replace(result, message=f"{result.message} (opened on {self._host})")
            yield [result]

    def merge(self, parts: Sequence[list[Surveyed]]) -> list[Surveyed]:
        return [one for part in parts for one in part]

    def check(self, files: Sequence[ToOpen], part: list[Surveyed]) -> None:
        raise NotImplementedError("results of a survey are never stored")

    def content(self) -> bytes:
        return pickle.dumps((_survey_on_worker, ()))

    def give_up(self, file: ToOpen, error: Exception, host: str, attempts: int) -> None:
        raise error

    def skips(self, file: ToOpen) -> bool:
        return False


def surveyed(files: Sequence[ToOpen], engine: Engine) -> list[Surveyed]:
    """Return the properties or the problem of each file. A file that cannot be read is opened again if it is
    remote, or by another worker."""
    plain = replace(engine, checkpoint=None)  # checkpoints need the properties
    if _are_few(files):  # faster than starting workers
        plain.executor = None
    results = [one for part in plain.over(Survey(), files) for one in part]
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
        again = [one for part in plain.over(Survey(), [files[n] for n in failed]) for one in part]
        for n, result in zip(failed, again, strict=True):
            results[n] = result
    return results


def _are_few(files: Sequence[ToOpen]) -> bool:
    """Whether this process can open and verify the files in about a second."""
    if len(files) > OPEN_FILES:
        return False
    local = [where for file in files if isinstance(where := located(file.path), Path) and is_there(where)]
    return sum(path.stat().st_size for path in local) <= _FEW_BYTES


def _survey_on_worker() -> Survey:
    return Survey(socket.gethostname())


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
