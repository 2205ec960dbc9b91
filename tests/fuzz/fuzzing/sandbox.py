"""Run cases in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.server import ACCEPTABLE

_FUZZ = Path(__file__).parents[1]
_ROOT = _FUZZ.parents[1]
SECONDS, MEMORY = 20.0, 4 << 30


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
    """A server with the program loaded, and the folder in which it finds the files of a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: subprocess.Popen[str] | None = None

    def run(self, module: str, name: str, *cases: Mapping[str, bytes]) -> list[Outcome]:
        """Run cases of a format, given by their files."""
        folders = [self.folder / f"case{number}" for number in range(len(cases))]
        for folder, files in zip(folders, cases, strict=True):
            shutil.rmtree(folder, ignore_errors=True)
            write_files(folder, files)
        job = {"module": module, "format": name, "folders": list(map(str, folders))}
        limits = {"seconds": SECONDS, "memory": MEMORY, "output": str(self.folder / "output")}
        return [Outcome(**told) for told in self._ask({**job, **limits})]

    def _ask(self, job: dict[str, object]) -> list[dict[str, Any]]:
        if self._server is None:
            self._server = self._started()
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with status {self._server.wait()}")
        answer: list[dict[str, Any]] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        path = [_FUZZ, _ROOT / "tests" / "helpers", _ROOT / "src", os.environ.get("PYTHONPATH", "")]
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "XDG_CACHE_HOME": str(home),
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "fuzzing.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def close(self) -> None:
        if self._server:
            self._server.communicate()
