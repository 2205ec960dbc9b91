"""What starts at once, and loads what it needs when it is needed."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

import trigemu
from trigemu.base.plugins import CORE
from trigemu.cli.commands import cli

HEAVY = ("numpy", "numba", "awkward", "uproot", "matplotlib", "onnxruntime")


@pytest.mark.parametrize("arguments", [["-c", "import trigemu"], ["-m", "trigemu", "--help"]])
def test_no_large_library_is_loaded(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "trigemu" in loaded
    assert not loaded & set(HEAVY)


def test_a_library_leaves_the_program_that_imports_it_alone() -> None:
    """Whatever the program is called, and how it was started."""
    code = """
import os, signal, sys
sys.argv = ["trigemu"]
os.close(0)
signal.signal(signal.SIGINT, signal.default_int_handler)
import trigemu
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert os.open(os.devnull, os.O_RDONLY) == 0
assert "trigemu.cli" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_listed_and_there() -> None:
    assert set(trigemu.__all__) <= set(dir(trigemu))
    assert all(getattr(trigemu, name) is not None for name in trigemu.__all__)
    with pytest.raises(AttributeError, match=r"trigemu.* attribute '?nothing"):
        _ = trigemu.nothing


def test_the_list_of_commands_has_the_help_of_each() -> None:
    """It is read, and not loaded."""
    context = click.Context(cli, terminal_width=500, max_content_width=500)
    formatter = context.make_formatter()
    cli.format_commands(context, formatter)
    lines = [line for line in formatter.getvalue().splitlines() if line.startswith("  ")]
    listed = dict(re.split("  +", line.strip(), maxsplit=1) for line in lines)
    for name in CORE.declared().commands:
        command = cli.get_command(context, name)
        assert command is not None
        assert listed[name] == " ".join((command.help or "").partition("\n\n")[0].split())
