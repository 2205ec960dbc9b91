"""Reading of text files, bounded in size."""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path

from trigemu.support.errors import TrigemuError

#: Largest text file that is read, in bytes: ten times the menus of experiments.
MAX_TEXT = 50_000_000
#: Largest card or model that is sent to another process, in bytes.
MAX_MODEL = 2**28


def read_bounded(path: Path, longest: int | None = None) -> bytes:
    """Return the content of a file of bounded size.

    Parameters
    ----------
    path : Path
        The file.
    longest : int, optional
        The largest size in bytes; by default `MAX_TEXT`.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    OSError
        If the file cannot be read.
    TrigemuError
        If the file is larger, or is a pipe, from which a read might never return.
    """
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
    """Return the content of files, to be sent to another process.

    Parameters
    ----------
    digests : mapping of str to str
        The sha256 of each file, by path.

    Returns
    -------
    dict of str to bytes
        The content of each file, by path.

    Raises
    ------
    TrigemuError
        If a file cannot be read, or was changed since its sha256 was taken.
    """
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
    """Return whether there is an ordinary file; False also for names that the system refuses.

    Parameters
    ----------
    path : path
        Any path.

    Returns
    -------
    bool
        Unlike Path.is_file, it raises nothing.
    """
    return stat.S_ISREG(_mode(path) or 0)


def is_folder(path: Path | str) -> bool:
    """Return whether there is a folder; False also for names that the system refuses.

    Parameters
    ----------
    path : path
        Any path.

    Returns
    -------
    bool
        Unlike Path.is_dir, it raises nothing.
    """
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
