"""What is printed, whatever characters names have and whatever encoding the terminal has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trigemu.api import say
from trigemu.cli.console import console

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


@pytest.mark.parametrize(
    "command", [("events",), ("events", ".root"), ("scores",), ("run", ".json"), ("samples",)]
)
def test_names_of_event_files_and_folders_that_are_no_utf8(
    place: Any, trigemu: Run, command: tuple[str, ...]
) -> None:
    """What is written has their sample with escapes in its name, whatever the format."""
    folder = place.folder / os.fsdecode(b"dir\xff")
    folder.mkdir()
    (folder / os.fsdecode(b"x\xe9.root")).write_bytes((place.folder / "all.root").read_bytes())
    samples = str(folder / os.fsdecode(b"x\xe9.root"))
    if command == ("samples",):
        status, text = trigemu("samples", samples)
        assert r"x\udce9" in text
    else:
        name, suffix = command if len(command) == 2 else (command[0], ".parquet")
        output = folder / f"out{suffix}"
        options = ("--json" if name == "run" else "-o", str(output), "--samples", samples)
        status, text = trigemu(name, "menu.toml", *options)
        assert (rb"x\udce9" in output.read_bytes()) or suffix == ".root"
    assert status == 0, text
