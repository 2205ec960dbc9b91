"""Other programs, run within limits of time and memory; none outlives trigemu."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from trigemu.base.errors import TrigemuError
from trigemu.base.interruption import undone

_SCRIPT = Path(__file__).with_name("supervise.py")
#: Largest file that a program may write, and largest output that is read.
MAX_OUTPUT = 2**30
#: The exit status of the script if the program cannot be started.
CANNOT_START = 126


@dataclass(frozen=True)
class Limits:
    """The limits of a program."""

    seconds: int  # Wall-clock time, and processor time of each of its processes
    memory: int  # Address space of each of its processes, in bytes

    def __str__(self) -> str:
        return f"{self.seconds} s and {self.memory / 2**30:g} GiB of memory"


@dataclass(frozen=True)
class Finished:
    """A program that ended."""

    code: int  # Its exit status; −n if signal n ended it
    stdout: bytes  # stdout, stderr: What it wrote
    stderr: bytes


class StoppedError(TrigemuError):
    """A program that took longer than its limit, and was stopped."""


def run_limited(
    command: Sequence[str | Path], folder: Path, limits: Limits, *, stdin_content: bytes = b""
) -> Finished:
    """Run a program in a folder, without a shell; all processes that it started end with it or trigemu."""
    words = [os.fspath(word) for word in command]
    name = Path(words[0]).name
    try:
        # Files, not pipes: the limit on files bounds the output, and nothing has to read it meanwhile.
        with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
            stdin.write(stdin_content)
            stdin.seek(0)
            code = _supervised(words, folder, limits, (stdin.fileno(), stdout.fileno(), stderr.fileno()))
            for file in (stdout, stderr):
                file.seek(0)
            finished = Finished(code, stdout.read(), stderr.read())
    except OSError as error:
        raise TrigemuError(f"cannot run {name} with a temporary file: {error}; set TMPDIR") from None
    if code == CANNOT_START:
        raise TrigemuError(f"cannot start {words[0]}: {finished.stderr.decode(errors='replace').strip()}")
    return finished


def _supervised(words: list[str], folder: Path, limits: Limits, streams: tuple[int, int, int]) -> int:
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(_SCRIPT), str(theirs)),
                *map(str, (limits.memory, limits.seconds, MAX_OUTPUT)),
                *words,
            ],
            cwd=folder,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        with undone(lambda: os.killpg(process.pid, signal.SIGKILL)):  # before its folder is removed
            return process.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        raise StoppedError(
            f"{Path(words[0]).name} was stopped: it took more than {limits.seconds} s"
        ) from None
    finally:
        os.close(ours)
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
