"""Commands and importers that plugins bring."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugin_toys import install, write
from project import ROOT

from trigemu import TrigemuError, read_menu
from trigemu.support import CORE

Run = Callable[..., tuple[int, str]]

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


def test_an_installed_package_brings_a_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trigemu: Run
) -> None:
    write(tmp_path / "site" / "some_package" / "__init__.py", DECLARED.replace("hello", "installed"))
    write(tmp_path / "site" / "some_package" / "cli.py", COMMAND)
    install(tmp_path / "site", "some_package", "greeting")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", str(tmp_path / "none"))
    assert trigemu("greet") == (0, "installed\n")


def test_help_and_other_commands_load_no_plugin(here: Path, trigemu: Run) -> None:
    write(here / "plugins" / "greeting" / "__init__.py", f"{DECLARED}\nraise SystemExit('was loaded')")
    for arguments in (("--help",), ("samples", "--help"), ("samples",), ("import", "--help")):
        status, text = trigemu(*arguments)
        assert status == 0
        assert "was loaded" not in text
    assert "trigemu_plugin_greeting" not in sys.modules
    rows = listed(trigemu("--help")[1])
    assert rows["greet"] == "Greet the users."
    assert not {"mute", "quiet", "greeting"} & set(rows)


#: Python that prints the modules of plugins that were loaded, after what it is given.
LOADED = """
import sys
{}
print(sorted({{name.partition(".")[0] for name in sys.modules if name.startswith("trigemu_")}}))
"""
CALLED = "from click.testing import CliRunner\nfrom trigemu.cli.commands import cli\n" + (
    "assert CliRunner().invoke(cli, {!r}).exit_code == 0"
)


@pytest.mark.parametrize(
    "code",
    [
        "import trigemu\ntrigemu.run, trigemu.read_menu, trigemu.compare",
        "import trigemu.api\ntrigemu.api.Kind, trigemu.api.Source",
        f"import trigemu\nmenu = trigemu.read_menu({str(ROOT / 'menus' / 'primary.toml')!r})",
        CALLED.format(["--help"]),
        CALLED.format(["import", "--help"]),
        CALLED.format(["samples"]),
        CALLED.format(["run", str(ROOT / "menus" / "primary.toml")]),
    ],
    ids=["import", "api", "menu", "help", "help of import", "samples", "run"],
)
def test_what_needs_no_plugin_loads_none(here: Path, code: str) -> None:
    """Neither those on the path nor those that come with trigemu."""
    write(here / "plugins" / "greeting" / "__init__.py", f"{DECLARED}\nraise SystemExit('was loaded')")
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code)], capture_output=True, text=True, env=os.environ
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["[]"]), done.stderr


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("__init__.py", f"{DECLARED}\n1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("cli.py", "1 / 0", "its command 'greet' cannot be loaded: ZeroDivisionError: division by zero"),
        ("cli.py", "import no_such_package", "its command 'greet' cannot be loaded: ModuleNotFoundError"),
        ("cli.py", "def f(:", "its command 'greet' cannot be loaded: SyntaxError"),
        ("cli.py", "raise SystemExit('bye')", "its command 'greet' cannot be loaded: SystemExit: bye"),
        ("cli.py", "", "PLUGIN places 'greet' at '.cli:command', but there is none"),
        ("cli.py", "command = 3", "its command 'greet' is no click command"),
        ("cli.py", "def command(): pass", "its command 'greet' is no click command"),
    ],
)
def test_a_command_that_is_broken(here: Path, trigemu: Run, file: str, source: str, message: str) -> None:
    """It says so, and hides no other."""
    write(here / "plugins" / "greeting" / file, source)
    for _ in range(2):
        status, text = trigemu("greet")
        assert status == 2
        assert text.startswith("trigemu: plugin 'greeting'")
        assert message in text
    assert trigemu("--help")[0] == 0
    assert trigemu("schema")[0] == 0


def test_a_broken_importer_is_reported(here: Path, trigemu: Run) -> None:
    write(here / "plugins" / "greeting" / "cli.py", "1 / 0")
    status, text = trigemu("import", "greetings")
    assert status == 2
    assert "its importer 'greetings' cannot be loaded: ZeroDivisionError" in text


@pytest.mark.parametrize("declared", ["PLUGIN = Plugin(command={})", "def f(:", "\0"])
def test_a_declaration_that_cannot_be_read_hides_no_command(here: Path, trigemu: Run, declared: str) -> None:
    write(here / "plugins" / "other.py", declared)
    assert trigemu("greet") == (0, "hello\n")
    assert trigemu("--help")[0] == 0


def test_two_different_plugins_with_a_command(
    here: Path, monkeypatch: pytest.MonkeyPatch, trigemu: Run
) -> None:
    write(here / "more" / "greeting" / "__init__.py", DECLARED.replace("hello", "other"))
    write(here / "more" / "greeting" / "cli.py", COMMAND)
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", f"{here / 'plugins'}:{here / 'more'}")
    status, text = trigemu("greet")
    assert status == 2
    assert "two different plugins are called 'greeting'" in text
    assert trigemu("--help")[0] == 0


def test_no_plugin_replaces_a_command(here: Path, trigemu: Run) -> None:
    names = list(CORE.declared().commands)
    declared = f"PLUGIN = Plugin(commands={dict.fromkeys(names, '.cli:command')!r})"
    write(here / "plugins" / "greeting" / "__init__.py", f"{declared}\nraise SystemExit('was loaded')")
    for name in ("samples", "run"):
        status, text = trigemu(name, "--help")
        assert (status, "was loaded" in text) == (0, False)
    result = [line.split()[0] for line in trigemu("--help")[1].splitlines() if line.strip()]
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


def test_an_unknown_command(trigemu: Run) -> None:
    status, text = trigemu("greeet")
    assert status == 2
    assert "No such command 'greeet'" in text


def test_a_menu_alone_runs_no_code(here: Path) -> None:
    """Only code that was installed or put on the path: a menu gives names, and no paths."""
    source = f"from pathlib import Path\nPath({str(here / 'ran')!r}).touch()\nKINDS = {{}}\n"
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
