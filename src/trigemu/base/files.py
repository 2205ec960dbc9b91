"""Reading of files, bounded in size, and atomic writing: a file is either the old one or the complete new
one, whatever ends the program.

A file is written under a temporary name in the folder of its target, synchronised to the disk, and renamed.
The writer locks the temporary file. One without a lock was left by a program that was killed; it is removed
when the same target is next written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from trigemu.base.errors import TrigemuError
from trigemu.base.interruption import undone

#: Largest text file that is read, in bytes: ten times the menus of experiments.
MAX_TEXT = 50_000_000
#: Largest card or model that is sent to another process, in bytes.
MAX_MODEL = 2**28


def read_bounded(path: Path, longest: int | None = None) -> bytes:
    """Return the content of a file of bounded size."""
    longest = MAX_TEXT if longest is None else longest
    try:
        check_no_pipe(path)
        with path.open("rb") as file:
            content = file.read(longest + 1)
    except ValueError:  # a NUL in the name
        raise FileNotFoundError(errno.ENOENT, "no file can have this name", str(path)) from None
    if len(content) > longest:
        raise TrigemuError(f"{path} is larger than {longest} bytes, which no such file should be")
    return content


def contents_of(digests: Mapping[str, str]) -> dict[str, bytes]:
    """Return the content of files, to be sent to another process."""
    contents = {}
    for path, sha256 in digests.items():
        try:
            contents[path] = read_bounded(Path(path), MAX_MODEL)
        except OSError as error:
            raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
        if hashlib.sha256(contents[path]).hexdigest() != sha256:
            raise TrigemuError(f"{path} was changed while it was used: start again")
    return contents


def is_there(path: Path | str) -> bool:
    """Return whether a path exists; False also for names and folders that the system refuses, for which
    Path.exists raises OSError."""
    return _mode(path) is not None


def is_file(path: Path | str) -> bool:
    """Return whether there is an ordinary file; False also for names that the system refuses."""
    return stat.S_ISREG(_mode(path) or 0)


def is_folder(path: Path | str) -> bool:
    """Return whether there is a folder; False also for names that the system refuses."""
    return stat.S_ISDIR(_mode(path) or 0)


def _mode(path: Path | str) -> int | None:
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def check_regular(path: Path) -> None:
    """Raise TrigemuError for anything but a file: a library may wait for a pipe, or read a device,
    forever."""
    if is_there(path) and not is_file(path):
        raise TrigemuError(f"{path} is not an ordinary file")


def check_no_pipe(path: Path) -> None:
    """Raise TrigemuError if a file is a named pipe, except those of the shell in /dev."""
    if path.is_fifo() and path.parts[:2] != ("/", "dev"):
        raise TrigemuError(f"{path} is a pipe, not a file")


try:
    import fcntl
except ImportError:  # Windows: files that a killed program left are not removed
    fcntl = None  # type: ignore[assignment]

#: Prefix of temporary files and folders, before a digest of the target's name and a random part.
TEMPORARY = ".trigemu-"
#: Links that are followed from a name to its file: the limit of Linux.
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
    # A lone surrogate, from a file name that is not UTF-8, becomes an escape.
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path | str, content: bytes) -> None:
    """Replace or make a file atomically: after an interruption it is the old or the complete new one.

    A file keeps its mode. A link stays, and the file that it points to is replaced; of several hard links,
    only this name gets the new file. Devices and pipes are written to.
    """
    path = Path(path)
    check_writable(path)
    with _errors(path):
        target, descriptor = _destination(path)
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
    """Check that a file can be written, before its content is computed."""
    path = Path(path)
    with _errors(path):
        target, descriptor = _destination(path)
        if descriptor is not None:
            return
        if target.is_dir():
            raise TrigemuError(f"cannot write {path}: it is a folder")
        if target.is_block_device():
            raise TrigemuError(f"cannot write {path}: it is a disk")
        if target.exists() and not os.access(target, os.W_OK):
            raise TrigemuError(f"cannot write {path}: the file is read-only")
        if target.exists() and not target.is_file():
            return
        if not target.parent.is_dir():
            folder = target.parent if path.is_symlink() else path.parent
            raise TrigemuError(f"cannot write {path}: there is no folder {folder}")
        if not os.access(target.parent, os.W_OK):
            raise TrigemuError(f"cannot write {path}: its folder is not writable")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | str | None] = ()) -> None:
    """Check that outputs can be written, and that each differs from all other outputs and inputs.

    Parameters
    ----------
    outputs : iterable of Path or None
        The files that will be written; None for an option that was not used.
    inputs : iterable of path or None
        The files that are read.

    Raises
    ------
    TrigemuError
        If an output cannot be written, or is the same file as another one under whatever name.
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
    """Make a folder that appears under its name only when its content is complete."""
    if path.exists() or path.is_symlink():
        raise TrigemuError(f"cannot write {path}: it already exists: remove it or choose another name")
    check_writable(path)
    with _errors(path):
        target = path.absolute()
        with temporary_folder(target, 0o777) as temporary:
            yield temporary
            _synchronise_tree(temporary)
            temporary.rename(target)
            _synchronise(target.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield the name of a temporary file for a library to write. At the end it replaces the file `path`,
    which stays unchanged if anything fails. Raises TrigemuError if the file cannot be written."""
    check_writable(path)
    with _errors(path):
        target, descriptor = _destination(path)
        if descriptor is not None or (target.exists() and not target.is_file()):
            raise TrigemuError(f"cannot write {path}: such a file can only be written on a disk")
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            yield temporary
            with temporary.open("rb+") as file:
                if target.exists():
                    _inherit(file.fileno(), target.stat())
                os.fsync(file.fileno())
            temporary.replace(target)
        _synchronise(target.parent)


@contextmanager
def temporary_folder(target: Path, mode: int = 0o700) -> Iterator[Path]:
    """Make a temporary folder beside a file or folder, for the time of a block.

    Temporary files that killed programs left for the same target are removed first.
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
    """Follow links to a file; or to a descriptor of this process, as for /dev/stdout."""
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
    """Return whether two names belong to one file, or would. Devices and pipes can be written twice."""
    try:
        status = one.stat()
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other.stat())
    except (OSError, ValueError):  # one of them does not exist, or cannot be the name of a file
        return os.path.realpath(one) == os.path.realpath(other)


def _replace(target: Path, content: bytes) -> None:
    _remove_dead(target)
    for last in (False, False, True):
        try:
            _write_and_rename(target, content)
            break
        except FileNotFoundError:  # another run removed it as dead just before it was locked
            if last:
                raise
    _synchronise(target.parent)


def _write_and_rename(target: Path, content: bytes) -> None:
    old = target.stat() if target.exists() else None
    temporary = _temporary_name(target)
    with undone(lambda: temporary.unlink(missing_ok=True)):
        try:
            # The name is random, and the file must not exist, not even as a link.
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
    """Give a file the owner, group and permissions of the file that it replaces, as far as allowed."""
    if hasattr(os, "fchown"):
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.fchown(descriptor, owner, group)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f"{_marked(target)}{secrets.token_hex(8)}")


def _marked(target: Path) -> str:
    """Return the prefix of temporary names of a target. A digest of its name is never too long."""
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
    """Lock a temporary file or folder while it is written, if the file system has locks."""
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
    """Synchronise a file or folder to the disk; not every file system can do this for folders."""
    with suppress(PermissionError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError:
            if not path.is_dir():
                raise
        finally:
            os.close(descriptor)
