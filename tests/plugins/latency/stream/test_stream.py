"""Whatever is decided event by event is what `decide` decides of all."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_toys import autoencoder, linear, model, write_card
from project import ROOT
from stream_toys import OBJECTS, events_of, streamed
from toys import menu_from
from trigemu_latency import Stream

import trigemu
from trigemu import Collection, Events, TrigemuError, decide, make_plan
from trigemu.api import Compiled, Number, Plan, Workspace
from trigemu.emulation.plan import PlannedTrigger

EVENTS = events_of(11, 400)
INPUTS: list[tuple[list[str], float | None]] = [
    (["n_jet", "ht / 100", "met / 100"], None),
    (["jet[0].pt / 100", "jet[0].eta"], 0.0),
    (["dphi(muon[0], mht)"], -1.0),
]


def anomaly(name: str, above: float, more: str = "") -> str:
    return f'[[trigger]]\nname = "{name}"\nkind = "anomaly"\ncard = "card.toml"\nabove = {above!r}\n{more}\n'


def scores(folder: Path, more: str = "") -> np.ndarray:
    (slot,) = make_plan([menu_from(folder, OBJECTS + anomaly("AD", 0.0, more))]).slots
    return slot.compiled.evaluate(Workspace(EVENTS))


def plan_at(folder: Path, cuts: np.ndarray, more: str = "") -> Plan:
    """Cuts may be infinite here, as those of triggers are whose budgets are not solved."""
    plan = make_plan([menu_from(folder, OBJECTS + anomaly("AD", 0.0, more))])
    (slot,) = plan.slots
    slots = (
        PlannedTrigger(dataclasses.replace(slot.compiled, threshold=float(cut)), slot.trigger) for cut in cuts
    )
    return dataclasses.replace(plan, slots=tuple(slots))


@pytest.mark.parametrize("name", ["primary", "baseline", "full", "alpha_t"])
def test_menus_that_are_ready_to_run(name: str) -> None:
    """On the embedded sample."""
    catalogue = trigemu.open_catalogue()
    plan = make_plan([trigemu.read_menu(ROOT / "menus" / f"{name}.toml", [ROOT / "plugins"])])
    result = []
    for sample in catalogue.background:
        events = sample.read(0, 0, min(400, sample.entries), plan.needs)
        result.append(decide(events, plan))
        np.testing.assert_array_equal(streamed(plan, events), result[-1])
    assert any(words.any() for words in result)


@pytest.mark.parametrize("number", [1, 64, 65, 130])
def test_any_number_of_slots(tmp_path: Path, number: int) -> None:
    text = "".join(
        f'[[trigger]]\nname = "T{i}"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {5 + i / 2}\n'
        for i in range(number)
    )
    plan = make_plan([menu_from(tmp_path, text)])
    np.testing.assert_array_equal(streamed(plan, EVENTS), decide(EVENTS, plan))


@pytest.mark.parametrize("content", [linear([1.0] * 6, flat=False), autoencoder(6, (16, 3, 16), "Relu")])
def test_thresholds_at_scores_and_next_to_them(tmp_path: Path, content: bytes) -> None:
    """With kernels an event alone has the bits that it has in a batch."""
    write_card(tmp_path, content, INPUTS)
    kernels = 'engine = "kernels"'
    values = np.unique(scores(tmp_path, kernels))[1::30]
    near = [np.nextafter(values, -np.inf), values, np.nextafter(values, np.inf)]
    thresholds = np.concatenate([*near, [np.inf, -np.inf]])
    for some in np.array_split(thresholds, -(-len(thresholds) // 40)):
        plan = plan_at(tmp_path, some, kernels)
        words = decide(EVENTS, plan)
        assert words.any()
        np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def test_more_models_than_the_machine_can_request(tmp_path: Path) -> None:
    write_card(tmp_path, linear([1.0]), [(["met"], None)])
    first = plan_at(tmp_path, np.linspace(-1, 40, 40), 'requires = "n_muon >= 1"')
    second = plan_at(tmp_path, np.linspace(-1, 40, 40), 'requires = "n_muon == 0"')
    plan = dataclasses.replace(first, slots=(*first.slots, *second.slots))
    np.testing.assert_array_equal(streamed(plan, EVENTS[:60]), decide(EVENTS[:60], plan))


@pytest.mark.parametrize("output", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_only_preselected_events_with_all_inputs(tmp_path: Path, output: int) -> None:
    cast = helper.make_node("Cast", ["x"], ["y"], to=output)
    content = model([cast], {}, 1, output=("n", 1), output_type=output)
    write_card(tmp_path, content, [(["jet[0].pt"], None)])
    more = 'requires = "n_muon >= 1"'
    assert (scores(tmp_path, more) == -np.inf).any()
    plan = plan_at(tmp_path, np.array([-np.inf, -5.0, 20.0]), more)
    np.testing.assert_array_equal(streamed(plan, EVENTS), decide(EVENTS, plan))


def test_models_with_conditions_of_their_own(tmp_path: Path) -> None:
    """Values that are computed only for the preselected events of one trigger are not reused by another."""
    write_card(tmp_path, linear([1.0, 1.0]), [(["pt(jet[0] + jet[1])"], -1.0), (["mht"], None)])
    for first, second in (("n_muon >= 1", "n_muon == 0"), ("n_jet >= 2", "n_photon == 1")):
        triggers = anomaly("A", 10.0, f'requires = "{first}"') + anomaly("B", 10.0, f'requires = "{second}"')
        plan = make_plan([menu_from(tmp_path, triggers)])
        words = decide(EVENTS, plan)
        assert set(np.unique(words)) >= {1, 2}
        np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def test_what_one_model_lacks_another_may_not_need(tmp_path: Path) -> None:
    for name, observable in (("jet", "jet[0].pt"), ("met", "met")):
        write_card(tmp_path / name, linear([1.0]), [([observable], None)])
    triggers = (anomaly(name, 5.5).replace("card.toml", f"{name}/card.toml") for name in ("jet", "met"))
    plan = make_plan([menu_from(tmp_path, "".join(triggers))])
    words = decide(EVENTS, plan)
    assert set(np.unique(words)) == {0, 1, 2, 3}
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def same_error(plan: Plan, events: Events) -> str:
    """What both ways say of the event that fails."""
    with pytest.raises(TrigemuError) as full:
        decide(events, plan)
    with pytest.raises(TrigemuError) as single:
        streamed(plan, events, shuffled=False)
    assert (type(single.value), str(single.value)) == (type(full.value), str(full.value))
    return str(single.value)


@pytest.mark.parametrize(
    ("observable", "lacking"),
    [("jet[0].pt", "pt"), ("met + 1", "met"), ("muon[0].eta", "muon"), ("n_photon", "photon")],
)
def test_columns_that_are_not_there(tmp_path: Path, observable: str, lacking: str) -> None:
    head = f'[[trigger]]\nname = "T"\nkind = "threshold"\nobservable = "{observable}"\nabove = 0\n'
    collections = {n: c for n, c in EVENTS.collections.items() if n != lacking}
    if lacking == "pt":
        jets = EVENTS.collections["jet"]
        collections["jet"] = Collection(jets.offsets, {n: c for n, c in jets.columns.items() if n != "pt"})
    scalars = {n: c for n, c in EVENTS.scalars.items() if n != lacking}
    less = dataclasses.replace(EVENTS, collections=collections, scalars=scalars)
    assert "has no " in same_error(make_plan([menu_from(tmp_path, head)]), less)


def test_a_feature_that_is_infinite(tmp_path: Path) -> None:
    write_card(tmp_path, linear([1.0]), [(["met * 1e38"], None)])
    plan = plan_at(tmp_path, np.array([0.0]))
    assert "'met * 1e38' of a model is infinite" in same_error(plan, EVENTS)
    # Where the event does not ask, nobody minds.
    plan = plan_at(tmp_path, np.array([0.0]), 'requires = "met < 3"')
    np.testing.assert_array_equal(streamed(plan, EVENTS), decide(EVENTS, plan))


@pytest.mark.parametrize("engine", ["onnxruntime", "kernels"])
def test_a_score_that_is_no_number(tmp_path: Path, engine: str) -> None:
    logarithm = model([helper.make_node("Log", ["x"], ["y"])], {}, 1, output=("n", 1))
    write_card(tmp_path, logarithm, [(["n_jet - 2"], None)])
    assert "its score is not a number (NaN)" in same_error(
        plan_at(tmp_path, np.array([0.5]), f'engine = "{engine}"'), EVENTS
    )


@dataclass(frozen=True)
class Even(Compiled):
    """A plugin that does not support single events."""

    threshold: float | None = None

    def evaluate(self, work: Workspace) -> Any:
        fired = work.events.id % np.uint64(2) == 0
        return fired if self.threshold is None else np.where(fired, 1.0, -np.inf)


def test_triggers_without_a_form_for_single_events(tmp_path: Path) -> None:
    text = '[[trigger]]\nname = "T{}"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {}\n'
    menu = menu_from(tmp_path, "".join(text.format(i, 10 + i) for i in range(70)))
    plan = make_plan([menu])
    slots = list(plan.slots)
    for bit, result in ((0, Even()), (7, Even(0.0)), (66, Even(1.0)), (69, Even())):
        slots[bit] = PlannedTrigger(result, plan.slots[bit].trigger)
    plan = dataclasses.replace(plan, slots=tuple(slots))
    words = decide(EVENTS, plan)
    assert (words[:, 0] & np.uint64(1)).any()
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


@dataclass(frozen=True)
class Own(Number):
    """A number that the language does not have."""

    def _evaluate(self, work: Workspace) -> np.ndarray:
        return work.events.id % np.uint64(5) + work.events.scalars["met"]


def test_numbers_of_a_plugin_s_own(tmp_path: Path) -> None:
    """Behind a form for single events; the other inputs of the model are already instructions."""
    write_card(tmp_path, linear([1.0, 1.0]), [(["mht", "ht"], None)])
    plan = make_plan([menu_from(tmp_path, OBJECTS + anomaly_free() + anomaly("AD", 20.0))])
    first, second = plan.slots
    scorer = second.compiled.scorer
    inputs = dataclasses.replace(scorer.inputs, numbers=(scorer.inputs.numbers[0], Own()))
    own = (
        dataclasses.replace(first.compiled, observable=Own()),
        dataclasses.replace(second.compiled, scorer=dataclasses.replace(scorer, inputs=inputs)),
    )
    slots = (first, *(PlannedTrigger(compiled, first.trigger) for compiled in own), second)
    plan = dataclasses.replace(plan, slots=slots)
    words = decide(EVENTS, plan)
    assert all(0 < (words >> np.uint64(bit) & np.uint64(1)).sum() < len(EVENTS) for bit in range(4))
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def test_a_plan_without_slots_and_events_without_any(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1\n')])
    np.testing.assert_array_equal(streamed(plan, EVENTS), decide(EVENTS, plan))
    with pytest.raises(IndexError, match="event 0 of 0"):
        Stream(plan, EVENTS[:0]).decide(0)


def test_events_without_any_object(tmp_path: Path) -> None:
    write_card(tmp_path, linear([1.0, 1.0]), [(["ht"], None), (["jet[0].pt"], 3.0)])
    legs = 'kind = "combination"\nlegs = [{ object = "jet" }, { object = "clean" }]'
    pair = f'[[trigger]]\nname = "C"\n{legs}\n'
    plan = make_plan([menu_from(tmp_path, OBJECTS + anomaly_free() + pair + anomaly("AD", 2.0))])
    collections = {
        name: Collection(np.zeros(6, np.int64), {column: old[:0] for column, old in c.columns.items()})
        for name, c in EVENTS.collections.items()
    }
    events = dataclasses.replace(EVENTS[:5], collections=collections)
    assert decide(events, plan).tolist() == [[4]] * 5
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


@pytest.mark.parametrize("event", [-1, 400, 2**62, -(2**62)])
def test_an_event_that_there_is_not(tmp_path: Path, event: int) -> None:
    plan = make_plan([menu_from(tmp_path, anomaly_free())])
    with pytest.raises(IndexError, match=f"event {event} of 400"):
        Stream(plan, EVENTS).decide(event)


def test_objects_that_the_menu_does_not_declare(tmp_path: Path) -> None:
    events = dataclasses.replace(EVENTS, collections={**EVENTS.collections, "fat": EVENTS.collections["jet"]})
    text = anomaly_free().replace("jet[0]", "fat[1]") + 'requires = "n_fat >= 2 and n_fat < 4"\n'
    plan = make_plan([menu_from(tmp_path, text)])
    expected = make_plan([menu_from(tmp_path, text.replace("fat", "jet"))])
    np.testing.assert_array_equal(streamed(plan, events), decide(events, expected))
    assert 0 < decide(events, plan).sum() < len(events)


def anomaly_free() -> str:
    return '[[trigger]]\nname = "T"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 10\n'


def test_events_take_no_memory(tmp_path: Path) -> None:
    """Of Python; the second part of a run ends where the first did, and has not gone above it on the way."""
    write_card(tmp_path, autoencoder(6, (16, 3, 16), "Relu"), INPUTS)
    plan = make_plan([menu_from(tmp_path, OBJECTS + anomaly_free() + anomaly("AD", 1e6))])
    stream = Stream(plan, EVENTS)

    def run() -> None:
        for event in range(400):
            stream.decide(event)

    run()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        run()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(5):
            run()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < 256
    assert peak - before < 2048  # less than an array a run
