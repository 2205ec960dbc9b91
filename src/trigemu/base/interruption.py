"""End the program on a signal: the handler undoes what is half done and exits at once.

No exception is raised: libraries, destructors and callbacks would lose it or report it as their own failure.
A second signal ends the program without undoing anything.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

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
