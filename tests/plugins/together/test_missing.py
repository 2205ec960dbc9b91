"""The core and each plugin without the plugins that they do not need."""

from __future__ import annotations

import json
import subprocess
import sys

from commands import Place
from project import ROOT

#: Runs commands in a process in which some packages cannot be imported.
RUN = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from click.testing import CliRunner
from trigemu.cli.commands import cli
results = [CliRunner().invoke(cli, command, prog_name="trigemu") for command in json.loads(sys.argv[2])]
print(json.dumps([(result.exit_code, result.output) for result in results]))
"""
PACKAGES = sorted(file.parent.name for file in (ROOT / "plugins").glob("*/__init__.py"))


def without(packages: list[str], *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """The statuses of commands, and what they say, where some packages are missing."""
    inputs = json.dumps(packages), json.dumps(commands)
    done = subprocess.run([sys.executable, "-c", RUN, *inputs], capture_output=True, text=True, check=True)
    return [
        (status, " ".join(message.split())) for status, message in json.loads(done.stdout.splitlines()[-1])
    ]


def test_the_core_runs_without_any(place: Place) -> None:
    place.write("named.toml", '[menu]\nplugins = ["decade"]\n[[trigger]]\nname = "AD"\nkind = "decade"\n')
    commands = ("run", "named.toml"), ("benhc",), ("run", "menu.toml", "--samples", "catalogue.toml")
    named, nothing, core = without(PACKAGES, *commands)
    assert (named[0], "no plugin 'decade' is installed" in named[1]) == (2, True), named
    assert (nothing[0], "No such command 'benhc'" in nothing[1]) == (2, True), nothing
    assert (core[0], "J30" in core[1]) == (0, True), core


def test_an_importer_needs_no_plugin_that_it_does_not_use() -> None:
    others = sorted({*PACKAGES} - {"trigemu_cms"})
    ((status, text),) = without(others, ("import", "cms-l1", "--help"))
    assert (status, "--network" in text) == (0, True), text
