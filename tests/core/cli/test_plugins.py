"""Commands, importers and kinds that plugins bring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugin_toys import write
from project import ROOT

from trigemu import TrigemuError, read_menu
from trigemu.base.plugins import CORE
from trigemu.triggers.base import Kinds

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
DECLARED = """
from trigemu.api import Plugin
PLUGIN = Plugin(commands={"greet": ".cli:command"}, importers={"greetings": ".cli:importer"})
WORD = "hello"
"""
COMMAND = """
import click
from . import WORD
@click.command()
@click.option("--loudly", is_flag=True)
def command(loudly):
    '''Greet
    the users.

    Politely.
    '''
    click.echo(WORD.upper() if loudly else WORD)

@click.command()
def importer():
    '''Read greetings.'''
    click.echo("read")
"""


@pytest.fixture(autouse=True)
def here(forget: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A current folder whose plugins/ are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIGEMU_PLUGIN_PATH", raising=False)
    write(tmp_path / "plugins" / "greeting" / "__init__.py", DECLARED)
    write(tmp_path / "plugins" / "greeting" / "cli.py", COMMAND)
    write(tmp_path / "plugins" / "mute.py")
    write(tmp_path / "plugins" / "quiet" / "__init__.py")
    return tmp_path


def listed(text: str) -> dict[str, str]:
    """Command → its help, in the list of a group."""
    rows = [line.split(maxsplit=1) for line in text.splitlines() if line.startswith("  ")]
    return {row[0]: row[-1].strip() for row in rows if len(row) == 2}


def test_a_package_brings_a_command(trigemu: Run) -> None:
    assert trigemu("greet") == (0, "hello\n")
    assert trigemu("greet", "--loudly") == (0, "HELLO\n")
    assert "--loudly" in trigemu("greet", "--help")[1]


def test_a_package_brings_an_importer(trigemu: Run) -> None:
    assert listed(trigemu("import", "--help")[1])["greetings"] == "Read greetings."
    assert trigemu("import", "greetings") == (0, "read\n")


def test_a_module_brings_a_command(here: Path, trigemu: Run) -> None:
    source = "import click\nPLUGIN = Plugin(commands={'wave': ':wave'})\n@click.command()\ndef wave():\n"
    write(here / "plugins" / "one.py", f"from trigemu.api import Plugin\n{source}    click.echo('hi')\n")
    assert trigemu("wave") == (0, "hi\n")


#: In one process, from what needs least to what needs most.
NEED_NO_PLUGIN = f"""
import sys
from click.testing import CliRunner

def check(what):
    loaded = {{name for name in sys.modules if name.startswith("trigemu_")}}
    assert not loaded, (what, loaded)

import trigemu
trigemu.run, trigemu.read_menu, trigemu.compare
check("import trigemu")
import trigemu.api
trigemu.api.Kind, trigemu.api.Source
check("import trigemu.api")
menu = {str(ROOT / "menus" / "primary.toml")!r}
trigemu.read_menu(menu)
check("read_menu")
from trigemu.cli.commands import cli
for command in (["--help"], ["import", "--help"], ["run", menu, "--samples", "all.root"]):
    assert CliRunner().invoke(cli, command).exit_code == 0, command
    check(command)
"""


def test_what_needs_no_plugin_loads_none(place: Any) -> None:
    """Neither those on the path nor those that come with trigemu."""
    place.write("plugins/greeting/__init__.py", f"{DECLARED}\nraise SystemExit('was loaded')")
    command = [sys.executable, "-c", NEED_NO_PLUGIN]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("__init__.py", f"{DECLARED}\n1 / 0", "ZeroDivisionError"),
        ("cli.py", "1 / 0", "ZeroDivisionError"),
        ("cli.py", "import no_such_package", "ModuleNotFoundError"),
        ("cli.py", "def f(:", "SyntaxError"),
        ("cli.py", "raise SystemExit('bye')", "SystemExit: bye"),
        ("cli.py", "", "'.cli:command'"),
        ("cli.py", "command = 3", "no click command"),
    ],
)
def test_a_command_that_is_broken(here: Path, trigemu: Run, file: str, source: str, message: str) -> None:
    """It says so, each time, and hides no other."""
    write(here / "plugins" / "greeting" / file, source)
    for arguments in (
        (("greet",), ("greet",), ("import", "greetings")) if source == "1 / 0" else (("greet",),)
    ):
        status, text = trigemu(*arguments)
        assert status == 2
        assert text.startswith("trigemu: plugin 'greeting'")
        assert message in text
    assert trigemu("--help")[0] == 0


def test_no_plugin_replaces_a_command(here: Path, trigemu: Run) -> None:
    names = list(CORE.declared().commands)
    declared = f"PLUGIN = Plugin(commands={dict.fromkeys(names, '.cli:command')!r})"
    write(here / "plugins" / "greeting" / "__init__.py", f"{declared}\nraise SystemExit('was loaded')")
    for name in ("samples", "run"):
        status, text = trigemu(name, "--help")
        assert (status, "was loaded" in text) == (0, False)
    lines = (line.strip() for line in trigemu("--help")[1].splitlines())
    result = [line.partition("  ")[0] for line in lines]
    assert [result.count(name) for name in names] == [1] * len(names)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'Of the module.'\ndef command():\n    'Greet all.\\n\\n    More.'", "Greet all."),
        ("'Greet all.\\n\\nMore.'\ndef command(): pass", "Greet all."),
        ("def command():\n    'Greet \\x1b[31m' + 'all'", "(plugin greeting)"),
        ("def command():\n    'Greet \\x1b[31m all'", "Greet \\x1b[31m all"),
        ("def command():\n    '" + 50 * "long " + "'", "long long long"),
        ("1 / 0", "(plugin greeting)"),
        ("def f(:", "(plugin greeting)"),
        ("\0", "(plugin greeting)"),
    ],
)
def test_the_list_of_commands_has_the_help_of_a_plugin(
    here: Path, trigemu: Run, source: str, text: str
) -> None:
    write(here / "plugins" / "greeting" / "cli.py", source)
    status, messages = trigemu("--help")
    assert status == 0
    (line,) = [line for line in messages.splitlines() if line.startswith("  greet")]
    assert line.split(maxsplit=1)[1].startswith(text)
    assert len(line) <= 80


def test_a_menu_alone_runs_no_code(here: Path) -> None:
    """Only code that was installed or put on the path: a menu gives names, and no paths."""
    source = f"from pathlib import Path\nPath({str(here / 'ran')!r}).touch()\nKINDS = {{'x': int}}\n"
    for folder in (here / "elsewhere", here / "elsewhere" / "plugins"):
        write(folder / "evil.py", source)
    trigger = '[[trigger]]\nname = "T"\nkind = "threshold"\nobservable = "met"\nabove = 1\n'
    menu = here / "elsewhere" / "menu.toml"
    for name in ("evil", "elsewhere/evil", str(here / "elsewhere" / "evil"), "../elsewhere/evil", "os"):
        write(menu, f'[menu]\nplugins = ["{name}"]\n{trigger}')
        with pytest.raises(TrigemuError, match=f"no plugin '{name}' is installed or in plugins"):
            read_menu(menu)
    assert not (here / "ran").exists()
    write(menu, f'[menu]\nplugins = ["evil"]\n{trigger}')
    with pytest.raises(TrigemuError, match="provides no kinds"):
        read_menu(menu, here / "elsewhere")
    assert (here / "ran").exists()


# ---- kinds

PLUGIN = """
import numpy as np
from trigemu.triggers import base
from trigemu.triggers.base import Kind

class Compiled(base.Compiled):
    threshold = None
    def evaluate(self, work):
        EVALUATE

class Mine(Kind, frozen=True):
    def compile(self, context):
        context.observable("met")
        COMPILE

KINDS = {"mine": Mine}
IMPORT
"""
OF_PLUGIN = '[menu]\nplugins = ["mine"]\n\n[[trigger]]\nname = "T"\nkind = "mine"\n'


def plugin(**parts: str) -> str:
    text = PLUGIN
    defaults = {"EVALUATE": "return work.scalar('met') > 20", "COMPILE": "return Compiled()", "IMPORT": ""}
    for name, code in (defaults | parts).items():
        text = text.replace(name, code)
    return text


@pytest.mark.parametrize("named", [(), ("mine",)])
def test_the_schema_contains_the_plugins_that_are_named(
    place: Any, trigemu: Run, named: tuple[str, ...]
) -> None:
    place.write("plugins/mine.py", plugin())
    place.write("plugins/other.py", "raise SystemExit('it is loaded')")
    status, text = trigemu("schema", *named)
    assert status == 0
    document, _, messages = text.partition("\ntrigemu: ")
    kinds = [variant["title"] for variant in json.loads(document)["properties"]["trigger"]["items"]["oneOf"]]
    assert sorted(kinds) == sorted([*Kinds(), *named])
    others = set(messages.partition("plugins: ")[2].strip().split(", "))  # and those that are installed
    assert others & {"mine", "other"} == {"mine", "other"} - set(named)


@pytest.mark.parametrize(
    ("parts", "line", "cause", "workers"),
    [
        ({"IMPORT": "1 / 0"}, "1 / 0", "ZeroDivisionError: division by zero", 1),
        ({"IMPORT": "def f(:"}, "def f(:", "SyntaxError", 1),
        ({"COMPILE": "raise OSError('no model')"}, "raise OSError", "OSError: no model", 1),
        ({"EVALUATE": "return np.sqrt([1, 2]).whole"}, "return np.sqrt", "AttributeError", 1),
        ({"EVALUATE": "return np.sqrt([1, 2]).whole"}, "return np.sqrt", "AttributeError", 2),
        ({"EVALUATE": "return work.scalar('mett')"}, "return work.scalar", "that a kind requests", 1),
        ({"EVALUATE": "return np.ones(3)"}, "def evaluate", "", 1),
    ],
)
def test_the_line_and_the_traceback_of_a_plugins_error(
    place: Any, trigemu: Run, parts: dict[str, str], line: str, cause: str, workers: int
) -> None:
    place.write("menu.toml", OF_PLUGIN)
    file = place.write("plugins/mine.py", f"{plugin(**parts)}# {place.folder}, {workers}\n")
    number = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if line in text)
    command = ("run", "menu.toml", *ON_TOYS, "--workers", str(workers))
    if workers == 1:
        status, text = trigemu(*command)
        assert (status, "Traceback" in text) == (2, False)
        assert f"(at {file}:{number})" in text
    status, text = trigemu("--traceback", *command)
    assert status == 2
    assert "Traceback (most recent call last)" in text
    if cause:
        assert cause in text
        assert f'"{file}", line {number}' in text
