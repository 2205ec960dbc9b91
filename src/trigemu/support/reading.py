"""Reading of text files, bounded in size."""

from __future__ import annotations

import errno
from pathlib import Path

from trigemu.support.errors import TrigemuError

#: Largest text file that is read, in bytes; menus of experiments have less than a tenth of it.
MAX_TEXT = 50_000_000


def read_bounded(path: Path, longest: int | None = None) -> bytes:
    """Return the content of a file. OSError if it cannot be read, TrigemuError if it is larger than allowed,
    by default `MAX_TEXT` bytes, or is a pipe that nobody may ever write to."""
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


def check_no_pipe(path: Path) -> None:
    """Raise TrigemuError if a file is a named pipe. Those of the shell, in /dev, are written to."""
    if path.is_fifo() and path.parts[:2] != ("/", "dev"):
        raise TrigemuError(f"{path} is a pipe, not a file")
