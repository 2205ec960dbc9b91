"""The program as a process: its streams, its signals, and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "trigemu"]


def start(place: Any, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=place.folder,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )


def unread() -> dict[str, Any]:
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return {"stdout": write}


@pytest.mark.parametrize(
    ("output", "status", "message"),
    [
        (unread, 141, ""),
        (
            lambda: {"stdout": os.open("/dev/full", os.O_WRONLY)},
            2,
            "trigemu: cannot write to the standard output: No space left on device\n",
        ),
    ],
)
def test_files_are_written_where_the_output_cannot_be(
    place: Any, output: Callable[[], dict[str, Any]], status: int, message: str
) -> None:
    options = output()
    inputs = "run", "menu.toml", "--samples", "catalogue.toml", "--json", "x.json"
    with start(place, *inputs, **options) as ran:
        if isinstance(options["stdout"], int):
            os.close(options["stdout"])
        assert ran.stderr
        assert ran.stderr.read() == message
        assert ran.wait(20) == status
    assert (place.folder / "x.json").read_text().endswith("}\n")


def test_help_that_nobody_reads(place: Any) -> None:
    options = unread()
    with start(place, "--help", **options) as ran:
        os.close(options["stdout"])
        assert ran.stderr
        assert ran.stderr.read() == ""
        assert ran.wait(20) == 141


def test_an_interruption_while_modules_load(place: Any) -> None:
    with start(place, "schema") as ran:
        while "numpy" not in Path(f"/proc/{ran.pid}/maps").read_text():  # the first of the large modules
            time.sleep(0.01)
        ran.send_signal(signal.SIGINT)
        assert ran.stderr
        assert ran.stderr.read() == "trigemu: interrupted\n"
        assert ran.wait(20) == 130


def test_the_installed_program_keeps_its_streams_apart(place: Any) -> None:
    program = Path(sys.executable).with_name("trigemu")
    failed = subprocess.run([program, "run", "absent.toml"], capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("trigemu: absent.toml: ")
    assert failed.stderr.count("\n") == 1
