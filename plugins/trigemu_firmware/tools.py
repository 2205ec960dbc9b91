"""External programs: where they are, and runs of them in a folder, within a limit of time."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import temporary_folder, undone
from trigemu.base.processes import worker_pool

#: The most seconds of a compiler; of a simulation, or a synthesis, which takes minutes for 20 trees.
COMPILING_S, SYNTHESIS_S = 900, 7200
#: Lines of a failed program that a message has, and characters of each.
_LAST_LINES, _LONGEST = 12, 300


class MissingToolError(TrigemuError):
    """A program of Debian is not installed."""

    def __init__(self, program: str) -> None:
        super().__init__(
            f"{program} is not installed: it is in the Debian package {program} (apt-get install {program})"
        )
        self.program = program

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self.program,)


def find(program: str) -> str:
    """Return the path of a program; MissingToolError names the Debian package that contains it."""
    if path := shutil.which(program):
        return path
    raise MissingToolError(program)


def package(name: str) -> Path:
    """Return the folder of a package without importing it; MissingExtraError if it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        raise MissingExtraError("trigemu firmware", "firmware", name)
    return Path(spec.origin).parent


@contextmanager
def scratch() -> Iterator[Path]:
    """Provide a temporary folder; TrigemuError if it cannot be made or written to."""
    try:
        with temporary_folder(Path(gettempdir()) / "firmware") as folder:
            yield folder
    except OSError as error:
        raise TrigemuError(f"cannot work in a temporary folder: {error}; set TMPDIR") from None


def run(
    command: Sequence[str | Path], folder: Path, stdin: bytes = b"", seconds: float = COMPILING_S
) -> bytes:
    """Run a program in a folder, without a shell, and return what it writes. It ends with trigemu, as do all
    processes that it starts. TrigemuError if it fails, with its last lines, or takes too long."""
    # A worker leads a session of its own, which ends as a whole.
    with worker_pool(1) as pool, undone(pool.restart):
        return pool.submit(_output, [os.fspath(word) for word in command], folder, stdin, seconds).result()


def _output(command: list[str], folder: Path, stdin: bytes, seconds: float) -> bytes:
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, timeout=seconds, check=False
        )
    except OSError as error:
        raise TrigemuError(f"cannot start {command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise TrigemuError(f"{name} was stopped: it took more than {seconds:g} s") from None
    if done.returncode == 0:
        return done.stdout
    output = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
    how = f"was ended by signal {-done.returncode}" if done.returncode < 0 else "failed"
    last = "\n".join(f"  {line[:_LONGEST]}" for line in output.splitlines()[-_LAST_LINES:])
    said = f"; its last lines:\n{last}" if last else ", without a message"
    raise TrigemuError(f"{name} {how}{said}")
