"""The model of a card is what its file contains."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import xgboost
from decade_toys import train_quantile
from toys import memory_catalogue, toy_events
from trigemu_anomaly.models import open_model

import trigemu
from trigemu import TrigemuError
from trigemu.api import Workspace

CARD = """
[network]
file = "{file}"
sha256 = "{sha256}"

[[network.inputs]]
observables = ["n_jet", "met", "ht"]

[[network.inputs]]
observables = ["jet[0].pt", "jet[0].eta", "jet[0].phi"]
padding = 0.0
"""
MENU = """
[menu]
name = "toy"
plugins = ["anomaly"]

[sums.ht]
of = ["jet"]
"""
TRIGGER = '[[trigger]]\nname = "{name}"\nkind = "{kind}"\ncard = "card.toml"\nabove = {above!r}\n'


def classifier(features: int = 6) -> xgboost.Booster:
    x = np.float32(np.random.default_rng(features).exponential(25, (2000, features)))
    data = xgboost.DMatrix(x, x.sum(axis=1) > 25 * features)
    settings = {"objective": "binary:logistic", "base_score": 0.02, "max_depth": 4, "nthread": 1}
    return xgboost.train(settings, data, 20)


def as_json(booster: xgboost.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "begins like JSON"),
        (bytes(classifier().save_raw("ubj")), "begins like JSON"),
        (b'{"version": 3, "b": 1}', "the keys version, b"),
        (as_json(train_quantile(6)), "'reg:quantileerror': expected 'binary:logistic'"),
        (b"no model", "is not an ONNX model"),
    ],
)
def test_what_is_no_model(content: bytes, message: str) -> None:
    with pytest.raises(TrigemuError, match=message) as error:
        open_model(content, 6)
    assert len(str(error.value)) < 400


def test_the_base_of_a_classifier_is_a_probability() -> None:
    document = json.loads(as_json(classifier()))
    document["learner"]["learner_model_param"]["base_score"] = "[1E0]"
    with pytest.raises(TrigemuError, match=r"base_score = '\[1E0\]'"):
        open_model(json.dumps(document).encode(), 6)


def test_a_classifier_in_a_menu(tmp_path: Path) -> None:
    """Scores are margins of XGBoost; both names of the kind decide the same."""
    booster, events = classifier(), toy_events(7, 300)
    content = as_json(booster)
    (tmp_path / "model.json").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    sums = '[sums.ht]\nof = ["jet"]\n'
    (tmp_path / "card.toml").write_text(CARD.format(file="model.json", sha256=digest) + sums)
    triggers = [TRIGGER.format(name=kind[0], kind=kind, above=0.5) for kind in ("network", "anomaly")]
    (tmp_path / "menu.toml").write_text(MENU + "".join(triggers))
    menu = trigemu.read_menu(tmp_path / "menu.toml")
    plan = trigemu.make_plan([menu])
    sample = memory_catalogue({"a": events}).background[0]
    read = sample.read(0, 0, 300, plan.needs)
    trigger = plan.slots[plan.bits[0]["n"]].compiled
    scorer = trigger.scorer  # type: ignore[attr-defined]
    features, complete = scorer.inputs.evaluate(Workspace(read))
    assert complete.all()
    expected = booster.inplace_predict(features, predict_type="margin")
    scores = trigger.evaluate(Workspace(read))
    assert scores == pytest.approx(expected, rel=1e-6, abs=1e-5)
    assert 10 < (scores > 0.5).sum() < 290
    row = scorer.model.row()
    for event in range(300):
        row.features[:] = features[event]
        assert row.evaluate() == scores[event]
    fired = trigemu.decisions(menu, read)
    np.testing.assert_array_equal(fired["n"], scores > 0.5)
    np.testing.assert_array_equal(fired["a"], scores > 0.5)
