from __future__ import annotations

import importlib.metadata
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trigemu import plugins
from trigemu.errors import PluginError
from trigemu.plugins import Plugin, available, find, search_path

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
    assert isinstance(there, Plugin)
    assert there.kinds() is plugin.kinds()
