"""Functions that workers can perform. They load nothing else, so that these workers start at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def adder(more: int) -> Callable[[int], int]:
    return lambda number: number + more


def teller(folder: str) -> Callable[[str], str]:
    """Performs what it is told; each call leaves a file with the number of the process."""

    def perform(what: str) -> str:
        (Path(folder) / str(os.getpid())).touch()
        print("heard by nobody")  # noqa: T201
        if what == "fail":
            raise ValueError("three is too many")
        if what == "miss":
            from trigemu.support import MissingExtraError

            raise MissingExtraError("a command", "extra", "package")
        if what == "sleep":
            time.sleep(60)
        if what == "child":
            with subprocess.Popen(["sleep", "60"]) as child:
                (Path(folder) / str(child.pid)).touch()
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return what

    return perform
