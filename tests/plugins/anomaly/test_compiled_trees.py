"""Trees compiled by treelite: rows, compilers that fail or are missing, and the cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xgboost
from decade_toys import train_quantile
from trigemu_anomaly import compiled_trees
from trigemu_anomaly.models import Trees, load_trees
from trigemu_anomaly.xgboost_file import QUANTILE

from trigemu import TrigemuError

Compiler = Callable[..., Path]
X = np.random.default_rng(5).exponential(25, (500, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def small() -> xgboost.Booster:
    """Trees that are compiled in no time."""
    return train_quantile(2, trees=3)


def compiled(booster: xgboost.Booster) -> Trees:
    load_trees.cache_clear()
    trees = load_trees(bytes(booster.save_raw("json")), 2, QUANTILE, compiled=True)
    assert trees.score(X) == pytest.approx(booster.inplace_predict(X), abs=1e-6)
    return trees


def test_any_layout_of_the_rows_is_read(small: xgboost.Booster) -> None:
    trees = compiled(small)
    expected = trees.score(X)
    assert (trees.score(np.asfortranarray(X)) == expected).all()
    assert (trees.score(np.repeat(X, 2, axis=0)[::2]) == expected).all()
    for wrong in (X[:, :1], np.hstack([X, X]), X[:, 0]):
        with pytest.raises(ValueError, match="trees that read 2 features got an array"):
            trees.score(wrong)


def test_a_model_is_compiled_once(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, capfd: pytest.CaptureFixture[str]
) -> None:
    """And without a word of tl2cgen; another model is another library."""
    log = compiler()
    compiled(small)
    (file,) = fresh_cache.iterdir()
    calls = log.read_text()
    assert calls
    assert compiled(small).how == "compiled by treelite"
    assert log.read_text() == calls
    assert capfd.readouterr() == ("", "")
    compiled(train_quantile(2, trees=2))
    assert log.read_text() != calls
    assert len({*fresh_cache.iterdir()} | {file}) == 2


def test_a_compiler_that_fails(small: xgboost.Booster, fresh_cache: Path, compiler: Compiler) -> None:
    compiler('echo "out of luck" >&2; exit 1')
    with pytest.raises(TrigemuError, match=r"cannot be compiled by .*toycc: .*try another compiler"):
        compiled(small)
    assert not list(fresh_cache.iterdir())


def test_the_folder_of_the_variable(
    small: xgboost.Booster, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "image"))
    compiled(small)
    assert [file.suffix for file in (tmp_path / "image").iterdir()] == [".so"]
    assert not fresh_cache.exists()


def test_a_cached_library_needs_no_compiler(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler()
    compiled(small)
    monkeypatch.setattr(compiled_trees, "_compiler", lambda: None)
    assert compiled(small).how == "compiled by treelite"


def test_a_large_model_is_not_compiled(
    small: xgboost.Booster, fresh_cache: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = compiler()
    nodes = len(compiled(small).ensemble.feature)
    log.write_text("")
    monkeypatch.setattr(compiled_trees, "MAX_NODES", nodes - 1)
    trees = compiled(small)
    assert f"has {nodes} nodes, of which at most {nodes - 1} are compiled" in trees.notes[-1]
    assert log.read_text() == ""


def test_no_shell_runs_the_variable_of_the_compiler(
    small: xgboost.Booster, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"gcc; touch {tmp_path}/seen")
    assert compiled(small).how == "compiled by treelite"
    assert not (tmp_path / "seen").exists()


def test_without_a_home_trees_are_compiled_for_this_process_alone(
    small: xgboost.Booster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "TRIGEMU_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    assert compiled(small).how == "compiled by treelite"
