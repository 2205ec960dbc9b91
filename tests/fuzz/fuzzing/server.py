"""A process that has the program loaded and runs each case in a fork of its own, with limits.

It reads requests and writes answers, one line of JSON each.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

_SHOWN = 4000
_PR_SET_PDEATHSIG = 1


def serve() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    loaded = set()
    for line in sys.stdin:
        job = json.loads(line)
        if job["module"] not in loaded:
            loaded.add(job["module"])
            importlib.import_module(job["module"]).warm()
            gc.collect()
            gc.freeze()
        answers.write(json.dumps(_in_fork(job)) + "\n")


def _in_fork(job: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(job, writing)
    os.close(writing)
    answer, ended = _until_closed(reading, started + job["seconds"])
    os.close(reading)
    if not ended:
        _kill(child)
    _, status, used = os.wait4(child, 0)
    left = _kill(child)
    told = {"seconds": time.monotonic() - started, "memory": used.ru_maxrss * 1024, "left": left}
    if not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return {"kind": "hang", "text": f"ran for {told['seconds']:.0f} s", **told}
    if not answer:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {status >> 8}"
        return {"kind": "crash", "text": f"the process ended with {how}", **told}
    return {**json.loads(answer), **told}


def _until_closed(pipe: int, until: float) -> tuple[bytes, bool]:
    """Return what came through a pipe, and whether its other end was closed in time."""
    parts = []
    while (left := until - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            part = os.read(pipe, 65536)
            if not part:
                return b"".join(parts), True
            parts.append(part)
    return b"".join(parts), False


def _kill(group: int) -> bool:
    """End all processes of a group; return whether there were any."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def _child(job: dict[str, Any], pipe: int) -> None:
    status = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.set_inheritable(pipe, False)
        _limit(job)
        os.chdir(job["folder"])
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        answer = _outcome(job)
        os.write(pipe, json.dumps(answer).encode())
        status = 0
    finally:
        os._exit(status)


def _limit(job: dict[str, Any]) -> None:
    own = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for what, most in (
        (resource.RLIMIT_AS, own + job["memory"]),
        (resource.RLIMIT_CPU, int(job["seconds"]) + 5),
        (resource.RLIMIT_FSIZE, 1 << 30),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _outcome(job: dict[str, Any]) -> dict[str, str]:
    """Use the files of a case as a user would, and compare what comes out with its twin."""
    from fuzzing.formats.base import ShownError
    from trigemu.support import TrigemuError

    form = importlib.import_module(job["module"]).FORMATS[job["format"]]
    folder = Path(job["folder"])
    try:
        made = form.use(folder)
    except TrigemuError as error:
        return _of_message(str(error), shown=isinstance(error, ShownError))
    except BaseException:
        return {"kind": "traceback", "text": traceback.format_exc()[-_SHOWN:]}
    try:
        complaint = form.twin(folder, made)
    except BaseException:
        return {"kind": "twin", "text": traceback.format_exc()[-_SHOWN:]}
    if complaint is None:
        return {"kind": "accepted", "text": ""}
    return {"kind": "wrong" if complaint else "right", "text": complaint[:_SHOWN]}


def _of_message(text: str, shown: bool) -> dict[str, str]:
    """A message has to be there, to be short enough to be read, and printable where a terminal shows it."""
    if not text.strip():
        return {"kind": "traceback", "text": "the message is empty"}
    if len(text) > 20_000:
        return {"kind": "traceback", "text": f"the message has {len(text)} characters: {text[:200]}"}
    if shown and (odd := sorted({c for c in text if not c.isprintable() and c != "\n"})):
        return {"kind": "traceback", "text": f"the message has the characters {odd}: {text[:300]!r}"}
    return {"kind": "refused", "text": text[:_SHOWN]}


if __name__ == "__main__":
    serve()
