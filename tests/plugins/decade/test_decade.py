"""y − Y(x) against loops over events, the reference evaluator of ONNX and XGBoost."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_toys
import pytest
import xgboost
from decade_toys import MENU, OBJECTS, Models, compiled, read_events, train_quantile, truth
from onnx import helper
from toys import evaluation_half, memory_catalogue, write_root
from trigemu_anomaly.anomaly import preselected
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.models import Trees, load_trees
from trigemu_anomaly.network import Network
from trigemu_anomaly.single_row import bare_models
from trigemu_anomaly.tree_kernels import TreeKernels
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_decade.decade import CompiledDecade, Quantile

from trigemu import (
    Catalogue,
    TrigemuError,
    decide,
    emulate,
    make_plan,
    open_catalogue,
    rates_of,
    worker_pool,
)
from trigemu.api import FloatArray, Workspace
from trigemu.base.mapping import Engine
from trigemu.base.toml import TableError
from trigemu.observables.expressions import Constant

Events = list[dict[str, Any]]
TOLERANCE = 2e-5  # y is summed in another order by the reference


@pytest.mark.parametrize("missing", [0.0, -2.0, 40.0, math.nan])
@pytest.mark.parametrize("sample", [0, 1])
def test_the_score_is_that_of_a_loop(
    models: Models, catalogue: Catalogue, plain_events: Events, missing: float, sample: int
) -> None:
    models.write_card(("missing = 0.0", f"missing = {missing}"))
    menu = models.menu()
    events = plain_events[:600] if sample == 0 else plain_events[600:]
    expected = truth(models, events, missing)
    score = compiled(menu).evaluate(Workspace(read_events(menu, catalogue, sample)))
    assert score.dtype == np.float64
    assert (score == -np.inf).tolist() == (~expected.passed).tolist()
    selected = expected.passed
    assert score[selected] == pytest.approx(expected.score[selected], abs=TOLERANCE)
    assert (expected.x[selected][:, 0] == 0).sum() > 20  # some have no jet
    assert 2 <= (score > 0).sum() < len(score) / 2


def test_its_objects_are_those_of_the_card(
    models: Models, catalogue: Catalogue, plain_events: Events
) -> None:
    """Only `requires` is in the menu's own names."""
    score = {}
    for cut in ("pt = { min = 30.0 }", "pt = { min = 90.0 }"):
        menu = models.menu(MENU, ("pt = { min = 30.0 }", cut))
        score[cut] = compiled(menu).evaluate(Workspace(read_events(menu, catalogue))).tolist()
    assert len(set(map(tuple, score.values()))) == 1
    menu = models.menu(MENU, ("pt = { min = 15.0 }", "pt = { min = 25.0 }"))
    fewer = compiled(menu).evaluate(Workspace(read_events(menu, catalogue)))
    harder = [any(p["pt"] >= 25 for p in event["photon"]) for event in plain_events[:600]]
    assert (fewer > -np.inf).tolist() == harder
    assert fewer[harder] == pytest.approx(np.array(next(iter(score.values())))[harder], abs=TOLERANCE)


def test_without_a_preselection_all_events_are_evaluated(
    models: Models, catalogue: Catalogue, plain_events: Events
) -> None:
    menu = models.menu(MENU, ('requires = "n_photon >= 1"\n', ""))
    expected = truth(models, plain_events[:600])
    score = compiled(menu).evaluate(Workspace(read_events(menu, catalogue)))
    assert score == pytest.approx(expected.y - expected.quantile, abs=TOLERANCE)


def test_events_that_fail_the_preselection_cost_nothing(
    models: Models, catalogue: Catalogue, plain_events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    menu = models.menu()
    kind = compiled(menu)
    seen: list[int] = []
    count_events(monkeypatch, seen)
    kind.evaluate(Workspace(read_events(menu, catalogue)))
    assert seen == [truth(models, plain_events[:600]).passed.sum()]


def count_events(monkeypatch: pytest.MonkeyPatch, seen: list[int]) -> None:
    plain = Network.score

    def counting(self: Network, features: Features) -> FloatArray:
        seen.append(len(features))
        return plain(self, features)

    monkeypatch.setattr(Network, "score", counting)


def test_an_event_without_an_input_has_no_score(
    models: Models, catalogue: Catalogue, plain_events: Events
) -> None:
    """Of the network: what the quantile reads has always something to stand for it."""
    onnx_toys.write_card(models.folder, onnx_toys.linear([1.0]), [(["jet[0].pt"], None)]).rename(
        models.folder / "network.toml"
    )
    models.write_card()
    menu = models.menu()
    score = compiled(menu).evaluate(Workspace(read_events(menu, catalogue)))
    selected = truth_passed(plain_events[:600])
    has = [a and bool(event["jet"]) for a, event in zip(selected, plain_events[:600], strict=True)]
    assert (score > -np.inf).tolist() == has
    assert sum(has) < sum(selected)


def truth_passed(events: Events) -> list[bool]:
    return [any(p["pt"] >= 15 for p in event["photon"]) for event in events]


# ---- nothing that should not matter changes a bit


KERNELS = ("above = 0.0", 'above = 0.0\nengine = "kernels"')


def test_the_trees_run_on_another_thread_beside_onnx_runtime(
    models: Models, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model in one call for all events; kernels give the same score but for its last bits."""
    menu = models.menu()
    kind, events = compiled(menu), read_events(menu, catalogue)
    assert kind.engine == "y by ONNX Runtime, beside Y(x) compiled by treelite, on two threads"
    score, main = kind.quantile.model.score, threading.get_ident()
    calls: list[tuple[int, bool]] = []

    def noted(x: Features) -> FloatArray:
        calls.append((len(x), threading.get_ident() == main))
        return score(x)

    monkeypatch.setattr(kind.quantile.model, "score", noted)
    result = kind.evaluate(Workspace(events))
    assert calls == [((result > -np.inf).sum(), False)]
    other = compiled(models.menu(MENU, KERNELS))
    assert other.engine == "y by trigemu's kernels, then Y(x) as a table"
    assert result == pytest.approx(other.evaluate(Workspace(events)), rel=1e-5, abs=TOLERANCE)


def scores(kind: CompiledDecade, work: Workspace) -> tuple[FloatArray, FloatArray]:
    """Return y and Y(x) of the events that pass the preselection."""
    return kind.scores(preselected(work, kind.requires)[0])


def test_an_existing_score_is_not_computed_again(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu()
    kind, work = compiled(menu), Workspace(read_events(menu, catalogue))
    expected = scores(kind, Workspace(work.events))
    selected, _ = preselected(work, kind.requires)
    y = kind.scorer.scores(selected)
    result = scores(kind, work)
    assert result[0] is y
    assert [part.tobytes() for part in result] == [part.tobytes() for part in expected]


def test_x_may_be_among_what_the_network_reads(
    models: Models, catalogue: Catalogue, plain_events: Events
) -> None:
    """It is not made twice then, whatever the order."""
    expected = truth(models, plain_events[:600])
    jets, photons = expected.x[expected.passed].T
    inputs = [(["photon[0].pt"], 0.0), (["met"], None), (["jet[0].pt"], 0.0)]
    content = onnx_toys.autoencoder(3, (4, 2, 4), "Tanh")
    onnx_toys.write_card(models.folder, content, inputs, OBJECTS % 20.0).rename(
        models.folder / "network.toml"
    )
    models.write_card()
    menu = models.menu()
    events = read_events(menu, catalogue)
    quantiles = []
    for within in (True, False):
        if not within:
            models.write_card(("missing = 0.0", "missing = -0.25"))
        kind = compiled(models.menu())
        assert (kind.columns is not None) == within
        quantiles.append(scores(kind, Workspace(events))[1])
    for result, missing in zip(quantiles, (0.0, -0.25), strict=True):
        x = np.column_stack([np.where(jets > 0, jets, missing), photons])
        assert result == pytest.approx(models.booster.inplace_predict(np.float32(x)), abs=TOLERANCE)


def test_its_bare_models(models: Models, catalogue: Catalogue) -> None:
    """Those of either engine, on many events and on one."""
    for replaced in ((), (KERNELS,)):
        menu = models.menu(MENU, ('requires = "n_photon >= 1"\n', ""), *replaced)
        kind, events = compiled(menu), read_events(menu, catalogue)
        y, quantile = scores(kind, Workspace(events))
        for n in (600, 1):
            models_ = bare_models(kind, events[:n])
            assert models_["bare_bdt"]() == pytest.approx(quantile[:n], rel=1e-6)
            assert models_["bare_onnxruntime"]() == pytest.approx(y[:n], abs=TOLERANCE)


def test_a_failure_is_reported(models: Models, catalogue: Catalogue) -> None:
    menu = models.menu()
    kind, events = compiled(menu), read_events(menu, catalogue)

    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Network, "score", fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            kind.evaluate(Workspace(events))
    assert (kind.evaluate(Workspace(events)) > -np.inf).any()


def test_workers_change_no_bit(models: Models, plain_events: Events) -> None:
    """The plugin is loaded and the trees are opened in each."""
    write_root(models.folder / "all.root", plain_events[:300], basket=50)
    (models.folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        '[[sample]]\nname = "a"\nrole = "background"\nfiles = ["all.root"]\nrate_hz = 4e7\n'
    )
    catalogue = open_catalogue(models.folder / "catalogue.toml")
    menu = models.menu()
    one = emulate([menu], catalogue, executor=Engine(workers=1, chunk_events=50))
    with worker_pool(2) as pool:
        two = emulate([menu], catalogue, executor=Engine(pool, chunk_events=50))
    assert rates_of(one).triggers == rates_of(two).triggers
    assert rates_of(one).triggers[2].total.hz > 0


# ---- work that is shared


ANOMALY = """
[menu]
name = "plain"

[objects.photon]
from = "photon"
pt = { min = 15.0 }

[[trigger]]
name = "AE"
kind = "anomaly"
card = "network.toml"
requires = "n_photon >= 1"
engine = "kernels"
above = 1.0
"""


def test_menus_share_the_network(
    models: Models, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    count_events(monkeypatch, calls)
    menus = [models.menu(MENU, KERNELS), models.menu(ANOMALY, name="plain.toml")]
    emulation = emulate(menus, catalogue, executor=Engine(chunk_events=100))
    assert len(calls) == 9
    for menu in menus:
        alone = rates_of(emulate([menu], catalogue, executor=Engine(chunk_events=100)))
        assert rates_of(emulation, menu).triggers == alone.triggers


def test_what_is_the_same_is_evaluated_once(models: Models) -> None:
    menus = [models.menu(), models.menu(name="again.toml")]
    assert len(make_plan(menus).slots) == 3
    menus.append(models.menu(MENU, ("above = 0.0", "above = 0.5"), name="higher.toml"))
    assert len(make_plan(menus).slots) == 4
    models.write_card(("missing = 0.0", "missing = 1.0"), name="other.toml")
    menus.append(models.menu(MENU, ("decade.toml", "other.toml"), name="other_menu.toml"))
    assert len(make_plan(menus).slots) == 5


# ---- rates


def test_rates_are_those_of_a_loop(models: Models, catalogue: Catalogue, plain_events: Events) -> None:
    score = truth(models, plain_events).score
    cut = float(np.median(score[score > 0]))
    assert abs(score - cut).min() > TOLERANCE or (abs(score - cut) < TOLERANCE).sum() == 1
    cut += 2 * TOLERANCE
    result = rates_of(emulate([models.menu(MENU, ("above = 0.0", f"above = {cut!r}"))], catalogue))
    total = unique = 0.0
    for event, passed in zip(plain_events, score > cut, strict=True):
        others = max((j["pt"] for j in event["jet"]), default=0) > 60
        muon = max((m["pt"] for m in event["muon"]), default=0) > 30
        total += event["weight"] * passed
        unique += event["weight"] * passed * (not others) * (0.5 if muon else 1.0)
    assert result.triggers[2].total.hz == pytest.approx(total, rel=1e-9)
    assert result.triggers[2].unique.hz == pytest.approx(unique, rel=1e-9)
    assert result.half is None


def test_rates_name_all_files(models: Models, catalogue: Catalogue) -> None:
    result = rates_of(emulate([models.menu()], catalogue))
    files = ("decade.toml", "network.toml", "model.onnx", "quantile.json")
    expected = {
        str(models.folder / f): hashlib.sha256((models.folder / f).read_bytes()).hexdigest() for f in files
    }
    assert dict(result.models) == expected


@pytest.mark.parametrize("card", ["decade.toml", "network.toml"])
def test_where_a_model_was_trained_the_other_half_counts(
    models: Models, plain_events: Events, card: str
) -> None:
    """Whichever of the two models: for the trigger that has it; the others have all events."""
    text = (models.folder / card).read_text()
    (models.folder / card).write_text('trained_on = { catalogue = "toy" }\n' + text)
    if card == "network.toml":
        models.write_card()
    catalogue = memory_catalogue({"a": plain_events})
    result = rates_of(emulate([models.menu()], catalogue))
    half, everything = (
        rates_of(emulate([models.menu()], memory_catalogue({"a": events}, name=name)))
        for name, events in (("half", evaluation_half(plain_events)), ("everything", plain_events))
    )
    assert result.half is not None
    assert half.half is everything.half is None
    assert result.half.triggers == ("AD",)
    assert result["AD"].total.hz == pytest.approx(half["AD"].total.hz, rel=1e-9)
    assert result["AD"].unique.hz == pytest.approx(half["AD"].unique.hz, rel=1e-9)
    for name in (t.name for t in result.triggers if t.name != "AD"):
        assert result[name].total == everything[name].total


def test_trees_of_too_many_cells(
    models: Models, catalogue: Catalogue, request: pytest.FixtureRequest
) -> None:
    """The same scores, without a table and without a compiler."""
    menu = models.menu(MENU, KERNELS)
    events = read_events(menu, catalogue)
    kinds = [compiled(menu)]
    scores = [kinds[0].evaluate(Workspace(events))]
    request.getfixturevalue("no_tables")
    request.getfixturevalue("no_compiler")
    kinds.append(compiled(menu))
    assert [kind.quantile.model.how for kind in kinds] == ["as a table", "one by one"]
    np.testing.assert_array_equal(kinds[1].evaluate(Workspace(events)), scores[0])


def test_an_observable_that_no_sample_has(models: Models, catalogue: Catalogue) -> None:
    models.write_card((X, 'x = ["jet[0].pt", "mett"]'))
    with pytest.raises(TrigemuError, match=r"trigger 'AD': sample 'a' has no .*'mett'.*mean 'met'"):
        emulate([models.menu()], catalogue)


def test_a_score_that_is_no_number(models: Models, catalogue: Catalogue) -> None:
    root = [helper.make_node("Sub", ["x", "x"], ["d"]), helper.make_node("Div", ["d", "d"], ["q"])]
    mean = helper.make_node("ReduceMean", ["q"], ["y"], axes=[1], keepdims=0)
    models.write_network(onnx_toys.model([*root, mean], {}, 6))
    models.write_card()
    menu = models.menu()
    events = read_events(menu, catalogue)
    with pytest.raises(TrigemuError, match=r"menu.toml:\d+: trigger 'AD': its score is not a number .NaN."):
        decide(events, make_plan([menu]))


# ---- what is wrong with cards and models


def spoil(file: str, change: Callable[[bytes], bytes]) -> Callable[[Models], None]:
    def do(models: Models) -> None:
        path = models.folder / file
        path.write_bytes(change(path.read_bytes()))

    return do


def other_card(*replaced: tuple[str, str]) -> Callable[[Models], None]:
    return lambda models: models.write_card(*replaced)


def other_bdt(**kind: Any) -> Callable[[Models], None]:
    def do(models: Models) -> None:
        models.write_card(bdt=bytes(train_quantile(**({"features": 2, "trees": 2} | kind)).save_raw("json")))

    return do


def wrong_menu_digest(models: Models) -> None:
    digest = 'card = "decade.toml"\nsha256 = "' + "0" * 64 + '"'
    (models.folder / "text").write_text(MENU.replace('card = "decade.toml"', digest))


X = 'x = ["jet[0].pt", "photon[0].pt"]'
WRONG: dict[str, tuple[Callable[[Models], None], str]] = {
    "sha256 of the card": (
        wrong_menu_digest,
        r"decade.toml: has sha256 \w{64}, not 0{64}: it is a different",
    ),
    "no card": (lambda m: (m.folder / "decade.toml").unlink(), r"decade.toml: cannot read: No such file"),
    "sha256 of the network's card": (
        spoil("network.toml", lambda c: c + b"\n"),
        r"network.toml: has sha256 [0-9a-f]{64}, not [0-9a-f]{64}: it is a different card",
    ),
    "sha256 of the BDT": (
        spoil("quantile.json", lambda c: c[:-1]),
        r"decade.toml:\d+: .*quantile.json has sha256 .*: it is damaged or a different file",
    ),
    "truncated BDT": (
        lambda m: m.write_card(bdt=m.booster.save_raw("json")[:2000]),
        r"decade.toml:17: quantile.json is not a complete XGBoost model in JSON",
    ),
    "too few features": (other_bdt(features=1), r"quantile.json reads 1 features, but .* names 2 in x"),
    "no expression": (
        other_card((X, 'x = ["jt[0].pt +", "met"]')),
        r"decade.toml:20: 'jt\[0\].pt \+': cannot",
    ),
    "q = 0": (other_card(("q = 0.1", "q = 0")), r"decade.toml:19: quantile.q = 0: expected a number > 0"),
    "another q than the model's": (
        other_card(("q = 0.1", "q = 0.2")),
        r"decade.toml:19: q = 0.2: quantile.json was trained for q = 0.1$",
    ),
    "missing is infinite": (
        other_card(("missing = 0.0", "missing = inf")),
        r"decade.toml:21: quantile.missing = inf: expected a finite number",
    ),
    "missing is huge": (
        other_card(("missing = 0.0", "missing = -1e39")),
        r"decade.toml:21: missing = -1e\+39: is infinite as a float32",
    ),
    "no missing": (other_card(("missing = 0.0\n", "")), r"decade.toml:16: the key 'missing' is missing"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_mistakes_are_reported_with_file_and_line(models: Models, kind: str) -> None:
    change, message = WRONG[kind]
    change(models)
    text = models.folder / "text"
    with pytest.raises(TableError, match=message) as error:
        models.menu(text.read_text() if text.exists() else MENU)
    assert re.match(r"\S*/menu.toml:\d+: trigger 'AD': ", str(error.value))
    assert "failed to compile" not in str(error.value)


def test_cards_of_the_other_kind(models: Models) -> None:
    with pytest.raises(TableError) as error:
        models.menu(MENU, ("decade.toml", "network.toml"))
    assert "network.toml:1: the key 'score' is missing" in str(error.value)
    assert "unknown key 'network'" in str(error.value)
    with pytest.raises(TableError) as error:
        models.menu(ANOMALY, ("network.toml", "decade.toml"))
    assert "decade.toml:1: the key 'network' is missing" in str(error.value)
    assert "unknown key 'quantile'" in str(error.value)


def test_digests_may_be_written_in_capitals(models: Models, booster: xgboost.Booster) -> None:
    digest = hashlib.sha256((models.folder / "quantile.json").read_bytes()).hexdigest()
    models.write_card((digest, digest.upper()))
    card = hashlib.sha256((models.folder / "decade.toml").read_bytes()).hexdigest().upper()
    menu = models.menu(MENU, ('card = "decade.toml"', f'card = "decade.toml"\nsha256 = "{card}"'))
    assert compiled(menu).quantile.sha256 == digest


# ---- when two models of Y(x) are the same


def test_models_are_compared_by_their_content(booster: xgboost.Booster) -> None:
    trees = load_trees(bytes(booster.save_raw("json")), 2, QUANTILE)
    inputs, others = (Inputs((Constant(v), Constant(2.0)), ("a", "b"), (0.0, 0.0)) for v in (1.0, 3.0))
    same = Quantile(inputs, "00", "kernels", None, Trees(trees.file, TreeKernels(trees.ensemble), "toy"))
    assert Quantile(inputs, "00", "kernels", None, trees) == same
    assert hash(Quantile(inputs, "00", "kernels", None, trees)) == hash(same)
    assert Quantile(inputs, "01", "kernels", None, trees) != same
    assert Quantile(others, "00", "kernels", None, trees) != same
    assert Quantile(inputs, "00", "parallel", None, trees) != same
    assert same.predict(np.zeros((3, 2), np.float32)).dtype == np.float64
