"""The survey of files: each is opened once to learn its facts, by whatever does the work, many at a time."""

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

from trigemu.samples.errors import SampleError, UnreadableError
from trigemu.samples.event_file import OPEN_FILES, Facts, opened_source
from trigemu.samples.formats.source import Schema, Source
from trigemu.samples.locations import located, opened, parts, timeouts
from trigemu.samples.sample import naming
from trigemu.support import Engine, fingerprint, is_there

#: What servers say of a file that changes with it.
_TAGS = ("size", "ETag", "Content-MD5", "Digest", "Last-Modified", "mtime")
#: Bytes of files that this process opens by itself, without workers.
_FEW_BYTES = 2**30
#: Seconds before a remote file is tried again.
PAUSE_S = 1.0


@dataclass(frozen=True)
class ToOpen:
    """A file to open. sha256: what the catalogue says. opening: see `Facts`. weighted: whether the sum of its
    weights is needed. identified: whether its identity is. missing: what to say if there is none. signal:
    whether it may lack that sum, because no rate is made of it."""

    sample: str
    path: str
    format: str
    seal: str
    sha256: str | None
    opening: str
    weighted: bool
    identified: bool
    missing: str = ""
    signal: bool = False

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
    """Why a file cannot be used. unreadable: whether it may be left out, and the others used. settled:
    whether its server said that there is none."""

    message: str
    unreadable: bool
    settled: bool = False


Found = Facts | Problem


class Survey:
    """The work of opening files. A problem of a file is a result, so that all problems are told at once.

    host: the machine that this is done on, if it may be another one than the user's.
    """

    def __init__(self, host: str = "") -> None:
        self._host = host

    about = "survey of files"
    classes: tuple[type, ...] = ()
    key = ""

    def each(self, files: Sequence[ToOpen]) -> Iterator[list[Found]]:
        schemas: dict[object, Schema] = {}
        for file in files:
            found = survey(file)
            if isinstance(found, Facts):  # those of one sample are equal, and sent once
                content = frozenset(found.schema.collections.items()), found.schema.scalars
                found = replace(found, schema=schemas.setdefault(content, found.schema))
            elif self._host and not file.missing:
                found = replace(found, message=f"{found.message} (opened on {self._host})")
            yield [found]

    def merge(self, found: Sequence[list[Found]]) -> list[Found]:
        return [one for part in found for one in part]

    def check(self, files: Sequence[ToOpen], part: list[Found]) -> None:
        raise NotImplementedError("no result of a survey is kept")

    def content(self) -> bytes:
        return pickle.dumps((_survey_here, ()))

    def give_up(self, file: ToOpen, error: Exception, host: str, attempts: int) -> None:
        raise error

    def skips(self, file: ToOpen) -> bool:
        return False


def surveyed(files: Sequence[ToOpen], engine: Engine) -> list[Found]:
    """Return the facts or the problem of each file. One that cannot be read is opened again where that may
    help: a remote one, or by another worker."""
    plain = replace(engine, checkpoint=None)  # what is kept there is known by the facts
    if _are_few(files):  # before workers have started
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
    """Whether this process opens and verifies files in about a second."""
    if len(files) > OPEN_FILES:
        return False
    local = [where for file in files if isinstance(where := located(file.path), Path) and is_there(where)]
    return sum(path.stat().st_size for path in local) <= _FEW_BYTES


def _survey_here() -> Survey:
    return Survey(socket.gethostname())


def survey(file: ToOpen) -> Found:
    """Return what there is to know of a file, or why it cannot be used."""
    if file.missing:
        return Problem(f"sample {file.sample!r}: {file.missing}", True, True)
    try:
        sha256 = file.sha256 if file.seal else _verified(file)  # a seal is compared while it is read
        with naming(file.sample, file.path):
            source = opened_source(file.format, file.path, file.seal, file.opening)
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
                identity=sha256 or file.seal or (_tag(file.path) if file.identified else ""),
                opening=file.opening,
                no_sum=no_sum,
            )
    except SampleError as error:
        settled = file.is_remote and isinstance(error.__cause__, FileNotFoundError)
        return Problem(str(error), isinstance(error, UnreadableError), settled)


def _sum_of_weights(source: Source, file: ToOpen) -> tuple[float | None, str]:
    """Return the sum of the weights of a file, if it is needed, and why a signal has none."""
    if not file.weighted:
        return None, ""
    try:
        return source.sum_of_weights, ""
    except UnreadableError:
        raise
    except SampleError as error:
        if not file.signal:
            raise
        return None, str(error)


def _tag(path: str) -> str:
    where = str(located(path))
    system, name = fsspec.url_to_fs(where, **timeouts(where))
    told: dict[str, Any] = system.info(name)
    return repr([(key, told.get(key)) for key in _TAGS])


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
