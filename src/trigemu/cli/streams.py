"""The standard output where it is closed, full, or not read any more."""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

#: Errors of writing to a stream that is open.
_OF_STREAMS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def fill_closed_streams() -> None:
    """Open what the caller closed of the standard streams: the next file to be opened would take the number,
    and be written to by whatever prints. The standard output stays one that cannot be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)


def open_streams() -> TextIO:
    """Return the standard output. Streams that the caller closed (see `fill_closed_streams`) get names again:
    writing to the standard output then fails as on any that is not writable, and messages are lost."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    return sys.stdout


def of_stream(error: OSError) -> bool:
    """Return whether an error may be of writing to a stream: those of files name them."""
    return error.filename is None and error.errno in _OF_STREAMS


def output_error(output: TextIO, error: OSError | None) -> OSError | None:
    """Return what keeps the standard output from being written: the given error, or one that comes up when
    the rest is written. What is still to be written is then dropped, or Python would complain at its end."""
    found = error if error and of_stream(error) else None
    try:
        output.flush()
    except OSError as failed:
        found = failed
    if found:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return found
