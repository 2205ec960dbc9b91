"""Files of XGBoost that are damaged or absurd: each is refused before any library reads it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import xgboost
from decade_toys import train_quantile
from trigemu_anomaly import xgboost_file
from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.tree_kernels import TreeKernels
from trigemu_anomaly.trees import FixedEnsemble, Precision
from trigemu_anomaly.xgboost_file import LOGISTIC, QUANTILE, read_model

from trigemu import TrigemuError

Change = Callable[[Any], object]


@cache
def _document() -> Any:
    return json.loads(train_quantile(2, depth=3, trees=3).save_raw("json"))


def changed(change: Change) -> bytes:
    document = copy.deepcopy(_document())
    change(document["learner"])
    return json.dumps(document).encode()


def of_tree(key: str, index: int, value: Any) -> Change:
    return lambda learner: learner["gradient_booster"]["model"]["trees"][1][key].__setitem__(index, value)


def of_parameters(**changes: str) -> Change:
    return lambda learner: learner["learner_model_param"].update(changes)


def of_quantile(alpha: str) -> Change:
    return lambda learner: learner["objective"]["quantile_loss_param"].update(quantile_alpha=alpha)


#: Changes of the learner, or other files, and what the message says.
BROKEN: dict[str, tuple[Change | bytes, str]] = {
    "child beyond": (of_tree("left_children", 0, 99), "tree 1, from 0: the child 99 of node 0"),
    "child of two": (of_tree("left_children", 0, 2), "the child 2 of node 0 is reached twice"),
    "input negative": (of_tree("split_indices", 0, -1), "splits on number -1"),
    "input beyond": (of_tree("split_indices", 0, 2), "has 2 features, and tree 1 splits on number 2, from 0"),
    "categories": (of_tree("split_type", 0, 1), "splits on categories"),
    "no leaf": (of_tree("split_conditions", -1, float("nan")), "not finite"),
    "infinite as float32": (of_tree("split_conditions", 0, 1e39), "not finite"),
    "names": (lambda m: m.update(feature_names=["a"]), "1 feature_names for 2 features"),
    "classes": (of_parameters(num_class="5"), "num_class = 5"),
    "no trees": (lambda m: m.pop("gradient_booster"), "has no trees"),
    "objective": (lambda m: m.update(objective={"name": "reg:squarederror"}), "'reg:squarederror'"),
    "dart": (lambda m: m["gradient_booster"].update(name="dart"), "is a 'dart': expected boosted trees"),
    **{
        f"base {base}": (of_parameters(base_score=base), "has base_score = ")
        for base in ("", "[1,2]", "1E60")
    },
    **{f"quantile {q}": (of_quantile(q), "was trained for") for q in ("NaN", "[1.0]", "[[]]", "[0.5, 0.9]")},
    "binary": (bytes(train_quantile(2, trees=2).save_raw("ubj")), "not a complete"),
    "untrained": (bytes(train_quantile(2, trees=0).save_raw("json")), "has no trees"),
    "more features": (bytes(train_quantile(3, trees=2).save_raw("json")), "3 features, but the card names 2"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_trees_are_refused(kind: str) -> None:
    change, message = BROKEN[kind]
    content = change if isinstance(change, bytes) else changed(change)
    with pytest.raises(TrigemuError, match=message) as error:
        read_model(content, 2, QUANTILE)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(("name", "bound"), [("MAX_TREES", 2), ("MAX_NODES", 20)])
def test_trees_are_bounded(monkeypatch: pytest.MonkeyPatch, name: str, bound: int) -> None:
    monkeypatch.setattr(xgboost_file, name, bound)
    with pytest.raises(TrigemuError, match=f"expected at most .*{bound}"):
        read_model(changed(lambda learner: None), 2, QUANTILE)


def train(**parameters: Any) -> xgboost.Booster:
    random = np.random.default_rng(1)
    x = random.normal(size=(1000, 2))
    y = x[:, 0] + random.normal(size=1000)
    everything = {
        "objective": "reg:quantileerror",
        "quantile_alpha": 0.9,
        "max_depth": 4,
        "nthread": 1,
    } | parameters
    return xgboost.train(everything, xgboost.DMatrix(x, y), 5)


KINDS: list[dict[str, Any]] = [
    {"num_parallel_tree": 2, "subsample": 0.5},
    {"multi_strategy": "multi_output_tree"},
]


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_boosters_of_other_kinds(parameters: dict[str, Any]) -> None:
    booster = train(**parameters)
    read = read_model(bytes(booster.save_raw("json")), 2, QUANTILE)
    assert read.tau == pytest.approx(0.9)
    x = np.float32(np.random.default_rng(2).normal(size=(1000, 2)))
    assert TreeKernels(read.ensemble).predict(x) == pytest.approx(booster.inplace_predict(x), abs=1e-6)


def stopped() -> tuple[xgboost.Booster, np.ndarray]:
    """A classifier of three trees a round that stopped early and keeps its later trees, and rows."""
    random = np.random.default_rng(1)
    x = random.normal(size=(3000, 2)).astype(np.float32)
    y = random.random(3000) < 1 / (1 + np.exp(1 + x[:, 1] - 1.5 * x[:, 0]))
    train, stop = (xgboost.DMatrix(x[some], y[some]) for some in (slice(400), slice(400, 1400)))
    chosen = {"objective": "binary:logistic", "max_depth": 4, "eta": 0.5, "nthread": 1}
    chosen |= {"num_parallel_tree": 3, "subsample": 0.5}
    stopping: dict[str, Any] = {"early_stopping_rounds": 10, "verbose_eval": False}
    return xgboost.train(chosen, train, 100, evals=[(stop, "stop")], **stopping), x


def test_trees_after_the_best_iteration_are_not_used() -> None:
    """The score is that of XGBoost with this range of iterations; a sentence says so."""
    booster, x = stopped()
    best = booster.best_iteration + 1
    assert best < booster.num_boosted_rounds()
    model = load_trees(bytes(booster.save_raw("json")), 2, LOGISTIC)
    expected = booster.predict(xgboost.DMatrix(x), output_margin=True, iteration_range=(0, best))
    assert model.score(x) == pytest.approx(expected, abs=1e-5)
    (note,) = model.notes
    assert f"has {3 * booster.num_boosted_rounds()} trees, of which the first {3 * best} are used" in note
    alone = load_trees(bytes(booster[:best].save_raw("json")), 2, LOGISTIC)
    assert (alone.score(x) == model.score(x)).all()
    assert alone.notes == ()


@pytest.mark.parametrize("inputs", [("a", "jet[0].pt", "c"), ("jet[0].pt", "c", "a")])
def test_features_are_matched_by_name(inputs: tuple[str, ...]) -> None:
    """The inputs may have any order, as columns of a data frame with the names of the file."""
    random = np.random.default_rng(2)
    x = random.normal(size=(1000, 3)).astype(np.float32)
    names = ["a", "Jet_0_pt", "c"]
    data = xgboost.DMatrix(x, x[:, 0] > x[:, 1] + x[:, 2] / 3, feature_names=names)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 5)
    given = x[:, [names.index(name.replace("jet[0].pt", "Jet_0_pt")) for name in inputs]]
    model = load_trees(bytes(booster.save_raw("json")), 3, LOGISTIC, tuple(inputs))
    assert model.score(given) == pytest.approx(booster.predict(data, output_margin=True), abs=1e-5)
    row = model.row()
    row.features[:] = given[7]
    assert row.evaluate() == pytest.approx(float(model.score(given[7:8])[0]), abs=1e-6)
    assert tuple(name.replace("Jet_0_pt", "jet[0].pt") for name in model.names) == inputs
    assert bool(model.notes) == (inputs[0] != "a")
    assert all(
        f"a, Jet_0_pt, c: they are matched by name to the inputs {', '.join(inputs)}" in note
        for note in model.notes
    )


def test_names_of_which_only_some_are_inputs() -> None:
    """In their own place they say nothing; in another, XGBoost refuses such columns too."""
    content = changed(lambda learner: learner.update(feature_names=["ht", "x1"]))
    assert read_model(content, 2, QUANTILE, ("ht", "met")).notes == ()
    assert read_model(content, 2, QUANTILE, ("mht", "met")).names == ("ht", "x1")
    message = "has the features ht, x1, .* inputs met, ht: 'ht' is in another place"
    with pytest.raises(TrigemuError, match=message):
        read_model(content, 2, QUANTILE, ("met", "ht"))


def test_nodes_that_pruning_deleted_are_left_out() -> None:
    booster = train(tree_method="exact", gamma=3.0)
    content = bytes(booster.save_raw("json"))
    trees = read_model(content, 2, QUANTILE).ensemble
    x = np.float32(np.random.default_rng(2).normal(size=(1000, 2)))
    expected = booster.inplace_predict(x)
    assert TreeKernels(trees).predict(x) == pytest.approx(expected, abs=1e-6)
    stored = json.loads(content)["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"]
    assert trees.starts[1] < len(stored)
    types = Precision(ApFixed(30, 6), ApFixed(30, 6), ApFixed(30, 6))
    fixed = FixedEnsemble(trees, types, (0, 0))
    assert fixed.to_float(fixed.predict(x)) == pytest.approx(expected, abs=1e-5)
