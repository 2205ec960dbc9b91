"""Where plugins are found, and how they are loaded; those that travel to workers by content, with cards and
models."""

from __future__ import annotations

import importlib.metadata
import os
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from likeness import alike
from plugin_toys import CARDED, install, write, write_card
from toys import CATALOGUE, toy_events, trigger, write_root

from trigemu import TrigemuError, open_catalogue, read_menu, run, worker_pool
from trigemu.base.errors import PluginError
from trigemu.base.mapping import Engine
from trigemu.base.plugins import (
    FoundPlugin,
    Plugin,
    available,
    declared,
    digest_of_plugin,
    find,
    load_from,
    plugins_in,
    search_path,
    sources_of,
)
from trigemu.base.processes import WorkerLostError

pytestmark = pytest.mark.usefixtures("forget")
#: A package whose kind is in a module of its own, which loads nothing itself.
PACKAGE = "PLUGIN = Plugin(kinds={'mine': '.inner:Mine'})\n"
WITH_IMPORT = f"from trigemu.api import Plugin\n{PACKAGE}"


def test_a_module_is_a_plugin(tmp_path: Path) -> None:
    file = write(tmp_path / "one.py")
    plugin = find("one", [tmp_path])
    assert (plugin.name, plugin.file) == ("one", file)
    assert sorted(plugin.declared().kinds) == ["bits", "mine"]
    assert plugin.load() is plugin.load()
    assert plugin.load().__name__ == "trigemu_plugin_one"
    mine = plugin.load().Mine(above=3.0)
    there, other = pickle.loads(pickle.dumps((plugin, mine)))
    assert (there, other) == (plugin, mine)
    assert there.load() is plugin.load()


def test_a_package_is_a_plugin(tmp_path: Path) -> None:
    write(tmp_path / "pack" / "__init__.py", WITH_IMPORT)
    write(tmp_path / "pack" / "inner.py")
    plugin = find("pack", [tmp_path])
    assert plugin.part("kinds", "mine").__module__ == "trigemu_plugin_pack.inner"


def test_the_digest_is_that_of_all_its_files(tmp_path: Path) -> None:
    write(tmp_path / "pack" / "__init__.py", "")
    inner = write(tmp_path / "pack" / "deep" / "inner.py")
    before = find("pack", [tmp_path]).sha256
    os.mkfifo(tmp_path / "pack" / "pipe.py")
    (tmp_path / "pack" / ".#__init__.py").symlink_to("nowhere")
    assert find("pack", [tmp_path]).sha256 == before
    inner.write_text("# changed\n")
    changed = find("pack", [tmp_path]).sha256
    inner.rename(inner.with_name("other.py"))
    assert len({before, changed, find("pack", [tmp_path]).sha256}) == 3


def test_two_of_one_name(tmp_path: Path) -> None:
    """Two modules, and a module and a package."""
    write(tmp_path / "one" / "__init__.py")
    write(tmp_path / "one.py")
    assert find("one", [tmp_path]).load().KINDS
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        write(folder / "one.py")
    assert find("one", folders).file == folders[0] / "one.py"
    write(folders[1] / "one.py", "# changed\n")
    with pytest.raises(
        PluginError, match=r"two different plugins are called 'one': .*a/one\.py and .*b/one\.py"
    ):
        find("one", folders)


def test_one_of_another_folder_is_loaded_afresh_unless_it_is_the_same(tmp_path: Path) -> None:
    """Also the modules of which it consists, and their classes."""
    for folder, value in (("a", 1), ("b", 2), ("copy of b", 2)):
        write(tmp_path / folder / "pack" / "__init__.py", "from .inner import VALUE, Mine\nKINDS = {}\n")
        write(tmp_path / folder / "pack" / "inner.py", f"class Mine: ...\nVALUE = {value}\n")
    loaded = [find("pack", [tmp_path / folder]).load() for folder in ("a", "b", "copy of b", "a")]
    assert [module.VALUE for module in loaded] == [1, 2, 2, 1]
    assert loaded[1].Mine is loaded[2].Mine


def test_what_cannot_be_found(tmp_path: Path) -> None:
    write(tmp_path / "boosted.py")
    with pytest.raises(PluginError) as error:
        find("boostd", [tmp_path, tmp_path / "absent", tmp_path / "boosted.py"])
    for part in ("'boostd'", f"{tmp_path}, ", "absent (no such folder)", "boosted.py (no such folder)"):
        assert part in str(error.value)
    for part in ("did you mean 'boosted'?", "--plugin-path", "TRIGEMU_PLUGIN_PATH"):
        assert part in str(error.value)


def test_looking_for_plugins_and_reading_them_runs_none(tmp_path: Path) -> None:
    write(tmp_path / "bad.py", f"raise SystemExit\n{PACKAGE}")
    assert set(available([tmp_path])) - set(available([])) == {"bad"}
    assert find("bad", [tmp_path]).declared().kinds == {"mine": ".inner:Mine"}


def test_where_plugins_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In folders that are given in any form, else those of the variable, else plugins."""
    monkeypatch.delenv("TRIGEMU_PLUGIN_PATH", raising=False)
    assert search_path() == (Path("plugins"),)
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", f":{tmp_path}::/somewhere:")  # an empty entry is no folder
    assert search_path() == search_path(None) == search_path([]) == (tmp_path, Path("/somewhere"))
    for given in ("a", Path("a"), ["a"], (Path("a"),), iter(["a"])):
        assert search_path(given) == (Path("a"),)
    for wrong in (1, [1], ["a", 2]):
        with pytest.raises(TrigemuError, match=r"the plugin path: got .*; expected a folder"):
            search_path(wrong)  # type: ignore[arg-type]
    write(tmp_path / "one.py")
    assert find("one").file == tmp_path / "one.py"


def test_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = write(tmp_path / "site" / "installed_kinds.py")
    install(tmp_path / "site", "installed_kinds", "thing")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert importlib.metadata.version("installed_kinds") == "1.0"
    plugin = find("thing", [])
    assert (plugin.file, plugin.module) == (file, "trigemu_plugin_thing")
    assert plugin.load().KINDS


def test_an_installed_package_that_is_broken_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(tmp_path / "site", "no_such_package.kinds", "broken")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    write(tmp_path / "one.py")
    assert find("one", [tmp_path]).name == "one"
    with pytest.raises(PluginError, match="no plugin 'broken'"):
        find("broken", [tmp_path])


def test_what_is_no_plugin_hides_no_plugin(tmp_path: Path) -> None:
    write(tmp_path / "one.py")
    (tmp_path / ".#one.py").symlink_to("someone@somewhere.1234")  # the lock file of an editor
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("a b", "a.b", "1st", "__init__", ".hidden", "x\n"):
        write(tmp_path / f"{name}.py")
    write(tmp_path / "with-hyphen.py")
    assert set(available([tmp_path])) - set(available([])) == {"one", "with-hyphen"}
    assert find("one", [tmp_path]).load().KINDS


WHOLE = Plugin(
    kinds={"mine": ".kind:Mine"},
    formats={"lines": ":Lines"},
    importers={"other-menu": ".importing:convert"},
    commands={"greet": "some_package.cli:command"},
    sections={"more": ".report.sections:more"},
    uses=("other",),
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"from trigemu.api import Plugin\nPLUGIN = {WHOLE!r}", WHOLE),
        (f"PLUGIN: Plugin = {WHOLE!r}", WHOLE),
        (f"import trigemu.api as t\nPLUGIN = t.{WHOLE!r}", WHOLE),
        ("PLUGIN = Plugin()", Plugin()),
        ("PLUGIN = Plugin(kinds={'a': '.b:' + 'C'})\nPLUGIN = Plugin()", Plugin()),
        ("", Plugin()),
        ("KINDS = {'mine': Mine, 'bits': object()}", Plugin(kinds={"mine": ":KINDS", "bits": ":KINDS"})),
        ("KINDS: dict[str, type] = {'mine': Mine, NAME: Mine}", Plugin(kinds={"mine": ":KINDS"})),
        ("from .inner import KINDS", Plugin()),
        ("KINDS = {'mine': Mine}\nPLUGIN = Plugin(formats={'x': ':y'})", Plugin(formats={"x": ":y"})),
        ("def function():\n    PLUGIN = 3", Plugin()),
        (f"raise SystemExit('was run')\nimport no_such_package\nPLUGIN = {WHOLE!r}", WHOLE),
    ],
)
def test_what_is_declared(source: str, expected: Plugin) -> None:
    assert declared(source.encode()) == expected


PLACE = r"expected \{'name': '\.module:object'\}, a place in the plugin's own module `module`"
LITERALS = "must be written with literals: it is read, not run"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3", r"PLUGIN must be Plugin\(kinds=\{…\}, …\), written with literals"),
        ("Plugin({'mine': '.kind:Mine'})", r"PLUGIN must be Plugin\(kinds=\{…\}, …\), written with literals"),
        ("Plugin(kind={})", r"PLUGIN has an unknown part 'kind'; did you mean 'kinds'\?"),
        ("Plugin(**parts)", r"PLUGIN has an unknown part '\*\*'"),
        ("Plugin(kinds=KINDS)", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(kinds={'a': '.b:C', **more})", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(kinds={'a': open('f').read()})", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(uses=('other', THIRD))", f"uses of PLUGIN {LITERALS}"),
        ("Plugin(commands=['greet'])", rf"commands of PLUGIN is \['greet'\], {PLACE}"),
        ("Plugin(kinds=None)", r"kinds of PLUGIN is None, expected"),
        ("Plugin(kinds={1: '.b:C'})", rf"kinds of PLUGIN is \{{1: '.b:C'\}}, {PLACE}"),
        *(
            (f"Plugin(kinds={{'a': {place!r}}})", rf"kinds of PLUGIN is \{{'a': {place!r}\}}, {PLACE}")
            for place in (3, "kind", ".kind:", ".kind:B.c", "..kind:B", "/tmp/kind:B")
        ),
        ("Plugin(uses='other')", r"uses of PLUGIN is 'other', expected names of plugins: \('anomaly',\)"),
        ("Plugin(uses=(1,))", r"uses of PLUGIN is \(1,\), expected names of plugins"),
    ],
)
def test_what_cannot_be_declared(value: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        declared(f"PLUGIN = {value}".encode())


INNER = """
from dataclasses import dataclass
import numpy as np
from trigemu.api import Compiled, ScoreKind
class Twice(ScoreKind, frozen=True):
    observable: str
    def compile(self, context):
        return CompiledTwice(context.observable(self.observable), self.threshold)
@dataclass(frozen=True)
class CompiledTwice(Compiled):
    number: object
    threshold: float
    def evaluate(self, work):
        return np.nan_to_num(2 * self.number.evaluate(work), nan=-np.inf)
"""
TRAVELLING = (
    '[menu]\nname = "travels"\nplugins = ["twice", "carded"]\n'
    + trigger("J", "twice", 'observable = "jet[0].pt"\nabove = 60')
    + trigger("AD", "carded", 'card = "models/card.json"\nunique_rate_hz = 1000.0')
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a menu, with a plugin of two modules and a model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "client"
    (folder / "plugins" / "twice").mkdir(parents=True)
    (folder / "plugins" / "twice" / "inner.py").write_text(INNER)
    (folder / "plugins" / "twice" / "__init__.py").write_text(
        'from .inner import Twice\nKINDS = {"twice": Twice}\n'
    )
    write(folder / "plugins" / "carded.py", CARDED)
    write_card(folder / "models" / "card.json", {"met": 1.0, "jet[0].pt": -0.5})
    (folder / "menu.toml").write_text(TRAVELLING)
    return folder


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    write_root(tmp_path / "data" / "all.root", toy_events(1, 400), basket=50)
    (tmp_path / "data" / "catalogue.toml").write_text(CATALOGUE)
    return tmp_path / "data" / "catalogue.toml"


class Elsewhere:
    """An executor whose workers have none of the files of the client, which has them again for results."""

    def __init__(self, pool: Any, folder: Path) -> None:
        self.pool, self.folder, self.hidden = pool, folder, folder.with_name("hidden")

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        if self.folder.exists():
            self.folder.rename(self.hidden)
        future = self.pool.submit(function, *arguments)
        return SimpleNamespace(result=lambda: self.shown(future.result()))

    def shown(self, found: Any) -> Any:
        if self.hidden.exists():
            self.hidden.rename(self.folder)
        return found


def test_a_worker_needs_no_file_but_those_of_samples(client: Path, catalogue: Path, tmp_path: Path) -> None:
    menu = read_menu(client / "menu.toml", [client / "plugins"])
    samples = open_catalogue(catalogue)
    here = run(menu, samples)
    assert here.triggers[1].total.hz > 0
    with worker_pool(1) as pool:
        engine = Engine(Elsewhere(pool, client), chunk_events=50)
        there = run(menu, samples, executor=engine)
    assert alike(there.triggers, here.triggers)
    kept = tmp_path / "cache" / "trigemu" / "plugins" / menu.plugins[0].sha256 / "twice"
    assert (kept / "inner.py").read_text() == INNER


def test_a_file_that_changes_on_the_way_is_noticed(client: Path, catalogue: Path) -> None:
    menu, samples = read_menu(client / "menu.toml", [client / "plugins"]), open_catalogue(catalogue)
    sources_of(menu.plugins[0])
    (client / "plugins" / "twice" / "inner.py").write_text(INNER + "\n# changed\n")
    with pytest.raises(PluginError, match=r"plugin 'twice': .*__init__\.py was changed while it was used"):
        sources_of(menu.plugins[0])
    with worker_pool(1) as pool, pytest.raises(PluginError, match="changed"):
        run(menu, samples, executor=pool)


@pytest.mark.parametrize("there", ["same", "other", "none", "damaged cache"])
def test_the_same_plugin_is_loaded_wherever_it_is(client: Path, tmp_path: Path, there: str) -> None:
    plugin = find("twice", [client / "plugins"])
    sources = sources_of(plugin)
    kept = tmp_path / "cache" / "trigemu" / "plugins" / plugin.sha256 / "twice" / "inner.py"
    if there == "other":
        (plugin.file.parent / "inner.py").write_text("raise ValueError\n")
    elif there != "same":
        shutil.rmtree(plugin.file.parent)
    if there == "damaged cache":
        kept.parent.mkdir(parents=True)
        for folder in kept.parents[:3]:
            folder.chmod(0o700)
        kept.write_text("raise ValueError\n")
        (kept.parent / "__init__.py").write_text("")
    load_from(plugin, sources)
    file = Path(str(sys.modules["trigemu_plugin_twice"].__file__))
    assert (file == plugin.file) == (there == "same")
    assert digest_of_plugin(file) == plugin.sha256
    assert plugins_in(b"trigemu_plugin_twice") == {FoundPlugin("twice", file, plugin.module, plugin.sha256)}


def test_plugins_that_a_pickle_refers_to(client: Path) -> None:
    plugin = find("twice", [client / "plugins"])
    kind = plugin.load().Twice(observable="met")
    assert plugins_in(pickle.dumps([1, kind])) == {plugin}
    assert plugins_in(pickle.dumps([1, "trigemu_plugin_other", TrigemuError, WorkerLostError])) == set()
