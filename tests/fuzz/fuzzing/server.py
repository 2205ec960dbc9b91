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

#: How a case may end.
ACCEPTABLE = ("refused", "right", "accepted")
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
        answers.write(json.dumps(_outcomes(job)) + "\n")


def _outcomes(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run cases one after the other in a fork, and those after a fault in another. A fault among several is
    repeated alone, so that no case is blamed for an earlier one."""
    made: list[dict[str, Any]] = []
    while len(made) < len(job["folders"]):
        left = job["folders"][len(made) :]
        some = _in_fork(job, left)
        if len(left) > 1 and (some[-1]["kind"] not in ACCEPTABLE or some[-1]["left"]):
            some[-1:] = _in_fork(job, left[len(some) - 1 :][:1])
        made += some
    return made


def _in_fork(job: dict[str, Any], folders: list[str]) -> list[dict[str, Any]]:
    """Run cases in a fork of this process, up to the first fault."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(job, folders, writing)
    os.close(writing)
    made, ended = [], True
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        for _ in folders:
            begun = time.monotonic()
            line, ended = _next_line(pipe.fileno(), begun + job["seconds"])
            if not line:
                break
            made.append({**json.loads(line), "seconds": time.monotonic() - begun, "left": False})
            if made[-1]["kind"] not in ACCEPTABLE:
                break
    if not ended:
        _kill(child)
    _, status, used = os.wait4(child, 0)
    left = _kill(child)
    if len(made) < len(folders) and (not made or made[-1]["kind"] in ACCEPTABLE):
        made.append(_unanswered(status, ended, time.monotonic() - begun))
    for outcome in made:
        outcome["memory"] = used.ru_maxrss * 1024
    made[-1]["left"] = left
    return made


def _unanswered(status: int, ended: bool, seconds: float) -> dict[str, Any]:
    told = {"seconds": seconds, "left": False}
    if not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return {"kind": "hang", "text": f"ran for {seconds:.0f} s", **told}
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {status >> 8}"
    return {"kind": "crash", "text": f"the process ended with {how}", **told}


def _next_line(pipe: int, until: float) -> tuple[bytes, bool]:
    """Return a line that came through a pipe, and whether it or the end came in time."""
    line = b""
    while (left := until - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            part = os.read(pipe, 1)  # no more: the next line belongs to the next case
            line += part
            if not part or part == b"\n":
                return line, True
    return b"", False


def _kill(group: int) -> bool:
    """End all processes of a group; return whether there were any."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def _child(job: dict[str, Any], folders: list[str], pipe: int) -> None:
    status = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.set_inheritable(pipe, False)
        _limit(job, len(folders))
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for folder in folders:
            os.chdir(folder)
            form = importlib.import_module(job["module"]).FORMATS[job["format"]]
            os.write(pipe, json.dumps(outcome_of(form, Path(folder))).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _limit(job: dict[str, Any], cases: int) -> None:
    own = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for what, most in (
        (resource.RLIMIT_AS, own + job["memory"]),
        (resource.RLIMIT_CPU, cases * int(job["seconds"]) + 5),
        (resource.RLIMIT_FSIZE, 1 << 30),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def outcome_of(form: Any, folder: Path) -> dict[str, str]:
    """Use the files of a case as a user would, and compare what comes out with its twin."""
    from fuzzing.formats.base import ShownError
    from trigemu import TrigemuError

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
    if len(text) > 40_000:
        return {"kind": "traceback", "text": f"the message has {len(text)} characters: {text[:200]}"}
    if shown and (odd := sorted({c for c in text if not c.isprintable() and c != "\n"})):
        return {"kind": "traceback", "text": f"the message has the characters {odd}: {text[:300]!r}"}
    return {"kind": "refused", "text": text[:_SHOWN]}


if __name__ == "__main__":
    serve()
