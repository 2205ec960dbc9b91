"""Models of Y(x) as XGBoost saves them: which are accepted, and the messages for the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import treelite
import xgboost
from decade_toys import train_quantile

from trigemu import TrigemuError
from trigemu.api import Inputs
from trigemu.observables import Constant
from trigemu_anomaly import score_by
from trigemu_decade import library, quantile
from trigemu_decade.quantile import Quantile, load_trees


def content(booster: xgboost.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


def grid(features: int = 2) -> np.ndarray:
    x = np.float32(np.random.default_rng(5).exponential(25, (500, features)))
    x[::3, 0] = 0
    return x


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"num_parallel_tree": 3},
        {"base_score": 7.5},
        {"trees": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["no_tables", "no_compiler", ""])
def test_models_are_evaluated_as_xgboost_does(
    kind: dict[str, Any], way: str, request: pytest.FixtureRequest
) -> None:
    if way:
        request.getfixturevalue(way)
    booster = train_quantile(2, **kind)
    trees = load_trees(content(booster), 2)
    why = "no C compiler (gcc, clang or the variable CC)" if way == "no_compiler" else ""
    assert trees.interpreted == why
    assert (trees.row is not None) == (way != "no_compiler")
    assert trees.predict(grid()) == pytest.approx(booster.inplace_predict(grid()), rel=1e-6, abs=1e-6)
    assert trees.predict(grid()[:0]).shape == (0,)


@pytest.mark.parametrize("trees", [1, 23, 150])
def test_a_table_has_the_bits_of_the_interpreter(trees: int) -> None:
    booster = train_quantile(2, trees=trees)
    model = treelite.frontend.from_xgboost_json(content(booster).decode())
    x = np.concatenate([grid(), library.edges(model, 2000)])
    np.testing.assert_array_equal(load_trees(content(booster), 2).predict(x), library.interpret(model, x))


@pytest.mark.usefixtures("no_tables")
def test_a_row_of_compiled_trees(booster: xgboost.Booster) -> None:
    trees = load_trees(bytes(booster.save_raw("json")), 2)
    rows = np.random.default_rng(1).exponential(25, (500, 2)).astype(np.float32)
    rows[::3, 0] = 0
    assert trees.row
    form = trees.row()
    alone = [score_by(form.function, form.arguments, row.ctypes.data) for row in rows]
    np.testing.assert_array_equal(alone, trees.predict(rows))
    np.testing.assert_allclose(alone, booster.inplace_predict(rows), rtol=1e-6)


def test_a_table_needs_no_compiler(fresh_cache: Path, compiler: Callable[[str], Path]) -> None:
    compilations = compiler("exit 1")
    assert load_trees(content(train_quantile(2)), 2).row
    assert compilations.read_text() == ""


def test_a_large_model_is_interpreted(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path, no_tables: None, compiler: Callable[[str], Path]
) -> None:
    """One node too many: no compiler is started."""
    booster, compilations = train_quantile(2), compiler('exec gcc "$@"')
    nodes = len(load_trees(content(booster), 2).ensemble.feature)
    assert compilations.read_text()
    load_trees.cache_clear()
    monkeypatch.setattr(quantile, "MAX_COMPILED", nodes - 1)
    compilations.write_text("")
    trees = load_trees(content(booster), 2)
    assert trees.interpreted == f"{nodes} nodes, of which at most {nodes - 1} are compiled"
    assert compilations.read_text() == ""
    assert trees.predict(grid()) == pytest.approx(booster.inplace_predict(grid()), rel=1e-6, abs=1e-6)


def test_a_model_is_loaded_once(booster: xgboost.Booster) -> None:
    assert load_trees(content(booster), 2) is load_trees(content(booster), 2)


def test_models_are_compared_by_their_content(booster: xgboost.Booster) -> None:
    trees = load_trees(content(booster), 2)
    inputs, others = (Inputs((Constant(v), Constant(2.0)), ("a", "b"), (0.0, 0.0)) for v in (1.0, 3.0))
    same = Quantile(inputs, "00", replace(trees, interpreted="toy"))
    assert Quantile(inputs, "00", trees) == same
    assert hash(Quantile(inputs, "00", trees)) == hash(same)
    assert Quantile(inputs, "01", trees) != same
    assert Quantile(others, "00", trees) != same
    assert same.predict(grid()).dtype == np.float64


def edited(change: Callable[[Any], object]) -> bytes:
    """A model after a change of its learner."""
    document = json.loads(content(train_quantile(2, trees=3)))
    change(document["learner"])
    return json.dumps(document).encode()


def first_tree(learner: Any) -> Any:
    return learner["gradient_booster"]["model"]["trees"][0]


NO_MODEL = "is not a complete XGBoost model in JSON"
BAD = {
    "empty": (lambda: b"", NO_MODEL),
    "list": (lambda: b"[]", NO_MODEL),
    "text": (lambda: b"hello", NO_MODEL),
    "other JSON": (lambda: b'{"learner": 3}', NO_MODEL),
    "nested": (lambda: b"[" * 200_000, NO_MODEL),
    "binary": (lambda: bytes(train_quantile(2, trees=2).save_raw("ubj")), NO_MODEL),
    "half": (lambda: content(train_quantile(2, trees=2))[:-1], NO_MODEL),
    "quantiles": (lambda: edited(lambda m: m["objective"].update(quantile_loss_param=3)), NO_MODEL),
    "untrained": (lambda: content(train_quantile(2, trees=0)), "has no trees"),
    "no trees": (lambda: edited(lambda m: m.pop("gradient_booster")), "has no trees"),
    "objective": (
        lambda: edited(lambda m: m.update(objective={"name": "reg:squarederror"})),
        r"was trained for 'reg:squarederror' .*: expected 'reg:quantileerror' at one",
    ),
    "several": (
        lambda: content(train_quantile(2, trees=2, quantile_alpha=[0.5, 0.9])),
        r"'reg:quantileerror' at the quantiles \[0.5, 0.9\]: expected 'reg:quantileerror' at one",
    ),
    "linear": (
        lambda: edited(lambda m: m["gradient_booster"].update(name="gblinear")),
        "is a 'gblinear': expected boosted trees",
    ),
    "fewer": (lambda: content(train_quantile(1, trees=2)), "reads 1 features, but the card names 2 in x"),
    "more": (lambda: content(train_quantile(3, trees=2)), "reads 3 features, but the card names 2 in x"),
    "beyond": (
        lambda: edited(lambda m: first_tree(m)["split_indices"].__setitem__(0, 2)),
        "is damaged: tree 0, from 0: it has 2 features and splits on number 2, from 0",
    ),
    "infinite": (
        lambda: edited(lambda m: first_tree(m)["split_conditions"].__setitem__(-1, float("inf"))),
        "is damaged: tree 0, from 0: a threshold or a leaf is not finite",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_quantile_regression(kind: str) -> None:
    make, message = BAD[kind]
    with pytest.raises(TrigemuError, match=message) as error:
        load_trees(make(), 2)
    assert len(str(error.value)) < 400


def test_a_failure_is_not_remembered(
    booster: xgboost.Booster, fresh_cache: Path, no_tables: None, compiler: Callable[..., Path]
) -> None:
    compiler("exit 1")
    with pytest.raises(TrigemuError, match="cannot compile"):
        load_trees(content(booster), 2)
    compiler()
    assert not load_trees(content(booster), 2).interpreted


def test_it_is_compiled_in_no_more_than_one_place(
    booster: xgboost.Booster, fresh_cache: Path, no_tables: None
) -> None:
    load_trees(content(booster), 2)
    assert library.build  # the folder is that of the environment, not of the user
    assert [file.suffix for file in fresh_cache.iterdir()] == [".so"]
