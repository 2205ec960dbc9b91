"""DECADE, one event at a time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from decade_toys import Models, compiled, read_events, truth
from stream_toys import streamed
from toys import columns

from trigemu import Catalogue, Events, TrigemuError, decide, make_plan
from trigemu.api import Plan
from trigemu.emulation.plan import Slot
from trigemu.observables.workspace import Workspace
from trigemu_anomaly.single_row import tree_score
from trigemu_latency.stream.stream import Stream


@pytest.fixture
def events(models: Models, catalogue: Catalogue) -> Events:
    return read_events(models.menu(), catalogue)


def plan_at(models: Models, *cuts: float) -> Plan:
    """The same trigger at several cuts."""
    plan = make_plan([models.menu()])
    slot = plan.slots[plan.bits[0]["AD"]]
    slots = (Slot(dataclasses.replace(slot.compiled, cut=float(cut)), slot.trigger) for cut in cuts)
    return dataclasses.replace(plan, slots=tuple(slots))


def test_decisions_are_those_of_other_libraries(
    models: Models, events: Events, plain_events: list[dict[str, Any]]
) -> None:
    scores = truth(models, plain_events[:600]).score
    plan = plan_at(models, 0.0)
    fired = streamed(plan, events)[:, 0] == 1
    clear = np.abs(scores) > 1e-4
    assert 10 < fired.sum() < 400
    np.testing.assert_array_equal(fired[clear], scores[clear] > 0)
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


def test_cuts_on_scores_and_next_to_them(models: Models, events: Events) -> None:
    scores = compiled(models.menu()).evaluate(Workspace(events))
    values = np.unique(scores[np.isfinite(scores)])[::25]
    cuts = [*values, *np.nextafter(values, -np.inf), *np.nextafter(values, np.inf), np.inf, -np.inf]
    for some in np.array_split(np.array(cuts), -(-len(cuts) // 40)):
        plan = plan_at(models, *some)
        words = decide(events, plan)
        assert words.any()
        np.testing.assert_array_equal(streamed(plan, events), words)


def test_the_whole_menu(models: Models, events: Events) -> None:
    plan = make_plan([models.menu()])
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


@pytest.mark.usefixtures("no_tables")
def test_a_row_of_compiled_trees(models: Models, events: Events) -> None:
    trees = compiled(models.menu()).quantile.trees
    rows = np.random.default_rng(1).exponential(25, (500, 2)).astype(np.float32)
    rows[::3, 0] = 0
    result = np.full(1, np.nan, np.float32)
    alone = [tree_score(trees.address, row.ctypes.data, result.ctypes.data) for row in rows]
    np.testing.assert_array_equal(alone, trees.predict(rows))
    np.testing.assert_allclose(alone, models.booster.inplace_predict(rows), rtol=1e-6)


@pytest.mark.usefixtures("no_tables")
def test_the_whole_menu_with_compiled_trees(models: Models, events: Events) -> None:
    plan = make_plan([models.menu()])
    assert plan.slots[plan.bits[0]["AD"]].compiled.quantile.trees.address  # type: ignore[attr-defined]
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


@pytest.mark.usefixtures("no_compiler")
def test_trees_without_a_compiler(models: Models, events: Events) -> None:
    scores = compiled(models.menu()).evaluate(Workspace(events))
    values = np.unique(scores[np.isfinite(scores)])[::50]
    plan = plan_at(models, 0.0, *values, *np.nextafter(values, -np.inf))
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))
    stages = Stream(plan, events).stages(0)
    parts = plan.slots[0].compiled.parts(Workspace(events))
    for number, event in enumerate(np.flatnonzero(parts.chosen)[:10].tolist()):
        stages["features"](event)
        stages["bare_onnxruntime"](event)
        assert stages["autoencoder"](event) == pytest.approx(parts.y[number], rel=1e-6)
        assert stages["bdt"](event) == parts.quantile[number]
        assert stages["sequential"](event) == (parts.y[number] > parts.quantile[number])


def test_an_infinite_observable_of_the_trees(models: Models, plain_events: list[dict[str, Any]]) -> None:
    c = columns(plain_events[:50])
    c.collections["photon"].columns["pt"][0] = 3e38
    models.write_card(('x = ["jet[0].pt", "photon[0].pt"]', 'x = ["jet[0].pt", "photon[0].pt * 10"]'))
    plan = plan_at(models, 0.0)
    events = Events("toy", c.weight, c.id, c.parent, c.collections, c.scalars)
    with pytest.raises(TrigemuError, match=r"'photon\[0\]\.pt \* 10' of a model is infinite") as whole:
        decide(events, plan)
    with pytest.raises(TrigemuError) as single:
        streamed(plan, events, shuffled=False)
    assert str(single.value) == str(whole.value)


def test_stages(models: Models, events: Events) -> None:
    """Each of its piece; all of them together are the score."""
    plan = make_plan([models.menu()])
    bit = plan.bits[0]["AD"]
    stream = Stream(plan, events)
    assert stream.stages(1 - bit if bit < 2 else 0) == {}
    stages = stream.stages(bit)
    parts = plan.slots[bit].compiled.parts(Workspace(events))
    assert set(stages) == {
        "features",
        "autoencoder",
        "bdt",
        "sequential",
        "parallel",
        "bare_onnxruntime",
        "bare_bdt",
    }
    asked = np.flatnonzero(parts.chosen)[:40].tolist()
    assert [stages["bare_bdt"](event) for event in asked] == parts.quantile[:40].tolist()
    for number, event in enumerate(asked):
        stages["features"](event)
        stages["bare_onnxruntime"](event)
        y, quantile = parts.y[number], parts.quantile[number]
        assert stages["autoencoder"](event) == pytest.approx(y, rel=1e-6)
        assert stages["bdt"](event) == stages["bare_bdt"](event) == quantile
        assert stages["parallel"](event) == pytest.approx(y - quantile, abs=1e-6)
        assert stages["sequential"](event) == (y - quantile > plan.slots[bit].compiled.cut)
