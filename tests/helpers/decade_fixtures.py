"""Models of the decade kind, events, and compilers: fixtures that a conftest.py imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx_toys
import pytest
import xgboost
from decade_toys import Models, train_quantile
from toys import memory_catalogue, toy_events
from trigemu_anomaly import tree_kernels
from trigemu_anomaly.models import load_trees

from trigemu import Catalogue


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled trees of tests are kept apart from those of users, and are compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled trees, and nothing loaded yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRIGEMU_CACHE_DIR", raising=False)
    load_trees.cache_clear()
    return tmp_path / "cache" / "trigemu"


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All trees have too many cells for a table: they are followed one by one."""
    monkeypatch.setattr(tree_kernels, "MAX_CELLS", 0)
    load_trees.cache_clear()
    yield
    load_trees.cache_clear()


@pytest.fixture
def no_compiler(fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
