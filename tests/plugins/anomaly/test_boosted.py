"""Boosted trees as XGBoost saves them: what evaluates them, and the messages for what is not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import treelite
import xgboost
from decade_toys import train_quantile
from tree_toys import floating_walk
from trigemu_anomaly import boosted, library
from trigemu_anomaly.boosted import compile_trees, load_trees
from trigemu_anomaly.fixed_row import score_by
from trigemu_anomaly.xgboost_file import LOGISTIC, QUANTILE

from trigemu import TrigemuError


def content(booster: xgboost.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


def grid(features: int = 2) -> np.ndarray:
    x = np.float32(np.random.default_rng(5).exponential(25, (500, features)))
    x[::3, 0] = 0
    return x


#: At and next to denormals, zeros and the ends of float32.
SPECIAL = np.float32([0, -0.0, 1e-45, -1e-45, 1e-40, -1e-39, 1.2e-38, 3.4e38, -3.4e38, -5, 1e10])


def rows(model: treelite.Model) -> np.ndarray:
    """Thresholds of splits and their neighbours, mixed with these and others."""
    edges = library.edges(model, 5000)
    special = np.random.default_rng(1).choice(SPECIAL, edges.shape)
    mixed = np.where(np.random.default_rng(2).random(edges.shape) < 0.3, special, edges)
    return np.concatenate([grid(model.num_feature), edges, mixed])


@pytest.mark.parametrize(
    "kind",
    [
        {"num_parallel_tree": 3},
        {"base_score": 7.5},
        {"trees": 1, "depth": 1},
        {"features": 4, "trees": 30, "depth": 6},
        {"trees": 5, "constant": True},
        {"trees": 4, "scale": 1e-42},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["one by one", "compiled by treelite", ""])
def test_models_are_evaluated_as_xgboost_does(
    kind: dict[str, Any], way: str, request: pytest.FixtureRequest
) -> None:
    if way == "one by one":
        request.getfixturevalue("no_tables")
    booster = train_quantile(**{"features": 2} | kind)
    model = treelite.frontend.from_xgboost_json(content(booster).decode())
    x = rows(model)
    read = compile_trees if way.startswith("compiled") else load_trees
    trees = read(content(booster), model.num_feature, QUANTILE)
    assert way in trees.engine
    assert trees.predict(x) == pytest.approx(booster.inplace_predict(x), rel=1e-6, abs=1e-6)
    assert library.interpret(model, x) == pytest.approx(booster.inplace_predict(x), rel=1e-6, abs=1e-6)
    assert trees.predict(x[:0]).shape == (0,)
    row = trees.row()
    alone = [score_by(row.function, row.arguments, of.ctypes.data) for of in x[:1000]]
    np.testing.assert_array_equal(alone, trees.predict(x[:1000]))


@pytest.mark.parametrize("base", [0.5, 0.02])
def test_the_score_of_a_classifier_is_its_margin(base: float) -> None:
    """The probability of XGBoost after the logistic function, and its margin before it."""
    x = np.float32(np.random.default_rng(6).exponential(25, (3000, 8)))
    signal = x[:, :3].sum(axis=1) + x[:, 5] > 120
    data = xgboost.DMatrix(x, signal)
    booster = xgboost.train(
        {"objective": "binary:logistic", "base_score": base, "max_depth": 5, "nthread": 1}, data, 30
    )
    trees = load_trees(content(booster), 8, LOGISTIC)
    assert trees.engine == "one by one"
    margin = trees.predict(x)
    assert margin == pytest.approx(booster.predict(data, output_margin=True), abs=1e-5)
    assert 1 / (1 + np.exp(-margin)) == pytest.approx(booster.predict(data), abs=1e-5)
    assert compile_trees(content(booster), 8, LOGISTIC).predict(x) == pytest.approx(margin, abs=1e-5)


def test_no_compiler_is_needed(no_compiler: None) -> None:
    booster = train_quantile(2)
    assert load_trees(content(booster), 2, QUANTILE).engine == "as a table"
    with pytest.raises(TrigemuError, match=r"no C compiler \(gcc, clang or the variable CC\)"):
        compile_trees(content(booster), 2, QUANTILE)


def test_a_large_model_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path, compiler: Callable[[str], Path]
) -> None:
    """One node too many: no compiler is started."""
    booster, compilations = train_quantile(2), compiler('exec gcc "$@"')
    nodes = len(compile_trees(content(booster), 2, QUANTILE).ensemble.feature)
    assert compilations.read_text()
    compile_trees.cache_clear()
    monkeypatch.setattr(boosted, "MAX_COMPILED", nodes - 1)
    compilations.write_text("")
    with pytest.raises(TrigemuError, match=f"has {nodes} nodes, of which at most {nodes - 1} are compiled"):
        compile_trees(content(booster), 2, QUANTILE)
    assert compilations.read_text() == ""


def test_a_model_is_loaded_once(booster: xgboost.Booster) -> None:
    assert load_trees(content(booster), 2, QUANTILE) is load_trees(content(booster), 2, QUANTILE)


def test_plain_arrays_are_the_trees_of_xgboost(booster: xgboost.Booster) -> None:
    trees = load_trees(content(booster), 2, QUANTILE).ensemble
    assert trees.trees == booster.num_boosted_rounds()
    dumped = "".join(booster.get_dump())
    assert (trees.split_nodes, len(trees.feature)) == (dumped.count("yes="), dumped.count("\n"))
    expected = booster.inplace_predict(grid())
    assert floating_walk(trees, grid()) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    edge = np.float32([[trees.threshold[0]] * 2])  # equal goes right
    assert floating_walk(trees, edge) == pytest.approx(booster.inplace_predict(edge), rel=1e-6)
