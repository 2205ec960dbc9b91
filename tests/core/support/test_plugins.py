from __future__ import annotations

import errno
import importlib.metadata
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from trigemu.cli.commands import cli
from trigemu.support import plugins
from trigemu.support.errors import PluginError, TrigemuError
from trigemu.support.plugins import FoundPlugin, available, find, search_path, with_commands

SOURCE = """
from trigemu.triggers.base import BitKind, Kind
class Mine(Kind, frozen=True):
    above: float
class Bits(BitKind, frozen=True):
    pass
KINDS = {"mine": Mine, "bits": Bits}
"""


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Modules of plugins stay loaded in a process: each test begins without."""
    yield
    for name in [name for name in sys.modules if name.startswith("trigemu_plugin_")]:
        del sys.modules[name]


def write(file: Path, source: str = SOURCE) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    return file


def test_a_module_is_a_plugin(tmp_path: Path) -> None:
    file = write(tmp_path / "one.py")
    plugin = find("one", [tmp_path])
    assert (plugin.name, plugin.file) == ("one", file)
    assert sorted(plugin.kinds()) == ["bits", "mine"]
    assert plugin.load() is plugin.load()


def test_a_package_is_a_plugin(tmp_path: Path) -> None:
    write(tmp_path / "pack" / "__init__.py", "from .inner import KINDS\n")
    write(tmp_path / "pack" / "inner.py")
    assert sorted(find("pack", [tmp_path]).kinds()) == ["bits", "mine"]


def test_its_kinds_can_be_pickled(tmp_path: Path) -> None:
    write(tmp_path / "one.py")
    mine = find("one", [tmp_path]).kinds()["mine"](above=3.0)
    assert pickle.loads(pickle.dumps(mine)) == mine


def test_the_digest_is_that_of_all_its_files(tmp_path: Path) -> None:
    write(tmp_path / "pack" / "__init__.py", "")
    inner = write(tmp_path / "pack" / "deep" / "inner.py")
    before = find("pack", [tmp_path]).sha256
    assert find("pack", [tmp_path]).sha256 == before
    inner.write_text(SOURCE + "# changed\n")
    changed = find("pack", [tmp_path]).sha256
    inner.rename(inner.with_name("other.py"))
    assert len({before, changed, find("pack", [tmp_path]).sha256}) == 3


def test_two_of_one_name(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        write(folder / "one.py")
    assert find("one", folders).file == folders[0] / "one.py"
    write(folders[1] / "one.py", SOURCE + "# changed\n")
    with pytest.raises(
        PluginError, match=r"two different plugins are called 'one': .*a/one\.py and .*b/one\.py"
    ):
        find("one", folders)


def test_a_package_and_a_module_of_one_name(tmp_path: Path) -> None:
    write(tmp_path / "one" / "__init__.py")
    write(tmp_path / "one.py")
    assert find("one", [tmp_path]).kinds()
    write(tmp_path / "one.py", "KINDS = {}")
    with pytest.raises(PluginError, match="two different plugins are called 'one'"):
        find("one", [tmp_path])


def test_one_of_another_folder_is_loaded_afresh(tmp_path: Path) -> None:
    """Also the modules of which it consists."""
    for folder, value in (("a", 1), ("b", 2)):
        write(tmp_path / folder / "pack" / "__init__.py", "from .inner import VALUE\nKINDS = {}\n")
        write(tmp_path / folder / "pack" / "inner.py", f"VALUE = {value}\n")
    loaded = [find("pack", [tmp_path / folder]).load().VALUE for folder in ("a", "b", "a")]
    assert loaded == [1, 2, 1]


def test_the_same_in_another_folder_is_not_loaded_again(tmp_path: Path) -> None:
    """Its classes are the same ones."""
    for folder in ("a", "b"):
        write(tmp_path / folder / "pack" / "__init__.py", "from .inner import KINDS\n")
        write(tmp_path / folder / "pack" / "inner.py")
    first, second = (find("pack", [tmp_path / folder]).kinds() for folder in ("a", "b"))
    assert first["mine"] is second["mine"]


def test_folders_as_calls_are_given_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", str(tmp_path))
    assert plugins.folders_of(None) == (tmp_path,)
    for given in ("a", Path("a"), ["a"], (Path("a"),), iter(["a"])):
        assert plugins.folders_of(given) == (Path("a"),)
    assert plugins.folders_of([]) == ()
    for wrong in (1, [1], ["a", None]):
        with pytest.raises(TrigemuError, match=r"the plugin path: got .*; expected a folder"):
            plugins.folders_of(wrong)  # type: ignore[arg-type]


def test_what_cannot_be_found(tmp_path: Path) -> None:
    write(tmp_path / "decade.py")
    with pytest.raises(PluginError) as error:
        find("decad", [tmp_path, tmp_path / "absent"])
    assert f"no plugin 'decad' is installed or in {tmp_path}, {tmp_path / 'absent'}" in str(error.value)
    assert "did you mean 'decade'? (known: decade)" in str(error.value)
    assert "--plugin-path or TRIGEMU_PLUGIN_PATH" in str(error.value)


def test_looking_for_plugins_runs_none(tmp_path: Path) -> None:
    write(tmp_path / "bad.py", "raise SystemExit\n")
    assert list(available([tmp_path])) == ["bad"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise OSError('no GPU')", "cannot be loaded: OSError: no GPU"),
        (
            "import no_such_package",
            "cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("raise SystemExit('bye')", "cannot be loaded: SystemExit: bye"),
        ("KINDS = [", "cannot be loaded: SyntaxError"),
        ("", "has no table KINDS"),
        ("KINDS = ['mine']", "has no table KINDS"),
        ("KINDS = {'mine': int}", "has no table KINDS"),
    ],
)
def test_one_that_cannot_be_used(tmp_path: Path, source: str, message: str) -> None:
    file = write(tmp_path / "bad.py", source)
    for _ in range(2):  # a failed import leaves nothing behind
        with pytest.raises(PluginError) as error:
            find("bad", [tmp_path]).kinds()
        assert str(error.value).startswith(f"plugin 'bad' ({file}) ")
        assert message in str(error.value)


def test_where_plugins_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(plugins.PATH_VARIABLE, raising=False)
    assert search_path() == (Path("plugins"),)
    monkeypatch.setenv(plugins.PATH_VARIABLE, f"{tmp_path}:/somewhere:")
    assert search_path() == (tmp_path, Path("/somewhere"))
    assert search_path([Path("given")]) == (Path("given"),)
    monkeypatch.setenv(plugins.PATH_VARIABLE, str(tmp_path))
    write(tmp_path / "one.py")
    assert find("one").file == tmp_path / "one.py"


def test_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "site" / "installed_kinds.py")
    info = tmp_path / "site" / "installed_kinds-1.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: installed-kinds\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[trigemu.plugins]\nthing = installed_kinds\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert importlib.metadata.version("installed-kinds") == "1.0"
    plugin = find("thing", [])
    assert plugin.file == tmp_path / "site" / "installed_kinds.py"
    assert sorted(plugin.kinds()) == ["bits", "mine"]


def test_an_installed_package_that_is_broken_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "site" / "broken-1.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[trigemu.plugins]\nbroken = no_such_package.kinds\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    write(tmp_path / "one.py")
    assert find("one", [tmp_path]).name == "one"
    with pytest.raises(PluginError, match="no plugin 'broken'"):
        find("broken", [tmp_path])


def test_loading_elsewhere_gives_the_same(tmp_path: Path) -> None:
    write(tmp_path / "one.py")
    plugin = find("one", [tmp_path])
    there = pickle.loads(pickle.dumps(plugin))
    assert there == plugin
    assert isinstance(there, FoundPlugin)
    assert there.kinds() is plugin.kinds()


# ---- commands

COMMAND = """
import click
from trigemu_plugin_greet import WORD
@click.command()
@click.option("--loudly", is_flag=True)
def command(loudly):
    '''Greet
    the users.

    Politely.
    '''
    click.echo(WORD.upper() if loudly else WORD)
"""


def trigemu(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments, prog_name="trigemu")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback, for the user
    return result.exit_code, result.output


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A current folder whose plugins/ are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(plugins.PATH_VARIABLE, raising=False)
    write(tmp_path / "plugins" / "greet" / "__init__.py", "KINDS = {}\nWORD = 'hello'\n")
    write(tmp_path / "plugins" / "greet" / "cli.py", COMMAND)
    write(tmp_path / "plugins" / "mute.py")
    write(tmp_path / "plugins" / "quiet" / "__init__.py")
    return tmp_path


def test_a_package_brings_a_command(here: Path) -> None:
    assert with_commands(search_path()) == ["greet"]
    assert trigemu("greet") == (0, "hello\n")
    assert trigemu("greet", "--loudly") == (0, "HELLO\n")
    assert "--loudly" in trigemu("greet", "--help")[1]


def test_an_installed_package_brings_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "site" / "some_package" / "__init__.py", "KINDS = {}\nWORD = 'installed'\n")
    write(tmp_path / "site" / "some_package" / "cli.py", COMMAND)
    info = tmp_path / "site" / "some_package-1.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[trigemu.plugins]\ngreet = some_package\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    assert trigemu("greet") == (0, "installed\n")


def test_help_and_other_commands_load_no_plugin(here: Path) -> None:
    write(here / "plugins" / "greet" / "__init__.py", "raise SystemExit('was loaded')")
    for arguments in (("--help",), ("samples", "--help"), ("samples",)):
        status, text = trigemu(*arguments)
        assert status == 0
        assert "was loaded" not in text
    assert "trigemu_plugin_greet" not in sys.modules
    rows = [line.split() for line in trigemu("--help")[1].splitlines()]
    assert ["greet", "Greet", "the", "users."] in rows
    assert not any(row[:1] in (["mute"], ["quiet"]) for row in rows)


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("__init__.py", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("cli.py", "1 / 0", "its command fails: ZeroDivisionError: division by zero"),
        ("cli.py", "import no_such_package", "its command fails: ModuleNotFoundError: No module named"),
        ("cli.py", "def f(:", "its command fails: SyntaxError"),
        ("cli.py", "raise SystemExit('bye')", "its command fails: SystemExit: bye"),
        ("cli.py", "", "its command fails: AttributeError"),
        ("cli.py", "command = 3", "its cli.command is not a click command"),
        ("cli.py", "def command(): pass", "its cli.command is not a click command"),
    ],
)
def test_a_command_that_is_broken(here: Path, file: str, source: str, message: str) -> None:
    """It says so, and hides no other."""
    write(here / "plugins" / "greet" / file, source)
    for _ in range(2):
        status, text = trigemu("greet")
        assert status == 2
        assert text.startswith("trigemu: plugin 'greet'")
        assert message in text
    assert trigemu("--help")[0] == 0
    assert trigemu("samples")[0] == 0


def test_two_different_plugins_with_a_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "more" / "greet" / "__init__.py", "KINDS = {}\nWORD = 'other'\n")
    write(here / "more" / "greet" / "cli.py", COMMAND)
    monkeypatch.setenv(plugins.PATH_VARIABLE, f"{here / 'plugins'}:{here / 'more'}")
    status, text = trigemu("greet")
    assert status == 2
    assert "two different plugins are called 'greet'" in text
    assert trigemu("--help")[0] == 0


def test_no_plugin_takes_the_place_of_a_command(here: Path) -> None:
    write(here / "plugins" / "samples" / "__init__.py", "raise SystemExit('was loaded')")
    write(here / "plugins" / "samples" / "cli.py", COMMAND)
    status, text = trigemu("samples")
    assert status == 0
    assert "was loaded" not in text
    assert [line.split()[:1] for line in trigemu("--help")[1].splitlines()].count(["samples"]) == 1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'Greet all.\\n\\nMore.'\ndef command(): pass", "Greet all."),
        ("def command():\n    'Greet \\x1b[31m' + 'all'", "(plugin greet)"),
        ("def command():\n    'Greet \\x1b[31m all'", "Greet \\x1b[31m all"),
        ("def command():\n    '" + 50 * "long " + "'", "long long long"),
        ("1 / 0", "(plugin greet)"),
        ("def f(:", "(plugin greet)"),
        ("\0", "(plugin greet)"),
    ],
)
def test_the_list_of_commands_has_the_help_of_a_plugin(here: Path, source: str, text: str) -> None:
    write(here / "plugins" / "greet" / "cli.py", source)
    status, listed = trigemu("--help")
    assert status == 0
    (line,) = [line for line in listed.splitlines() if line.startswith("  greet")]
    assert line.split(maxsplit=1)[1].startswith(text)
    assert len(line) <= 80


def test_an_unknown_command(here: Path) -> None:
    status, text = trigemu("greeet")
    assert status == 2
    assert "No such command 'greeet'" in text


def test_what_is_no_plugin_hides_no_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one.py")
    (tmp_path / ".#one.py").symlink_to("someone@somewhere.1234")  # the lock file of an editor
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("a b", "a.b", "1st", "__init__", ".hidden", "x\n"):
        write(tmp_path / f"{name}.py")
    write(tmp_path / "with-hyphen.py")
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", str(tmp_path))
    assert sorted(available([tmp_path])) == ["one", "with-hyphen"]
    assert sorted(find("one", [tmp_path]).kinds()) == ["bits", "mine"]
    assert CliRunner().invoke(cli, ["--help"]).exit_code == 0


def test_a_package_with_odd_files(tmp_path: Path) -> None:
    write(tmp_path / "pack" / "__init__.py")
    plain = find("pack", [tmp_path]).sha256
    os.mkfifo(tmp_path / "pack" / "pipe.py")
    (tmp_path / "pack" / ".#__init__.py").symlink_to("nowhere")
    assert find("pack", [tmp_path]).sha256 == plain


def test_a_plugin_that_cannot_be_read_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one.py")
    write(tmp_path / "two.py")
    read = Path.read_bytes

    def refused(path: Path) -> bytes:
        if path.name == "two.py":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    assert find("one", [tmp_path]).name == "one"
    with pytest.raises(PluginError, match=r"plugin 'two': cannot read .*two\.py: Permission denied"):
        find("two", [tmp_path])


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    write(tmp_path / "file")
    folders = [tmp_path / "missing", tmp_path / "file", tmp_path]
    with pytest.raises(PluginError, match=r"missing \(no such folder\), .*file \(no such folder\), "):
        find("one", folders)


def test_an_empty_entry_of_the_path_is_not_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", ":/a::")
    assert search_path() == (Path("/a"),)


def test_lack_of_memory_is_not_the_fault_of_a_plugin(tmp_path: Path) -> None:
    write(tmp_path / "one.py", "raise MemoryError")
    with pytest.raises(TrigemuError, match="not enough memory") as caught:
        find("one", [tmp_path]).load()
    assert not isinstance(caught.value, PluginError)
