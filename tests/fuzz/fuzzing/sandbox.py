"""Run each case in a fork of a process that has the program loaded, with limits."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from fuzzing.formats.base import Format, ShownError
from trigemu import TrigemuError

_FUZZ = Path(__file__).parents[1]
_ROOT = _FUZZ.parents[1]
SECONDS, MEMORY = 20, 4 << 30
#: How a case may end.
ACCEPTABLE = ("refused", "right", "accepted")
_SHOWN = 4000


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    kind: refused with a message; right: accepted, and equal to the twin; accepted, where there is no twin;
    traceback, hang, crash, wrong: faults; twin: the twin itself failed. left: a process stayed behind.
    """

    kind: str
    text: str
    seconds: float
    memory: int
    left: bool

    @property
    def is_fault(self) -> bool:
        return self.left or self.kind not in ACCEPTABLE


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


class Sandbox:
    """A server of forks, and the folder in which they find the files of a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fuzzing.warm"])

    def run(self, name: str, files: Mapping[str, bytes]) -> Outcome:
        """Run a case of a format, given by its files."""
        folder = self.folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        write_files(folder, files)
        reading, writing = self._context.Pipe(duplex=False)
        case = self._context.Process(target=_run, args=(name, folder, self.folder / "output", writing))
        self._start(case)
        writing.close()
        begun, memory = time.monotonic(), 0
        try:
            if reading.poll(SECONDS):
                kind, text, memory = reading.recv()
                case.join(SECONDS)
            else:
                kind, text = "hang", f"ran for {SECONDS} s"
                _kill(case.pid)
        except EOFError:
            case.join()
            kind = "hang" if case.exitcode == -signal.SIGXCPU else "crash"
            text = f"the process ended with status {case.exitcode}"
        seconds = time.monotonic() - begun
        left = kind != "hang" and _kill(case.pid)
        case.join()
        return Outcome(kind, text, seconds, memory, left)

    def _start(self, case: Any) -> None:
        """The first case starts the server, which has these variables."""
        path = (_FUZZ, _ROOT / "tests" / "helpers", _ROOT / "src", os.environ.get("PYTHONPATH", ""))
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", os.pathsep.join(map(str, path)))
            patch.setenv("XDG_CACHE_HOME", str(home))
            patch.setenv("OMP_NUM_THREADS", "1")
            patch.setenv("PYTHONWARNINGS", "ignore")
            case.start()


def _kill(group: int) -> bool:
    """End all processes of a group; return whether there were any."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def _run(name: str, folder: Path, output: Path, pipe: Connection) -> None:
    from fuzzing.formats import FORMATS

    os.setsid()
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, own + MEMORY),
        (resource.RLIMIT_CPU, SECONDS + 5),
        (resource.RLIMIT_FSIZE, 1 << 30),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(descriptor, number)
    os.chdir(folder)
    kind, text = outcome_of(FORMATS[name], folder)
    pipe.send((kind, text, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
    pipe.close()
    os._exit(0)


def outcome_of(form: Format, folder: Path) -> tuple[str, str]:
    """Use the files of a case as a user would, and compare what comes out with its twin."""
    try:
        made = form.use(folder)
    except TrigemuError as error:
        return _of_message(str(error), shown=isinstance(error, ShownError))
    except BaseException:
        return "traceback", traceback.format_exc()[-_SHOWN:]
    try:
        complaint = form.twin(folder, made)
    except BaseException:
        return "twin", traceback.format_exc()[-_SHOWN:]
    if complaint is None:
        return "accepted", ""
    return "wrong" if complaint else "right", complaint[:_SHOWN]


def _of_message(text: str, shown: bool) -> tuple[str, str]:
    """A message has to be there, to be short enough to be read, and printable where a terminal shows it."""
    if not text.strip():
        return "traceback", "the message is empty"
    if len(text) > 40_000:
        return "traceback", f"the message has {len(text)} characters: {text[:200]}"
    if shown and (odd := sorted({c for c in text if not c.isprintable() and c != "\n"})):
        return "traceback", f"the message has the characters {odd}: {text[:300]!r}"
    return "refused", text[:_SHOWN]
