"""Atomic writing: a file is the old one or the whole new one, whatever ends the program.

A file is written under a temporary name in the folder of its target, brought to the disk, and renamed. Its
writer holds a lock on the temporary file: one without a lock is of a program that was killed, and is removed
when the same target is written the next time.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trigemu.support.errors import TrigemuError
from trigemu.support.interruption import undone

try:
    import fcntl
except ImportError:  # Windows: what a killed program leaves is kept
    fcntl = None  # type: ignore[assignment]

#: How names of temporary files and folders begin; a digest of the target's name and a random part follow.
TEMPORARY = ".trigemu-"
#: Links that are followed from a name to its file, as many as Linux follows.
_MAX_LINKS = 40
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(self|thread-self|\d+)(/task/\d+)?/fd")


def write_text(path: Path | str, text: str) -> None:
    """Write a file in UTF-8, as `write_bytes` does.

    Parameters
    ----------
    path : path
        The file.
    text : str
        Its content.

    Raises
    ------
    TrigemuError
        If the file cannot be written.
    """
    # A lone surrogate, of a file name that is no UTF-8, becomes an escape.
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path | str, content: bytes) -> None:
    """Replace a file, or make it; whatever interrupts this, the file is the old one or the whole new one.

    A file keeps its mode. A link stays, and the file that it points to is replaced; of several hard links
    only the given name gets the new file. Devices and pipes are written to.

    Parameters
    ----------
    path : path
        The file.
    content : bytes
        Its content.

    Raises
    ------
    TrigemuError
        If the file cannot be written.
    """
    given = Path(path)
    check_writable(given)
    with _errors(given):
        target, descriptor = _destination(given)
        if descriptor is not None:
            sys.stdout.flush()
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
        elif target.exists() and not target.is_file():
            with target.open("wb") as file:
                file.write(content)
        else:
            _replace(target, content)


def check_writable(path: Path | str) -> None:
    """Check that a file can be written, before its content is computed.

    Parameters
    ----------
    path : path
        The file, which need not exist.

    Raises
    ------
    TrigemuError
        If the file cannot be written.
    """
    given = Path(path)
    with _errors(given):
        target, descriptor = _destination(given)
        if descriptor is not None:
            return
        if target.is_dir():
            raise TrigemuError(f"cannot write {given}: it is a folder")
        if target.is_block_device():
            raise TrigemuError(f"cannot write {given}: it is a disk")
        if target.exists() and not os.access(target, os.W_OK):
            raise TrigemuError(f"cannot write {given}: the file is read-only")
        if target.exists() and not target.is_file():
            return
        if not target.parent.is_dir():
            folder = target.parent if given.is_symlink() else given.parent
            raise TrigemuError(f"cannot write {given}: there is no folder {folder}")
        if not os.access(target.parent, os.W_OK):
            raise TrigemuError(f"cannot write {given}: its folder is not writable")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | str | None] = ()) -> None:
    """Check that outputs can be written, and that each is another file than all other outputs and inputs.

    Parameters
    ----------
    outputs : iterable of Path or None
        The files that will be written; None for an option that is not given.
    inputs : iterable of path or None
        The files that are read.

    Raises
    ------
    TrigemuError
        If an output cannot be written, or would replace another file, under whatever names.
    """
    written: list[Path] = []
    read = [Path(name) for name in inputs if name is not None]
    for output in filter(None, outputs):
        for other in written:
            if _same(output, other):
                raise TrigemuError(f"cannot write {output}: {other} is the same file, and is written too")
        for other in read:
            if _same(output, other):
                raise TrigemuError(f"cannot write {output}: {other}, which is read, is the same file")
        check_writable(output)
        written.append(output)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder that appears under its name only when its content is complete.

    Parameters
    ----------
    path : Path
        The folder, which must not exist.

    Returns
    -------
    context manager of Path
        A temporary folder beside it, to write into. It is renamed at the end of the block, or removed if
        anything fails.

    Raises
    ------
    TrigemuError
        If the folder exists or cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise TrigemuError(f"cannot write {path}: it already exists: remove it or choose another name")
    check_writable(path)
    with _errors(path):
        target = path.absolute()
        with temporary_folder(target, 0o777) as made:
            yield made
            _synchronise_tree(made)
            made.rename(target)
            _synchronise(target.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield the name of a file that a library writes, in a temporary folder. At the end it takes the place of
    the given one; if anything fails, that stays as it was. Raises TrigemuError if it cannot be written."""
    check_writable(path)
    with _errors(path):
        target, descriptor = _destination(path)
        if descriptor is not None or (target.exists() and not target.is_file()):
            raise TrigemuError(f"cannot write {path}: such a file can only be written on a disk")
        with temporary_folder(target) as folder:
            made = folder / target.name
            yield made
            with made.open("rb+") as file:
                if target.exists():
                    _inherit(file.fileno(), target.stat())
                os.fsync(file.fileno())
            made.replace(target)
        _synchronise(target.parent)


@contextmanager
def temporary_folder(target: Path, mode: int = 0o700) -> Iterator[Path]:
    """Make a folder beside a file or folder, for the time of a block.

    What killed programs left for the same target is removed first.

    Parameters
    ----------
    target : Path
        The file or folder that will be made from the content.
    mode : int
        The permissions of the folder.

    Returns
    -------
    context manager of Path
        The folder, which is removed at the end if it is still there.
    """
    _remove_dead(target)
    folder = _temporary_name(target)
    with undone(lambda: shutil.rmtree(folder, ignore_errors=True)):
        try:
            folder.mkdir(mode)
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                with _locked(descriptor):
                    yield folder
            finally:
                os.close(descriptor)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrigemuError(f"cannot write {path}: {error.strerror or error}") from None


def _destination(path: Path) -> tuple[Path, int | None]:
    """Follow links to the file itself; and to an open file of this process, as /dev/stdout is one."""
    for _ in range(_MAX_LINKS):
        folder = os.path.realpath(path.parent)
        opened = _DESCRIPTORS.fullmatch(folder)
        if opened and path.name.isdigit() and opened[1] in (None, "self", "thread-self", str(os.getpid())):
            return path, int(path.name)
        if not path.is_symlink():
            return Path(folder) / path.name, None
        path = path.parent / path.readlink()
    raise TrigemuError(f"cannot write {path}: too many links lead to it")


def _same(one: Path, other: Path) -> bool:
    """Return whether two names are of one file, or would be. Devices and pipes can be written twice."""
    try:
        found = one.stat()
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, other.stat())
    except (OSError, ValueError):  # one of them does not exist, or is no name of a file
        return os.path.realpath(one) == os.path.realpath(other)


def _replace(target: Path, content: bytes) -> None:
    _remove_dead(target)
    for last in (False, False, True):
        try:
            _write_and_rename(target, content)
            break
        except FileNotFoundError:  # another run took it for dead, in the moment before it was locked
            if last:
                raise
    _synchronise(target.parent)


def _write_and_rename(target: Path, content: bytes) -> None:
    old = target.stat() if target.exists() else None
    temporary = _temporary_name(target)
    with undone(lambda: temporary.unlink(missing_ok=True)):
        try:
            # Only this call makes it, with a random name, and does not follow a link of that name.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(temporary, flags | getattr(os, "O_BINARY", 0), 0o600 if old else 0o666)
            with _locked(descriptor):
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    if old:
                        _inherit(descriptor, old)
                    os.fsync(descriptor)
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _inherit(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner, group and permissions of the one that it replaces, as far as that is allowed."""
    if hasattr(os, "fchown"):
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.fchown(descriptor, owner, group)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f"{_marked(target)}{secrets.token_hex(8)}")


def _marked(target: Path) -> str:
    """Return how temporary names of a target begin. A digest of its name is never too long."""
    return f"{TEMPORARY}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _remove_dead(target: Path) -> None:
    """Remove temporary files and folders of this target that nobody writes any more."""
    if fcntl is None:
        return
    start = _marked(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in [entry for entry in entries if entry.name.startswith(start)]:
            with suppress(OSError):  # it is locked, or already gone
                descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        Path(entry.path).unlink()
                finally:
                    os.close(descriptor)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Show that a temporary file or folder has a living writer, where the file system has locks."""
    if fcntl is None:
        yield
        return
    held = os.dup(descriptor)
    try:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(held)


def _synchronise_tree(folder: Path) -> None:
    for below, _, names in os.walk(folder):
        for name in names:
            _synchronise(Path(below) / name)
        _synchronise(Path(below))


def _synchronise(path: Path) -> None:
    """Bring a file or the entries of a folder to the disk; not every file system can do the latter."""
    with suppress(PermissionError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError:
            if not path.is_dir():
                raise
        finally:
            os.close(descriptor)
