from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import onnx_toys
import pytest
import xgboost
from decade_toys import Models, train_quantile
from project import ROOT
from toys import memory_catalogue, toy_events

from trigemu import Catalogue
from trigemu.support.plugins import find
from trigemu_anomaly import tree_cells

PLUGIN = "trigemu_decade"
find("decade", [ROOT / "plugins"]).load()
for part in ("check", "cli", "report", "training.train", "training.write"):  # which import all others
    importlib.import_module(f"{PLUGIN}.{part}")
LOADED = {name: module for name, module in sys.modules.items() if name.startswith(PLUGIN)}


@pytest.fixture(autouse=True)
def _same_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests forget modules that these tests have classes of, or load them once more."""
    for name in [name for name in sys.modules if name.startswith(PLUGIN)]:
        del sys.modules[name]
    sys.modules.update(LOADED)
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", str(ROOT / "plugins"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled trees of tests are kept apart from those of users, and are compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled trees, and nothing loaded yet."""
    from trigemu_decade.quantile import load_trees

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRIGEMU_CACHE_DIR", raising=False)
    load_trees.cache_clear()
    return tmp_path / "cache" / "trigemu"


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All trees have too many cells for a table: they are compiled."""
    from trigemu_decade.quantile import load_trees

    monkeypatch.setattr(tree_cells, "MAX_CELLS", 0)
    load_trees.cache_clear()
    yield
    load_trees.cache_clear()


@pytest.fixture
def no_compiler(
    fresh_cache: Path, no_tables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    from trigemu_decade.quantile import load_trees

    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("CC", "nowhere/cc")
    load_trees.cache_clear()
    yield
    load_trees.cache_clear()


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A compiler whose `--version` and compilations are shell commands; `$@` are gcc's arguments. The
    file that is returned gets a line for each compilation."""

    def make(compile_: str = 'exec gcc "$@"', version: str = "toy 1.0") -> Path:
        log, script = tmp_path / "compilations", tmp_path / "toycc"
        script.write_text(
            f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit 0; fi\n'
            f'echo "$@" >> {log}\n{compile_}\n'
        )
        script.chmod(0o755)
        log.touch()
        monkeypatch.setenv("CC", str(script))
        return log

    return make


@pytest.fixture(scope="session")
def booster() -> xgboost.Booster:
    """Y(x) of two observables."""
    return train_quantile(2)


@pytest.fixture
def models(tmp_path: Path, booster: xgboost.Booster) -> Models:
    made = Models(tmp_path, booster)
    made.write_network(onnx_toys.autoencoder(6, (4, 2, 4), "Tanh"))
    made.write_card(bdt=bytes(booster.save_raw("json")))
    return made


@pytest.fixture(scope="session")
def plain_events() -> list[dict[str, Any]]:
    """A third of them weigh much more than the others."""
    events = toy_events(7, 900)
    for number, event in enumerate(events):
        event["weight"] = float(1 + number % 3) * (30.0 if number % 3 else 1.0)
    return events


@pytest.fixture(scope="session")
def catalogue(plain_events: list[dict[str, Any]]) -> Catalogue:
    """Two samples."""
    return memory_catalogue({"a": plain_events[:600], "b": plain_events[600:]})


@pytest.fixture(scope="session")
def toy() -> Callable[..., Any]:
    """Scored events of which Y(x) is known: two steep observables, the first often missing, and y normal
    around a mean that rises with both. Weights spread, and fall with the second observable."""
    from trigemu_decade.diagnostics import ScoredEvents

    def make(n: int, seed: int, q: float = 0.05, spread: float = 0.7, threshold: float = 0.1) -> ScoredEvents:
        rng = np.random.default_rng(seed)
        jet = np.where(rng.random(n) < 0.3, 0.0, 20 + rng.exponential(15, n))
        photon = 10 + rng.exponential(5, n)
        mean = 0.03 * jet + 0.05 * photon
        y = mean + rng.standard_normal(n)
        hard, soft = (jet > 60) * 1.0, (photon > 20) * 0.5
        return ScoredEvents(
            interaction=np.arange(n),
            weight=100 * rng.lognormal(0, spread, n) * np.exp(-(photon - 10) / 30),
            x={"jet[0].pt": jet, "photon[0].pt": photon},
            y=y,
            quantile=mean + NormalDist().inv_cdf(1 - q),
            q=q,
            threshold=threshold,
            threshold_error=0.02,
            y_threshold=float(np.quantile(y, 0.95)),
            primary={"J60": hard, "G20": soft},
            any_primary=hard + soft - hard * soft,
        )

    return make
