"""The program of a worker process, run as a script: it watches its parent before it loads anything else.

A frame consists of its length in 8 bytes and a pickle. The parent sends the module path, then calls: a
function and its arguments. The worker answers each with (True, result) or (False, error).
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import IO

_LENGTH = 8


def send(stream: IO[bytes], content: bytes) -> None:
    """Write a frame."""
    stream.write(len(content).to_bytes(_LENGTH, "little"))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a frame; return None at the end of the stream, also within a frame."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "little")
    content = stream.read(size) if len(head) == _LENGTH else b""
    return content if len(head) == _LENGTH and len(content) == size else None


def _watch(requests: IO[bytes], frames: SimpleQueue[bytes]) -> None:
    """Read frames ahead; when the parent is gone, end this process and the compilers that it started."""
    while (frame := receive(requests)) is not None:
        frames.put(frame)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _answer(call: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(call)
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:
        return pickle.dumps((False, transferable(error)))


def transferable(error: Exception) -> Exception:
    """Return an error that can be sent to another process, with its traceback as a note."""
    from trigemu.base.errors import TrigemuError

    text = "".join(traceback.format_exception(error))
    if isinstance(error, TrigemuError):
        error.remote = text
    else:
        error.add_note(text)
    try:
        pickle.loads(pickle.dumps(error))  # some errors cannot be created from their arguments
        return error
    except Exception:
        return TrigemuError(str(error)) if isinstance(error, TrigemuError) else RuntimeError(repr(error))


def main() -> None:
    """Answer until the parent is gone."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # output of libraries must not come between answers
    frames: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_watch, args=(requests, frames), daemon=True).start()
    sys.path[:] = pickle.loads(frames.get())
    while True:
        send(replies, _answer(frames.get()))


if __name__ == "__main__":
    main()
