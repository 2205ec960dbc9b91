"""Boosted trees as XGBoost saves them: what evaluates them, and the messages for what is not used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import treelite
import xgboost
from decade_toys import train_quantile
from tree_toys import one_by_one
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.xgboost_file import QUANTILE


def content(booster: xgboost.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


def grid(features: int = 2) -> np.ndarray:
    x = np.float32(np.random.default_rng(5).exponential(25, (500, features)))
    x[::3, 0] = 0
    return x


#: At and next to denormals, zeros and the ends of float32.
SPECIAL = np.float32([0, -0.0, 1e-45, -1e-45, 1e-40, -1e-39, 1.2e-38, 3.4e38, -3.4e38, -5, 1e10])


def edges_of(model: treelite.Model, n: int) -> np.ndarray:
    """Thresholds of splits and adjacent numbers, combined at random."""
    splits: list[list[float]] = [[0.0] for _ in range(model.num_feature)]
    for number in range(model.num_tree):
        tree = model.get_tree_accessor(number)
        feature, threshold = tree.get_field("split_index"), tree.get_field("threshold")
        for f, value in zip(feature, threshold, strict=True):
            if f >= 0:
                splits[f].append(float(value))
    random = np.random.default_rng(n)
    x = np.column_stack([random.choice(np.array(values, np.float32), n) for values in splits])
    towards = random.choice(np.array([-np.inf, np.inf], np.float32), x.shape)
    return np.where(random.random(x.shape) < 1 / 3, x, np.nextafter(x, towards)).astype(np.float32)


def rows(model: treelite.Model) -> np.ndarray:
    """Thresholds of splits and their neighbours, mixed with these and others."""
    edges = edges_of(model, 5000)
    special = np.random.default_rng(1).choice(SPECIAL, edges.shape)
    mixed = np.where(np.random.default_rng(2).random(edges.shape) < 0.3, special, edges)
    return np.concatenate([grid(model.num_feature), edges, mixed])


@pytest.mark.parametrize(
    "kind",
    [
        {"num_parallel_tree": 3, "base_score": 7.5},
        {"features": 4, "trees": 30, "depth": 6},
        {"trees": 5, "constant": True},
        {"trees": 4, "scale": 1e-42},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["one by one", "compiled by treelite", "by treelite's interpreter", ""])
def test_models_are_evaluated_as_xgboost_does(
    kind: dict[str, Any], way: str, request: pytest.FixtureRequest
) -> None:
    if fixture := {"one by one": "no_tables", "by treelite's interpreter": "no_compiler"}.get(way):
        request.getfixturevalue(fixture)
    booster = train_quantile(**{"features": 2} | kind)
    model = treelite.frontend.from_xgboost_json(content(booster).decode())
    x = rows(model)
    trees = load_trees(content(booster), model.num_feature, QUANTILE, compiled="treelite" in way)
    assert way in trees.how
    assert trees.score(x) == pytest.approx(booster.inplace_predict(x), rel=1e-6, abs=1e-6)
    assert trees.score(x[:0]).shape == (0,)
    assert one_by_one(trees.row(), x[:1000]) == trees.score(x[:1000]).tolist()


@pytest.mark.parametrize("way", ["one by one", "compiled by treelite", "by treelite's interpreter"])
def test_nan_goes_in_the_default_direction(way: str, request: pytest.FixtureRequest) -> None:
    if "interpreter" in way:
        request.getfixturevalue("no_compiler")
    random = np.random.default_rng(8)
    x = np.where(random.random((4000, 3)) < 0.3, np.nan, random.exponential(30, (4000, 3))).astype(np.float32)
    missing = np.isnan(x)
    y = np.where(missing[:, 0], 3.0, x[:, 0] / 9) - np.where(missing[:, 2], x[:, 1], 5.0 * missing[:, 1])
    settings = {"objective": QUANTILE, "quantile_alpha": 0.9, "max_depth": 4}
    booster = xgboost.train(settings, xgboost.DMatrix(x, np.nan_to_num(y)), num_boost_round=20)
    trees = load_trees(content(booster), 3, QUANTILE, nan=True, compiled="treelite" in way)
    ensemble = trees.ensemble
    splits = ensemble.feature >= 0
    assert way in trees.how
    assert ensemble.left_of_nan is not None
    assert set(ensemble.left_of_nan[splits].tolist()) == {True, False}
    assert trees.score(x) == pytest.approx(booster.inplace_predict(x), rel=1e-5, abs=1e-5)
    assert one_by_one(trees.row(), x[:500]) == trees.score(x[:500]).tolist()
