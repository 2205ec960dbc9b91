"""What is printed at every width, whatever characters names have and whatever encoding the terminal has; the
program as a process: its streams, its signals, and what it leaves."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command_checks import lines_of, printed
from project import ROOT

import trigemu as package
from trigemu.api import say
from trigemu.cli.console import console
from trigemu.results.terminal import FittingConsole

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")


def test_texts_have_their_control_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("a\x1bb\nc")
    say("d\re")
    say("f\x1bg", err=True)
    assert capsys.readouterr() == ("a\\x1bb\nc\nd\\re\n", "f\\x1bg\n")


def test_errors_of_the_command_line_do_not_act_on_the_terminal(place: Any, trigemu: Run) -> None:
    for arguments in (
        ("\x1b[31m",),
        ("--\x1b[31m",),
        ("run", "menu.toml", "--\x1b[31m"),
        ("run", "\x1b[31m"),
    ):
        status, text = trigemu(*arguments)
        assert status == 2
        assert "\x1b" not in text
        assert "x1b[31m" in text


def test_any_encoding_of_the_terminal(place: Any) -> None:
    odd = os.fsencode(place.folder) + b"/m\xff.toml"  # no valid UTF-8
    menu = (place.folder / "menu.toml").read_bytes().replace(b'"J30"', '"Jη→"'.encode())
    Path(os.fsdecode(odd)).write_bytes(menu)
    arguments = [sys.executable, "-m", "trigemu", "run", odd, *ON_TOYS, "--json", "a.json", "--csv", "a.csv"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(arguments, capture_output=True, cwd=place.folder, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"J??" in done.stdout
    assert rb"menu m\udcff" in done.stdout
    assert r"m\udcff" in (place.folder / "a.csv").read_text(encoding="utf-8")
    Path(os.fsdecode(odd)).write_bytes(menu.replace(b"jet[0].pt", "jet[0].pµ".encode()))
    done = subprocess.run(arguments, capture_output=True, cwd=place.folder, env=environment, check=False)
    assert done.returncode == 2
    assert rb"trigger 'J\u03b7\u2192'" in done.stderr
    assert done.stderr.isascii()


MENUS = ROOT / "menus"
#: A file with every object, and thousands of events.
TOP = ("--samples", package.open_catalogue().sample("top").sources[0].path)
VARIANTS = tuple(str(MENUS / f"{name}.toml") for name in ("primary", "full"))
FULL = VARIANTS[1]
COMMANDS = {
    "overlap": ("run", FULL, "--overlap", *TOP),
    "compare": ("compare", *VARIANTS, *TOP),
    "scan": ("scan", FULL, "--trigger", "J100", "--values", "60:160:20", "--budget", "2e4", *TOP),
    "two levels": ("run", str(MENUS / "two-level.toml"), "--overlap", *TOP),
}


@pytest.fixture(scope="module")
def page() -> Callable[[str], list[Any]]:
    """Run a command, once, and return what it prints."""
    return cache(lambda name: printed(COMMANDS[name]))


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_too_long_or_broken(page: Callable[[str], list[Any]], name: str) -> None:
    """And a scan alone does not print the names of all triggers."""
    menu = package.read_menu(COMMANDS[name][2 if name == "compare" else 1])
    prescaled = {t.name: f"{t.prescale:g}" for t in menu.enabled if t.prescale > 1}
    for width, encoding in ((80, "utf-8"), (100, "ascii"), (120, "utf-8"), (120, "ascii")):
        lines = lines_of(page(name), width, encoding)
        words = {word for line in lines for word in line.split()}
        assert name == "scan" or {trigger.name for trigger in menu.enabled} <= words
        assert name in ("scan", "compare") or {*prescaled.values()} <= words
        if name == "overlap":
            first, prescale = next(iter(prescaled.items()))
            (row,) = (line.split() for line in lines if line.startswith(f"{first} "))
            assert row[1] == prescale
            (head,) = (line.split() for line in lines if re.match(r"trigger +prescale ", line))
            left_out = any(line.startswith("Not shown: share") for line in lines)
            assert left_out == ("share" not in head)
            assert (width == 80) <= left_out <= (width < 120)


@pytest.mark.parametrize(
    ("columns", "width"), [("", 100), ("120", 120), ("0", 100), ("wide", 100), ("9" * 30, 100)]
)
def test_the_width_of_a_pipe(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    with monkeypatch.context() as patch:  # the report of this test is as wide as it was
        patch.setenv("COLUMNS", columns)
        assert console().width == width


def test_no_colour_with_no_color(monkeypatch: pytest.MonkeyPatch, page: Callable[[str], list[Any]]) -> None:
    for variable in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    cyan = "\x1b[36m"

    def printed() -> str:
        stream = io.StringIO()
        FittingConsole(file=stream, force_terminal=True, width=100).print(*page("overlap"))
        return stream.getvalue()

    assert cyan in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert cyan not in printed()


PROGRAM = [sys.executable, "-m", "trigemu"]


def start(place: Any, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *arguments],
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
