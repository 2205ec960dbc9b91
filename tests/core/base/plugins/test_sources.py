"""Plugins, cards and models that travel to workers by content."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from likeness import alike
from plugin_toys import CARDED, write, write_card
from toys import CATALOGUE, toy_events, write_root

from trigemu import TrigemuError, open_catalogue, read_menu, run, worker_pool
from trigemu.base.errors import PluginError
from trigemu.base.mapping import Engine
from trigemu.base.plugins import FoundPlugin, digest_of_plugin, find, load_from, plugins_in, sources_of
from trigemu.base.processes import WorkerLostError

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
MENU = """
[menu]
name = "travels"
plugins = ["twice", "carded"]

[[trigger]]
name = "J"
kind = "twice"
observable = "jet[0].pt"
above = 60

[[trigger]]
name = "AD"
kind = "carded"
card = "models/card.json"
unique_rate_hz = 1000.0
"""


@pytest.fixture(autouse=True)
def _forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield
    for name in [name for name in sys.modules if name.startswith("trigemu_plugin_")]:
        del sys.modules[name]


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """The folder of a menu, with a plugin of two modules and a model."""
    folder = tmp_path / "client"
    (folder / "plugins" / "twice").mkdir(parents=True)
    (folder / "plugins" / "twice" / "inner.py").write_text(INNER)
    (folder / "plugins" / "twice" / "__init__.py").write_text(
        'from .inner import Twice\nKINDS = {"twice": Twice}\n'
    )
    write(folder / "plugins" / "carded.py", CARDED)
    write_card(folder / "models" / "card.json", {"met": 1.0, "jet[0].pt": -0.5})
    (folder / "menu.toml").write_text(MENU)
    return folder


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    write_root(tmp_path / "data" / "all.root", toy_events(1, 400), basket=50)
    (tmp_path / "data" / "catalogue.toml").write_text(CATALOGUE)
    return tmp_path / "data" / "catalogue.toml"


class Elsewhere:
    """An executor whose workers have none of the files of the client."""

    def __init__(self, pool: Any, folder: Path) -> None:
        self.pool, self.folder = pool, folder

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        if self.folder.exists():
            self.folder.rename(self.folder.with_name("hidden"))
        done = self.pool.submit(function, *arguments)
        done.add_done_callback(lambda _: None)
        return Waited(done, self.folder)  # type: ignore[return-value]


class Waited:
    def __init__(self, future: Future[Any], folder: Path) -> None:
        self.future, self.folder = future, folder

    def result(self) -> Any:
        found = self.future.result()
        hidden = self.folder.with_name("hidden")
        if hidden.exists():  # the client has its files
            hidden.rename(self.folder)
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
