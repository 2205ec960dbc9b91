"""DECADE, one event at a time, and its parts in `trigemu bench`."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np
import onnx_toys
import pytest
from decade_toys import MENU, Models, compiled, read_events, truth
from project import ROOT
from stream_toys import streamed
from toys import columns
from trigemu_anomaly.anomaly import preselected
from trigemu_anomaly.precision import trees_of
from trigemu_anomaly.single_row import bare_models
from trigemu_decade.decade import CompiledDecade
from trigemu_latency import Stream, bench
from trigemu_latency.timing import clock
from trigemu_latency.views import BenchView, digits

import trigemu
from trigemu import Catalogue, Events, TrigemuError, decide, emulate, make_plan
from trigemu.api import Plan, Workspace
from trigemu.emulation.plan import PlannedTrigger

ANOMALY = """
[[trigger]]
name = "AE"
kind = "anomaly"
card = "network.toml"
requires = "n_photon >= 1"
above = 1.0
"""
COARSE = 'precision = { input = "ap_fixed<8,8>", threshold = "ap_fixed<8,8>", score = "ap_fixed<10,3>" }'
KERNELS = ("above = 0.0", 'above = 0.0\nengine = "kernels"')


@pytest.fixture
def events(models: Models, catalogue: Catalogue) -> Events:
    return read_events(models.menu(), catalogue)


def plan_at(models: Models, *cuts: float) -> Plan:
    """The same trigger at several cuts, by kernels: a score alone has the bits that it has in a batch."""
    plan = make_plan([models.menu(MENU, KERNELS)])
    slot = plan.slots[plan.bits[0]["AD"]]
    slots = (
        PlannedTrigger(dataclasses.replace(slot.compiled, threshold=float(cut)), slot.trigger) for cut in cuts
    )
    return dataclasses.replace(plan, slots=tuple(slots))


def near_scores(models: Models, events: Events, step: int) -> Plan:
    """Cuts at every so many scores, and next to them."""
    scores = compiled(models.menu(MENU, KERNELS)).evaluate(Workspace(events))
    values = np.unique(scores[np.isfinite(scores)])[::step]
    return plan_at(models, 0.0, *values, *np.nextafter(values, -np.inf), *np.nextafter(values, np.inf))


def check(plan: Plan, events: Events) -> None:
    words = decide(events, plan)
    assert words.any()
    np.testing.assert_array_equal(streamed(plan, events), words)


def test_decisions_are_those_of_other_libraries(
    models: Models, events: Events, plain_events: list[dict[str, Any]]
) -> None:
    scores = truth(models, plain_events[:600]).score
    plan = plan_at(models, 0.0)
    fired = streamed(plan, events)[:, 0] == 1
    clear = np.abs(scores) > 1e-4
    assert 10 < fired.sum() < 400
    np.testing.assert_array_equal(fired[clear], scores[clear] > 0)
    check(plan, events)


@pytest.mark.parametrize("fixture", ["", "no_tables", "no_compiler"])
def test_cuts_on_scores_and_next_to_them(
    models: Models, events: Events, fixture: str, request: pytest.FixtureRequest
) -> None:
    """By tables of cells, by trees one by one, and without a compiler."""
    if fixture:
        request.getfixturevalue(fixture)
    plan = near_scores(models, events, 25)
    trees = plan.slots[0].compiled.quantile.model  # type: ignore[attr-defined]
    assert (trees.how == "one by one") == (fixture == "no_tables")
    check(plan, events)


@pytest.mark.parametrize("keys", ["", 'engine = "parallel"', 'engine = "kernels"', COARSE])
def test_the_full_menu(models: Models, events: Events, keys: str) -> None:
    """With each engine and in fixed point: alone, in a batch of a few, and in one that asks many models."""
    plan = make_plan([models.menu(MENU, ("above = 0.0", f"above = 0.0\n{keys}"))])
    check(plan, events)
    stream = Stream(plan, events)
    for size in (3, 200):
        np.testing.assert_array_equal(stream.decide_many(7, 7 + size), decide(events, plan)[7 : 7 + size])


def test_a_menu_that_is_ready_to_run() -> None:
    """On the embedded sample; some events pass, whatever the budget would be."""
    menu = trigemu.read_menu(ROOT / "menus" / "full-decade.toml")
    triggers = [
        dataclasses.replace(t, description=t.description.at(-0.2)) if t.kind == "decade" else t
        for t in menu.triggers
    ]
    plan = make_plan([dataclasses.replace(menu, triggers=tuple(triggers))])
    result = []
    for sample in trigemu.open_catalogue().background:
        events = sample.read(0, 0, min(100, sample.entries), plan.needs)
        result.append(decide(events, plan))
        np.testing.assert_array_equal(streamed(plan, events), result[-1])
    assert any(words.any() for words in result)


def test_a_network_as_the_quantile(models: Models, events: Events) -> None:
    """y − Y(x) of two networks, alone and in batches."""
    content = onnx_toys.autoencoder(2, (4, 2), "Tanh")
    (models.folder / "quantile.onnx").write_bytes(content)
    was = hashlib.sha256((models.folder / "quantile.json").read_bytes()).hexdigest()
    digest = hashlib.sha256(content).hexdigest()
    models.write_card(("quantile.json", "quantile.onnx"), (was, digest))
    plan = near_scores(models, events, 40)
    check(plan, events)
    kind = plan.slots[0].compiled
    assert isinstance(kind, CompiledDecade)
    assert kind.scores(preselected(Workspace(events), kind.requires)[0])[1].std() > 0
    assert set(bare_models(plan.slots[0].compiled, events)) == {"bare_onnxruntime"}
    assert trees_of(plan.slots[0].compiled) is None


def test_an_infinite_observable_of_the_trees(models: Models, plain_events: list[dict[str, Any]]) -> None:
    c = columns(plain_events[:50])
    c.collections["photon"].columns["pt"][0] = 3e38
    models.write_card(('x = ["jet[0].pt", "photon[0].pt"]', 'x = ["jet[0].pt", "photon[0].pt * 10"]'))
    plan = plan_at(models, 0.0)
    events = Events("toy", c.weight, c.id, c.parent, c.collections, c.scalars)
    with pytest.raises(TrigemuError, match=r"'photon\[0\]\.pt \* 10' of a model is infinite") as full:
        decide(events, plan)
    with pytest.raises(TrigemuError) as single:
        streamed(plan, events, shuffled=False)
    assert str(single.value) == str(full.value)


def test_engines_are_timed_beside_bare_models(
    models: Models, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "SECONDS", 0.001)
    menu = models.menu(MENU + ANOMALY)
    result = bench(emulate([menu], catalogue), events=100)
    costs = {cost.trigger.name: cost for cost in result.triggers}
    assert list(costs["AD"].parts) == ["parallel", "kernels", "bare_onnxruntime", "bare_bdt"]
    assert list(costs["AE"].parts) == ["onnxruntime", "kernels", "bare_onnxruntime"]
    assert not costs["J60"].parts
    for name in ("AD", "AE"):
        assert costs[name].preselected
        assert all(tuple(timings) == (1, 16) for timings in costs[name].parts.values())
    text = BenchView().text(result)
    assert "AD: y by ONNX Runtime, beside Y(x) compiled by treelite, on two threads." in " ".join(
        text.split()
    )
    rows = {line.split("  ")[0]: line.split()[-4:] for line in text.splitlines()}
    for part, label in (("parallel", "parallel"), ("bare_bdt", "compiled trees alone")):
        timing = costs["AD"].parts[part][16]
        assert rows[label][2] == digits(timing.p50_ns / 1e3)
