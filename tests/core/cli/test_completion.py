"""Completion as a shell asks for it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_checks import completed

from trigemu.base.plugins import CORE


def values(*words: str) -> list[str]:
    return [item.value for item in completed(*words)]


@pytest.fixture(autouse=True)
def plugins(place: Any) -> None:
    """One that works, and one whose code fails, whenever it is loaded."""
    command = "import click\n@click.command()\n@click.option('--depth')\ndef command(depth): ..."
    declared = "from trigemu.api import Plugin\nPLUGIN = Plugin(commands={'%s': '.cli:command'})\n"
    place.write("plugins/good/__init__.py", declared % "good")
    place.write("plugins/good/cli.py", command)
    failing = "from pathlib import Path\nPath('loaded').touch()\n1 / 0"
    place.write("plugins/bad/__init__.py", declared % "bad" + failing)
    place.write("plugins/bad/cli.py", command)


def test_commands(place: Any) -> None:
    assert set(values("")) >= {*CORE.declared().commands, "good", "bad"}
    assert values("ru") == ["run"]
    assert not (place.folder / "loaded").exists()


def test_options() -> None:
    assert values("--tr") == ["--traceback"]
    assert values("run", "menu.toml", "--work") == ["--workers"]
    assert values("run", "--errors", "") == ["interactions", "events"]
    assert values("good", "--d") == ["--depth"]
    assert values("bad", "--d") == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "me"),
        ("run", "menu.toml", "--samples", "cat"),
        ("run", "menu.toml", "--json", "o"),
        ("compare", "a.toml", "b"),
        ("samples", ""),
    ],
)
def test_files(words: tuple[str, ...]) -> None:
    assert [item.type for item in completed(*words)] == ["file"]


def test_a_bash_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "trigemu"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m trigemu "$@"\n')
    program.chmod(0o755)
    script = """
        _TRIGEMU_COMPLETE=bash_source trigemu > script && . ./script
        COMP_WORDS=(trigemu run --work) COMP_CWORD=2
        _trigemu_completion trigemu
        echo "${COMPREPLY[@]}"
        complete -p trigemu
    """
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    reply, registered = done.stdout.splitlines()
    assert reply == "--workers"
    assert "_trigemu_completion" in registered
