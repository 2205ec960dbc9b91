"""Run a program within limits; end it and all processes that it started as soon as trigemu ends.

    python -I -S supervise.py PIPE BYTES SECONDS FILE_BYTES PROGRAM ARGUMENT…

This script runs as a process of its own, because a process with threads must not set limits between fork and
exec. It leads a session. trigemu holds the other end of PIPE: when that is closed, even because trigemu was
killed, the whole session is killed.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from contextlib import suppress

CANNOT_START = 126


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    with suppress(ValueError, OSError):  # macOS has no limit of the address space
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard),) * 2)


def _watch(pipe: int) -> None:
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


def main(pipe: int, limits: list[int], command: list[str]) -> int:
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)
    for kind, value in zip(kinds, [*limits, 0], strict=True):
        _limit(kind, value)
    try:  # Python ignores these two signals, and its children would inherit that
        child = os.posix_spawnp(command[0], command, os.environ, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))
    except OSError as error:
        print(error.strerror, file=sys.stderr)  # noqa: T201
        return CANNOT_START
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), [int(word) for word in sys.argv[2:5]], sys.argv[5:]))
