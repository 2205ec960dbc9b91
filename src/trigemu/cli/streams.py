"""Handling of a standard output that is closed, full, or no longer read."""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

#: Errors of writing to a stream that is open.
_OF_STREAMS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def fill_closed_streams() -> None:
    """Open the standard streams that the caller closed: otherwise the next opened file would get the number
    of such a stream, and receive all that is printed. The standard output remains unwritable."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)


def open_streams() -> TextIO:
    """Return the standard output. Streams that the caller closed (see `fill_closed_streams`) become files of
    Python again: writing to the standard output then fails as usual, and messages are lost."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    return sys.stdout


def of_stream(error: OSError) -> bool:
    """Return whether an error may come from writing to a stream: errors of files have a file name."""
    return error.filename is None and error.errno in _OF_STREAMS


def output_error(output: TextIO, error: OSError | None) -> OSError | None:
    """Return the error of the standard output: `error`, or one from writing the remaining output. After an
    error the remaining output is dropped, since Python would otherwise complain at exit."""
    failure = error if error and of_stream(error) else None
    try:
        output.flush()
    except OSError as failed:
        failure = failed
    if failure:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return failure
