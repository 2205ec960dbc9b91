"""y − Y(x) against loops over events, the reference evaluator of ONNX and XGBoost."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_toys
import pytest
from decade_toys import MENU, Models, compiled, read_events, train_quantile, truth
from toys import evaluation_half, memory_catalogue, write_root
from trigemu_anomaly.anomaly import preselected
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.network import Network
from trigemu_anomaly.single_row import bare_models
from trigemu_decade.decade import CompiledDecade

from trigemu import (
    Catalogue,
    emulate,
    make_plan,
    open_catalogue,
    rates_of,
    worker_pool,
)
from trigemu.api import FloatArray, Workspace
from trigemu.base.mapping import Engine
from trigemu.base.toml import TableError

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
    "sha256 of the BDT": (
        spoil("quantile.json", lambda c: c[:-1]),
        r"decade.toml:\d+: .*quantile.json has sha256 .*: it is damaged or a different file",
    ),
    "too few features": (other_bdt(features=1), r"quantile.json reads 1 features, but .* names 2 in x"),
    "no expression": (
        other_card((X, 'x = ["jt[0].pt +", "met"]')),
        r"decade.toml:20: 'jt\[0\].pt \+': cannot",
    ),
    "another q than the model's": (
        other_card(("q = 0.1", "q = 0.2")),
        r"decade.toml:19: q = 0.2: quantile.json was trained for q = 0.1$",
    ),
    "missing is huge": (
        other_card(("missing = 0.0", "missing = -1e39")),
        r"decade.toml:21: missing = -1e\+39: is infinite as a float32",
    ),
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
