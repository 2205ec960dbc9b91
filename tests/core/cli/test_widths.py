"""What commands print at 80, 100 and 120 columns, in a pipe, and in ASCII: names and prescales whole."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from command_checks import lines_of, printed
from project import ROOT

import trigemu as package
from trigemu.cli.console import console
from trigemu.results.terminal import FittingConsole

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
