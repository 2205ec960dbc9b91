"""Checkpoints: the results of finished tasks in a folder, one file each.

A file consists of a line with the digest of the rest, a line of JSON that describes it (`Head`), and the
result (`packing`). Its name begins with the key of the work. A run looks up which of its units have a result,
whatever tasks they were part of.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import msgspec

from trigemu.base.errors import TrigemuError
from trigemu.base.files import (
    TEMPORARY,
    check_no_pipe,
    check_writable,
    is_file,
    is_folder,
    read_bounded,
    write_bytes,
)
from trigemu.base.fingerprint import pack, unpack
from trigemu.base.tasks import R, U, Work

SUFFIX = ".task"
_MAGIC = b"trigemu checkpoint 1 "
_NAME = re.compile(rf"[0-9a-f]{{32}}-[0-9a-f]{{32}}{re.escape(SUFFIX)}")
_DAMAGED = "is damaged or of another program"
#: Largest result of a task that is read, in bytes.
_MOST = 2**31
#: Longest second line, in bytes.
_LONGEST_HEAD = 2**24


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a file of a checkpoint.

    Attributes
    ----------
    work : str
        The key of the work.
    units : tuple of str
        The keys of the units that were done, in their order.
    about : str
        A description of the work for the user.
    size : int
        The number of events.
    version : str
        The version of trigemu.
    """

    work: str
    units: tuple[str, ...]
    about: str
    size: int
    version: str


@dataclass(frozen=True)
class Part(Generic[U, R]):
    """Consecutive units, and their result if it is already stored."""

    units: Sequence[U]
    result: R | None = None

    @property
    def size(self) -> int:
        """The number of events."""
        return sum(unit.size for unit in self.units)


@dataclass(frozen=True)
class StoredTask:
    """A file of a checkpoint. head: None if it is damaged or not a file of trigemu."""

    path: Path
    head: Head | None
    bytes: int
    written: float


class Checkpoint:
    """A folder with the results of finished tasks; it is made if it does not exist.

    Parameters
    ----------
    folder : Path
        The folder.

    Raises
    ------
    TrigemuError
        If it cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            reason = getattr(error, "strerror", error)
            raise TrigemuError(f"cannot make the checkpoint folder {folder}: {reason}") from None
        check_writable(folder / "of a task")

    def divided(
        self, work: Work[U, R], units: Sequence[U], warn: Callable[[str], None]
    ) -> Iterator[Part[U, R]]:
        """Divide the `units` of a `work` into parts with stored results, and the parts between them. `warn`
        is called with a message for each damaged file."""
        tasks = self._tasks(work.key, warn)
        keys = [unit.key for unit in units] if tasks else []
        begin = position = 0
        while position < len(keys):
            for path, head in tasks.get(keys[position], ()):
                end = position + len(head.units)
                if tuple(keys[position:end]) != head.units:
                    continue
                try:
                    result = unpack(_body(path), work.classes)
                except TrigemuError as error:
                    warn(f"{path} {error}: its part is done again")
                    continue
                try:
                    work.check(units[position:end], result)
                except TrigemuError as error:
                    warn(f"{path} holds what no task gives ({error}): its part is done again")
                    continue
                if begin < position:
                    yield Part(units[begin:position])
                yield Part(units[position:end], result)
                begin = position = end
                break
            else:
                position += 1
        if begin < len(units):
            yield Part(units[begin:])

    def _tasks(self, work: str, warn: Callable[[str], None]) -> dict[str, list[tuple[Path, Head]]]:
        """Return the finished tasks of a work, by the key of their first unit, the longest first."""
        tasks_of: dict[str, list[tuple[Path, Head]]] = {}
        for path in sorted(self.folder.glob(f"{work[:32]}-*{SUFFIX}")):
            head = _head(path)
            if head is None or path.name != _name(head):  # the name checks the key and the units
                warn(f"{path} {_DAMAGED}: its part is done again")
            elif head.work == work and head.units:
                tasks_of.setdefault(head.units[0], []).append((path, head))
        for tasks in tasks_of.values():
            tasks.sort(key=lambda task: -len(task[1].units))
        return tasks_of

    def keep(self, head: Head, result: object) -> None:
        """Write the `result` of the units in `head` to the disk; raise TrigemuError if that fails."""
        body = msgspec.json.encode(head) + b"\n" + pack(result)
        digest = hashlib.sha256(body).hexdigest().encode()
        path = self.folder / _name(head)
        if not is_file(path):
            with suppress(OSError):  # a pipe would block; a folder leads to a message below
                path.unlink()
        write_bytes(path, _MAGIC + digest + b"\n" + body)


def listed_tasks(folder: Path) -> Iterator[StoredTask]:
    """Yield the files of a checkpoint; ignore other files in the folder.

    Raises TrigemuError if there is no such folder, or it cannot be read.
    """
    if not is_folder(folder):
        raise TrigemuError(f"no folder {folder}: expected one that was given as --checkpoint")
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise TrigemuError(f"cannot read the folder {folder}: {error.strerror}") from None
    for path in paths:
        if _NAME.fullmatch(path.name) and is_file(path):
            with suppress(FileNotFoundError):  # pruned by another program
                status = path.stat()
                yield StoredTask(path, _sound(path), status.st_size, status.st_mtime)


def prune(folder: Path, days: float) -> tuple[int, int]:
    """Remove files that are damaged or older than some days, and temporary files of killed programs. Returns
    the number of files and of bytes; raises TrigemuError if one cannot be removed."""
    before = time.time() - days * 86_400
    old = {k.path: k.bytes for k in listed_tasks(folder) if k.head is None or k.written <= before}
    try:
        for left in folder.glob(f"{TEMPORARY}*"):
            if is_file(left) and (status := left.stat()).st_mtime <= before:
                old[left] = status.st_size
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise TrigemuError(f"cannot remove {error.filename}: {error.strerror}") from None
    return len(old), sum(old.values())


def _sound(path: Path) -> Head | None:
    """Return the description of a file; None if it is damaged."""
    try:
        _body(path)
    except TrigemuError:
        return None
    return _head(path)


def _name(head: Head) -> str:
    units = hashlib.sha256(msgspec.json.encode((head.work, head.units))).hexdigest()
    return f"{head.work[:32]}-{units[:32]}{SUFFIX}"


def _head(path: Path) -> Head | None:
    try:
        check_no_pipe(path)
        with path.open("rb") as file:
            first = file.readline(len(_MAGIC) + 65)
            line = file.readline(_LONGEST_HEAD)
        return msgspec.json.decode(line, type=Head) if first.startswith(_MAGIC) else None
    except (OSError, ValueError, msgspec.MsgspecError, TrigemuError):
        return None


def _body(path: Path) -> bytes:
    """Return the result in a file, after checking its digest."""
    try:
        content = read_bounded(path, _MOST)
    except OSError as error:
        raise TrigemuError(f"cannot be read: {error.strerror}") from None
    start = len(_MAGIC) + 65
    body = memoryview(content)[start:]
    if content[:start] != _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise TrigemuError(_DAMAGED)
    return content[content.index(b"\n", start) + 1 :]
