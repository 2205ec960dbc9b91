"""What commands print at 80, 100 and 120 columns, in a pipe, and in ASCII: names and prescales whole."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from command_checks import lines_of, printed
from project import ROOT

import trigemu as package
from trigemu.api import console
from trigemu.cli.fitting_console import FittingConsole

MENUS = ROOT / "menus"
#: One of the embedded samples, whose events many triggers accept.
PHOTON = """
[catalogue]
name = "photon"
convention = "crossing"

[[sample]]
name = "photon"
role = "background"
files = ["{file}"]
rate_hz = 40e6
"""
VARIANTS = tuple(str(MENUS / f"{name}.toml") for name in ("primary", "full"))
FULL = VARIANTS[1]
SCAN = ("scan", FULL, "--trigger", "J100", "--values", "60:160:20", "--budget", "2e4")
COMMANDS = {
    "run": ("run", FULL),
    "overlap": ("run", FULL, "--overlap"),
    "compare": ("compare", *VARIANTS),
    "scan": SCAN,
    "two levels": ("run", str(MENUS / "two-level.toml"), "--overlap"),
}
#: Commands that print the names of all triggers.
ALL_NAMES = ("run", "overlap", "compare", "two levels")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Any]]:
    """Run a command on one sample, once, and return what it prints."""
    catalogue = tmp_path_factory.mktemp("photon") / "catalogue.toml"
    catalogue.write_text(PHOTON.format(file=package.open_catalogue().sample("photon").sources[0].path))
    return cache(lambda name: printed((*COMMANDS[name], "--samples", str(catalogue))))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_too_long_or_broken(
    page: Callable[[str], list[Any]], name: str, width: int, encoding: str
) -> None:
    lines = lines_of(page(name), width, encoding)
    words = {word for line in lines for word in line.split()}
    if name not in ALL_NAMES:
        return
    menu = package.read_menu(COMMANDS[name][2 if name == "compare" else 1])
    assert {trigger.name for trigger in menu.enabled} <= words
    if name != "compare":
        prescales = {f"{trigger.prescale:g}" for trigger in menu.enabled if trigger.prescale > 1}
        assert prescales
        assert prescales <= words
    if name in ("run", "overlap"):
        first = next(trigger for trigger in menu.enabled if trigger.prescale > 1)
        rows = [line for line in lines if line.startswith(f"{first.name} ")]
        assert [row.split()[1] for row in rows] == [f"{first.prescale:g}"]
        (head,) = (line.split() for line in lines if re.match(r"trigger +prescale ", line))
        left_out = any(line.startswith("Not shown: share") for line in lines)
        assert left_out == ("share" not in head)
        assert left_out >= (width == 80)  # the numbers of this menu need more
        assert left_out <= (width < 120)


def test_a_pipe_has_plain_text_as_wide_as_columns_say(place: Any) -> None:
    command = [sys.executable, "-m", "trigemu", "run", "menu.toml", "--samples", "catalogue.toml"]
    settings = {"PYTHONIOENCODING": "ascii", "COLUMNS": "60"}
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, check=True)
    text = done.stdout.decode("ascii")
    assert "\x1b" not in text
    assert re.search(r"\d\?\d\S* \w?Hz", text)  # ± is not in ASCII
    assert max(map(len, text.splitlines())) <= 60
    assert "Not shown: share" in text


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
        FittingConsole(file=stream, force_terminal=True, width=100).print(*page("run"))
        return stream.getvalue()

    assert cyan in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert cyan not in printed()
