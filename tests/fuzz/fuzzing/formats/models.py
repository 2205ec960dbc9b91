"""Model cards, networks (ONNX) and quantile models (XGBoost). Their digests agree: a stranger writes both."""

from __future__ import annotations

import json
import math
import re
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from toys import columns, trigger

from fuzzing import onnx_networks
from fuzzing.edits import as_json, byte_edits, spoilt, table_edits
from fuzzing.formats.base import EVENTS, Files, Format, close, sha256, toy_catalogue

MENU = (
    '\n[menu]\nplugins = ["decade"]\n'
    + trigger("AN", "anomaly", 'card = "network.toml"\nabove = 0.1')
    + trigger("AD", "decade", 'card = "decade.toml"\nabove = 0.0')
)
#: The values of x in training, near those of the events.
SEEN = """
[[quantile.seen]]
observable = "jet[0].pt"
min = 0.0
max = 200.0
mean = 30.0
spread = 1.0

[[quantile.seen]]
observable = "photon[0].pt"
min = 0.0
max = 200.0
mean = 25.0
spread = 20.0
"""
ONLY_ANOMALY = f"[[trigger]]{MENU.split('[[trigger]]')[1]}".encode()


@cache
def models() -> dict[str, bytes]:
    """Return trained toy models and their cards."""
    import onnx_toys
    from decade_toys import Models, train_quantile

    with tempfile.TemporaryDirectory() as folder:
        booster = train_quantile(2, trees=4, depth=2)
        made = Models(Path(folder), booster)
        made.write_network(onnx_toys.autoencoder(6, (4, 2, 4), "Tanh"))
        made.write_card(bdt=bytes(booster.save_raw("json")))
        card = Path(folder) / "decade.toml"
        card.write_text(card.read_text() + SEEN)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def with_digests(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files with the right sha256 in the cards."""
    made = {**files, "menu.toml": MENU.encode()}
    old = models()
    for name, card in (
        *(("model.onnx", "network.toml"), ("quantile.json", "decade.toml"), ("network.toml", "decade.toml")),
    ):
        made[card] = made[card].replace(sha256(old[name]).encode(), sha256(made[name]).encode())
    return made


def _cards() -> st.SearchStrategy[Files]:
    plain = models()
    files = ("model.onnx", "quantile.json", "network.toml", "decade.toml", "../x")

    def of(name: str) -> st.SearchStrategy[Files]:
        made = spoilt(plain[name].decode(), (*files, "jet[0].pt", [1, 2], 0.1))
        return made.map(lambda content: with_digests({**plain, name: content}))

    return st.one_of(of("network.toml"), of("decade.toml"))


def _networks() -> st.SearchStrategy[Files]:
    plain = models()
    whole = st.one_of(
        byte_edits(plain["model.onnx"]), byte_edits(plain["model.onnx"], most=1), onnx_networks.odd()
    )
    return whole.map(
        lambda content: {**with_digests({**plain, "model.onnx": content}), "menu.toml": ONLY_ANOMALY}
    )


def _trees() -> st.SearchStrategy[Files]:
    plain = models()
    table = json.loads(plain["quantile.json"])
    numbers = ("[NaN]", "[0.9]", "5", "1000000000", "-1", 2**63, -1, 7, 1e300)
    trees = table["learner"]["gradient_booster"]["model"]["trees"]
    spoilt = st.one_of(
        table_edits(table, numbers),
        table_edits(trees[0], numbers, most=1).map(lambda tree: _with_tree(table, tree)),
    ).map(as_json)
    whole = st.one_of(spoilt, spoilt, spoilt, byte_edits(plain["quantile.json"]))
    ways = st.sampled_from(("walked", "walked", "table", "table", "fixed"))
    return st.builds(
        lambda c, way: {**with_digests({**plain, "quantile.json": c}), "way": way.encode()}, whole, ways
    )


def _with_tree(table: Any, tree: Any) -> Any:
    made = json.loads(json.dumps(table))
    made["learner"]["gradient_booster"]["model"]["trees"][0] = tree
    return made


def _use(folder: Path) -> Any:
    """Decide on the toy events; return the scores by trigger."""
    from trigemu_anomaly import tree_kernels

    way = (folder / "way").read_text() if (folder / "way").exists() else "table"
    if way == "fixed":
        table = (
            'precision = { input = "ap_fixed<12,8>", threshold = "ap_fixed<12,8>", score = "ap_fixed<14,6>" }'
        )
        (folder / "menu.toml").write_text(f"{(folder / 'menu.toml').read_text()}{table}\n")
    with pytest.MonkeyPatch.context() as patch:
        if way == "walked":
            patch.setattr(tree_kernels, "MAX_CELLS", 0)
        return _scores(folder)


def _use_cards(folder: Path) -> Any:
    """Decide on the toy events, and compare them with the training that the card describes."""
    import trigemu
    from trigemu.emulation.sample_warnings import with_warnings

    return _scores(folder), with_warnings(trigemu.emulate(folder / "menu.toml", toy_catalogue())).warnings


def _scores(folder: Path) -> dict[str, list[float]]:
    import trigemu
    from trigemu import make_events
    from trigemu.api import Workspace

    menu = trigemu.read_menu(folder / "menu.toml")
    plan = trigemu.make_plan([menu])
    read = columns(EVENTS)
    events = make_events("toy", read.weight, read.collections, read.scalars)
    trigemu.decide(events, plan)
    slots = {name: plan.slots[bit] for name, bit in plan.bits[0].items()}
    return {
        name: np.asarray(slot.compiled.evaluate(Workspace(events))).tolist() for name, slot in slots.items()
    }


def _twin_trees(folder: Path, made: dict[str, list[float]]) -> str | None:
    """Walk the trees of the JSON from node to node; the network's score comes from the anomaly trigger."""
    if (folder / "way").read_text() == "fixed":
        return None
    learner = json.loads((folder / "quantile.json").read_text())["learner"]
    base = _base_score(learner)
    best = learner.get("attributes", {}).get("best_iteration")
    trees = learner["gradient_booster"]["model"]["trees"][: None if best is None else int(best) + 1]
    for number, event in enumerate(EVENTS):
        x = _x_of(event)
        expected = base + sum(_leaf(tree, x) for tree in trees)
        y = made["AN"][number]
        found = y - made["AD"][number]
        if math.isinf(y):
            continue
        if not close(found, expected, 3e-5) and abs(found - expected) > 1e-5 * max(1.0, abs(y)):
            return f"event {number}: Y(x) = {found!r}, expected {expected!r}"
    return ""


CLASSIFIER_MENU = trigger("BDT", "network", 'card = "card.toml"\nabove = 0.0')
NAMES = ("met", "n_jet", "n_photon")


@cache
def classifier() -> Any:
    """A classifier with names and a best iteration, as XGBoost writes it."""
    import xgboost

    x = np.random.default_rng(1).normal(size=(200, 3)) * [20, 2, 1] + [20, 2, 1]
    data = xgboost.DMatrix(x, x[:, 0] > 20 + 3 * x[:, 1], feature_names=list(NAMES))
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, 5)
    booster.set_attr(best_iteration="2")
    return json.loads(booster.save_raw("json"))


def _classifiers() -> st.SearchStrategy[Files]:
    """Names and iterations of any kind, or any other value, under a card with its inputs in any order."""

    def told(names: Any, best: Any) -> bytes:
        table = json.loads(json.dumps(classifier()))
        if names is not None:
            table["learner"]["feature_names"] = names
        if best is not None:
            table["learner"]["attributes"] = {"best_iteration": best}
        return as_json(table)

    def case(content: bytes, inputs: list[str]) -> Files:
        card = f'[network]\nfile = "m.json"\nsha256 = "{sha256(content)}"\n'
        card += f"[[network.inputs]]\nobservables = {json.dumps(inputs)}\npadding = 0.0\n"
        return {"m.json": content, "card.toml": card.encode(), "menu.toml": CLASSIFIER_MENU.encode()}

    odd = st.sampled_from((*NAMES, "n jet", "MET", "f0", "", "x" * 5000, "\x1b[31m", "jet[0].pt", "²"))
    orders = st.permutations(NAMES)
    names = st.one_of(
        st.none(), orders, st.lists(odd, max_size=4), st.sampled_from((7, "met", [1, 2, 3], {}))
    )
    iterations = ("0", "1", "4", "5", "99999999", "-1", "1e3", "", "x", "²", "9" * 30, 2, 2.5, None, [], "+1")
    best = st.one_of(st.none(), st.sampled_from(iterations))
    plain = st.builds(told, names, best)
    spoilt = table_edits(classifier(), ("5", -1, 1e300)).map(as_json)
    return st.builds(case, st.one_of(plain, plain, spoilt), orders)


def _twin_classifier(folder: Path, made: dict[str, list[float]]) -> str | None:
    """Walk the trees that the file says, on the inputs that it names."""
    learner = json.loads((folder / "m.json").read_text())["learner"]
    inputs = tomllib.loads((folder / "card.toml").read_text())["network"]["inputs"][0]["observables"]
    plain = ["".join(filter(str.isalnum, name)).casefold() for name in learner.get("feature_names", [])]
    known = {"".join(filter(str.isalnum, name)).casefold(): name for name in inputs}
    features = [known[name] for name in plain] if {*plain} == {*known} else inputs
    best = learner.get("attributes", {}).get("best_iteration")
    booster = learner["gradient_booster"]
    if booster.get("name") != "gbtree" or "num_parallel_tree" not in booster["model"]["gbtree_model_param"]:
        return None
    parallel = max(int(booster["model"]["gbtree_model_param"]["num_parallel_tree"]), 1)
    used = None if best is None else (int(best) + 1) * parallel
    probability = np.float32(_base_score(learner))
    base = float(-np.log(1 / probability - 1))
    for number, event in enumerate(EVENTS):
        values = {"met": event["met"], "n_jet": len(event["jet"]), "n_photon": len(event["photon"])}
        x = [np.float32(values[name]) for name in features]
        expected = base + sum(_leaf(tree, x) for tree in booster["model"]["trees"][:used])
        found = made["BDT"][number]
        if not close(found, expected, 3e-5) and abs(found - expected) > 1e-5 * max(1.0, abs(expected)):
            return f"event {number}: {found!r}, expected {expected!r}"
    return ""


def _base_score(learner: Any) -> float:
    text = str(learner["learner_model_param"]["base_score"])
    return float(re.sub(r"[\[\]]", "", text).split(",")[0])


def _leaf(tree: Any, x: list[np.float32]) -> float:
    node = 0
    while tree["left_children"][node] != -1:
        value = x[tree["split_indices"][node]]
        below = value < np.float32(tree["split_conditions"][node])
        node = tree["left_children" if below else "right_children"][node]
    return float(np.float32(tree["split_conditions"][node]))


def _x_of(event: dict[str, Any]) -> list[np.float32]:
    """Return the leading jet above 20 GeV away from photons above 8 GeV, and the leading such photon."""
    from decade_toys import distance

    photons = [p for p in event["photon"] if p["pt"] >= 8]
    jets = [j for j in event["jet"] if j["pt"] >= 20 and all(distance(j, p) >= 0.4 for p in photons)]
    return [np.float32(objects[0]["pt"] if objects else 0.0) for objects in (jets, photons)]


def _twin_network(folder: Path, made: dict[str, list[float]]) -> str | None:
    """Evaluate the network with the reference of ONNX."""
    import onnx
    import onnx.reference

    try:
        network = onnx.load_from_string((folder / "model.onnx").read_bytes())
        evaluator = onnx.reference.ReferenceEvaluator(network)
        name = network.graph.input[0].name
        out = evaluator.run(None, {name: _network_inputs()})[0]
    except Exception:
        return None  # ONNX Runtime accepts more than the reference
    expected = np.asarray(out, float).reshape(len(EVENTS), -1)
    if expected.shape[1] != 1:
        return None
    for number, (found, value) in enumerate(zip(made["AN"], expected[:, 0].tolist(), strict=True)):
        if (
            not close(found, value, 1e-3)
            and abs(found - value) > 1e-4
            and math.isfinite(value)
            and abs(value) < 1e30
        ):
            return f"event {number}: {found!r}, expected {value!r}"
    return ""


def _network_inputs() -> np.ndarray:
    rows = []
    for event in EVENTS:
        from decade_toys import distance

        photons = [p for p in event["photon"] if p["pt"] >= 8]
        jets = [j for j in event["jet"] if j["pt"] >= 12 and all(distance(j, p) >= 0.4 for p in photons)]
        ht = sum(o["pt"] for o in jets + photons)
        jet = [jets[0]["pt"] / 100, jets[0]["eta"]] if jets else [0.0, 0.0]
        photon = photons[0]["pt"] / 100 if photons else -1.0
        rows.append([len(jets), ht / 100, event["met"] / 100, *jet, photon])
    return np.array(rows, np.float32)


FORMATS = (
    Format("cards", _cards, _use_cards),
    Format("ONNX", _networks, _use, _twin_network),
    Format("quantile models", _trees, _use, _twin_trees),
    Format("classifiers", _classifiers, _use, _twin_classifier),
)
