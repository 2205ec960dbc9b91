"""Reading of files, bounded in size, and atomic writing: a file is the old one or the complete new one, also
when a signal ends the program.

The handler of a signal undoes what is half done and exits at once. It raises no exception: libraries,
destructors and callbacks would lose it or report it as their own failure. A second signal ends the program
without undoing anything.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from trigemu.base.errors import TrigemuError, excerpt

MAX_TEXT = 50_000_000  # The largest text file that is read, in bytes: ten times the menus of experiments
_TEMPORARY = f".trigemu-{platform.node()}-"  # The prefix of temporary folders, before a process id

# False also for names that the system refuses, for which the methods of Path raise OSError.
is_there, is_file, is_folder = os.path.exists, os.path.isfile, os.path.isdir


def read_bounded(path: Path, longest: int | None = None) -> bytes:
    """Return the content of a file of bounded size."""
    longest = longest or MAX_TEXT
    try:
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
            contents[path] = Path(path).read_bytes()
        except OSError as error:
            raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
        if hashlib.sha256(contents[path]).hexdigest() != sha256:
            raise TrigemuError(f"{path} was changed while it was used: start again")
    return contents


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return arrays of an npz file. Python objects are never loaded."""
    import numpy as np  # most readers of files need none

    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen types for damaged files
        reason = excerpt(" ".join(str(error).split())) or type(error).__name__
        raise TrigemuError(f"{path} is damaged: {reason}") from None


def write_text(path: Path | str, text: str) -> None:
    """Write a file in UTF-8, as `write_bytes` does; raise TrigemuError if that fails.

    Parameters
    ----------
    path, text
        The file, and its content.
    """
    # A lone surrogate, from a file name that is not UTF-8, becomes an escape.
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path | str, content: bytes) -> None:
    """Replace or make a file atomically, with its mode; a link stays. Devices and pipes are written to."""
    path = Path(path)
    check_writable(path)
    if is_there(path) and not is_file(path):
        with _errors(path):
            path.write_bytes(content)
    else:
        with new_file(path) as temporary:
            temporary.write_bytes(content)


def check_writable(path: Path | str) -> None:
    """Check that a file can be written, before its content is computed."""
    path = Path(path)
    with _errors(path):
        if path.is_dir():
            raise TrigemuError(f"cannot write {path}: it is a folder")
        if path.exists() and not os.access(path, os.W_OK):
            raise TrigemuError(f"cannot write {path}: the file is read-only")
        if path.exists() and not path.is_file():
            return
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            missing = folder if path.is_symlink() else path.parent
            raise TrigemuError(f"cannot write {path}: there is no folder {missing}")
        if not os.access(folder, os.W_OK):
            raise TrigemuError(f"cannot write {path}: its folder is not writable")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | str | None] = ()) -> None:
    """Check that outputs can be written, and differ from each other and from inputs; raise TrigemuError.

    Parameters
    ----------
    outputs, inputs
        The files that will be written, and those that are read; None for an option that was not used.
    """
    written: dict[Path, str] = {}
    read = {Path(name): "which is read, is" for name in inputs if name is not None}
    for output in filter(None, outputs):
        for other, use in (*written.items(), *read.items()):
            if _same(output, other):
                raise TrigemuError(f"cannot write {output}: {other}, {use} the same file")
        check_writable(output)
        written[output] = "which is written too, is"


def _same(one: Path, other: Path) -> bool:
    """Return whether two names belong to one file, or would. Devices and pipes can be written twice."""
    if is_there(one) and is_there(other):
        return is_file(one) and one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder that appears under its name only when its content is complete."""
    if path.exists() or path.is_symlink():
        raise TrigemuError(f"cannot write {path}: it already exists: remove it or choose another name")
    check_writable(path)
    with _errors(path), temporary_folder(path.absolute()) as folder:
        temporary = folder / path.name
        temporary.mkdir()
        yield temporary
        temporary.rename(path.absolute())


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield the name of a temporary file for a library to write, which replaces a file if nothing fails."""
    check_writable(path)
    with _errors(path):
        target = Path(os.path.realpath(path))
        if is_there(target) and not is_file(target):
            raise TrigemuError(f"cannot write {path}: such a file can only be written on a disk")
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            yield temporary
            if is_there(target):
                temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(target)


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Make a temporary folder beside a file or folder, for the time of a block."""
    _remove_left(target.parent)
    folder = target.with_name(f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}")
    with undone(lambda: shutil.rmtree(folder, ignore_errors=True)):
        try:
            folder.mkdir(0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@cache
def _remove_left(folder: Path) -> None:
    """Remove temporary folders of programs of this machine that were killed. Once a process is enough."""
    for path in folder.glob(f"{_TEMPORARY}*") if os.name == "posix" else ():
        with suppress(ValueError, OverflowError, PermissionError):  # another name, or somebody else's process
            try:
                os.kill(int(path.name.removeprefix(_TEMPORARY).partition("-")[0]), 0)
            except ProcessLookupError:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrigemuError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def without_clock() -> Iterator[None]:
    """Keep uproot from writing the time into ROOT files within a block: equal contents give equal files."""
    import uproot

    original = uproot._util.datetime_to_code
    uproot._util.datetime_to_code = lambda time: 0
    try:
        yield
    finally:
        uproot._util.datetime_to_code = original


#: Signal → the message; the exit status is 128 plus its number, as in shells.
_MESSAGES = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "the terminal was closed"}
_SIGNALS = [getattr(signal, name) for name in _MESSAGES if hasattr(signal, name)]
_SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides it

_undo: dict[object, Callable[[], object]] = {}


@contextmanager
def undone(action: Callable[[], object]) -> Iterator[None]:
    """Call `action` if a signal ends the program inside this block. It may raise OSError only."""
    key = object()
    _undo[key] = action
    try:
        yield
    finally:
        del _undo[key]


def end_on_signals() -> None:
    """Make signals end the program; signals that its caller ignores stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    for action in reversed(list(_undo.values())):
        with suppress(OSError):
            action()
    message = f"trigemu: {_MESSAGES[signal.Signals(number).name]}\n"
    with suppress(OSError, AttributeError, ValueError):  # there may be no stderr
        os.write(2, ((f"{_SHOW_CURSOR}\r\n" if sys.stderr.isatty() else "") + message).encode())
    os._exit(128 + number)
