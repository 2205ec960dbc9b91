"""What happens before anything else is loaded: an interruption while modules load ends the program with a
message, not with a traceback, and is not taken for the failure of whatever was loading. The standard streams
are there. ONNX Runtime sends no telemetry."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

# It would keep a device number and a database with paths in the cache folder, and send them. It looks when
# it is imported, also by a plugin; other processes inherit the variable.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def is_program() -> bool:
    """Return whether Python was started to run the command line, not to use trigemu as a library."""
    started = sys.argv[0] if sys.argv else ""
    return Path(started).stem == "trigemu" or (started == "-m" and "trigemu" in sys.orig_argv)


def end(number: int, frame: FrameType | None) -> None:
    """End the program; nothing was begun that would have to be undone."""
    os.write(2, b"trigemu: interrupted\n" if number == signal.SIGINT else b"trigemu: terminated\n")
    os._exit(128 + number)


def fill_closed_streams() -> None:
    """Open what the caller closed of the standard streams: the next file to be opened would take the number,
    and be written to by whatever prints. The standard output stays one that cannot be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)


if is_program():
    fill_closed_streams()
    for _number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(_number) is not signal.SIG_IGN:
            signal.signal(_number, end)
