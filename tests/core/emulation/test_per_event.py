"""Of each event, the decisions of a menu and what it makes of it, and columns that a task gathers, against
plain Python and against the rates of the same events."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toy_menus import all_outcomes, any_of, as_toml, decide, menus
from toys import (
    combination,
    evaluation_half,
    is_evaluation,
    memory_catalogue,
    menu_from,
    threshold,
    toy_events,
)

from trigemu import Catalogue, Events, TrigemuError, decisions, event_table, make_plan, run
from trigemu.api import Plan, Sample, SampleError, Workspace
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.mapping import Engine
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, interactions, per_event, scores_of

BUDGET = (
    threshold("J", "jet[0].pt", None, "total_rate_hz = 300.0")
    + threshold("M", "met", 20.0, 'prescale = 10\nunit = "GeV"')
    + combination("C", '{ object = "muon" }', "enabled = false")
)


@given(menus(), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_events_are_those_of_plain_python(triggers: list[dict[str, Any]], seed: int) -> None:
    """Of menus with seeds, logic, prescales, coherent sets and disabled triggers."""
    events = toy_events(seed, 30)
    samples = {"a": events[:12], "b": events[12:]}
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6))
    on = [t for t in triggers if t["enabled"]]
    catalogue = memory_catalogue(samples, signals={"s": events[5:20]})
    found, result = event_table(menu, catalogue).arrays(), run(menu, catalogue)
    fired = [decisions(menu, catalogue, sample=name) for name in samples]
    assert [list(part) for part in fired] == [[t["name"] for t in on]] * 2
    assert found["sample"].tolist() == [0] * 12 + [1] * 18
    assert found["weight"].tolist() == [event["weight"] for event in events]
    assert found["half"].tolist() == [int(is_evaluation(p)) for p in found["parent"].tolist()]
    counters = all_outcomes(events, triggers, 40e6)
    assert found["acceptance"] == pytest.approx([float(any_of(c, on)) for c in counters], rel=1e-12)
    raw = [decide(event, triggers)[1] for event in events]
    for t in triggers:  # also disabled ones
        for sample, part in (("a", raw[:12]), ("b", raw[12:]), ("s", raw[5:20])):
            assert result.fired(t["name"], sample=sample).tolist() == [one[t["name"]] for one in part]
    for t in on:
        name = t["name"]
        decided = [value for part in fired for value in part[name].tolist()]
        assert found[f"fired_{name}"].tolist() == decided == [one[name] for one in raw]
        expected = [float(any_of(c, [t])) for c in counters]
        assert found[f"acceptance_{name}"] == pytest.approx(expected, rel=1e-12)
    assert not any(f"fired_{t['name']}" in found for t in triggers if not t["enabled"])


def test_sums_are_the_rates_of_a_run(tmp_path: Path) -> None:
    """With a budget, whose trigger is judged on one half; the crossing rate of the menu is another."""
    menu = menu_from(tmp_path, "[menu]\ncrossing_rate_hz = 80e6\n" + BUDGET)
    events = toy_events(1, 400)
    catalogue = memory_catalogue({"a": events[:150], "b": events[150:]}, signals={"s": toy_events(2, 50)})
    table, rates = event_table(menu, catalogue), run(menu, catalogue)
    found = table.arrays()
    assert [column.name for column in table.columns] == [*found]
    for name, weight in (("J", "weight_unseen"), ("M", "weight")):
        total = math.fsum((found[weight] * found[f"acceptance_{name}"]).tolist())
        assert total == pytest.approx(rates[name].total.hz, rel=1e-15)
    without, accepted = found["unfitted_acceptance"], found["acceptance"]
    menu_rate = math.fsum(
        (found["weight"] * without + found["weight_unseen"] * (accepted - without)).tolist()
    )
    assert menu_rate == pytest.approx(rates.rate.hz, rel=1e-15)
    assert np.count_nonzero(found["weight"]) == 400
    assert np.count_nonzero(found["weight_unseen"]) == len(evaluation_half(events[:150])) + len(
        [n for n in range(250) if is_evaluation(int(found["parent"][150 + n]))]
    )
    threshold = rates.menu.trigger("J").description.threshold  # type: ignore[union-attr]
    np.testing.assert_array_equal(found["score_J"] > threshold, found["fired_J"])
    assert "score_C" not in found
    signal = event_table(menu, catalogue, samples=["s"]).arrays()
    assert signal["weight"].tolist() == [event["weight"] for event in toy_events(2, 50)]


def test_only_those_that_fire(tmp_path: Path) -> None:
    menu, catalogue = menu_from(tmp_path, BUDGET), memory_catalogue({"a": toy_events(4, 200)})
    everything = event_table(menu, catalogue).arrays()
    found = event_table(menu, catalogue, fired="M and not J")
    wanted = everything["fired_M"] & ~everything["fired_J"]
    assert 0 < wanted.sum() < 200
    for name, values in found.arrays().items():
        np.testing.assert_array_equal(values, everything[name][wanted])
    array = found.to_awkward()
    assert ak.fields(array) == [*everything]
    assert len(array) == wanted.sum()
    assert {c.name: c.unit for c in found.columns if c.unit} == {
        "weight": "Hz",
        "weight_unseen": "Hz",
        "score_M": "GeV",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fired": "M or K"}, "fired = 'M or K': .*menu.toml has no enabled trigger 'K'"),
        ({"fired": "C"}, "has no enabled trigger 'C'"),
        ({"fired": "M +"}, "M"),
        ({"samples": ["b"]}, "'b'"),
    ],
)
def test_mistakes(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    menu, catalogue = menu_from(tmp_path, BUDGET), memory_catalogue({"a": toy_events(4, 20)})
    with pytest.raises(TrigemuError, match=message):
        event_table(menu, catalogue, **given)


# ---- columns

NAMES = "sample", "id", "parent", "half", "weight", "words"
MENU = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 40.0\n'
EVENTS = [event | {"parent": 1000 + n // 3} for n, event in enumerate(toy_events(31, 500))]
SAMPLES = {"a": EVENTS[:350], "b": EVENTS[350:]}


def read(least: float, plan: Plan, work: Workspace) -> Columns:
    met = work.scalar("met")
    keep = met > least
    return {
        "keep": keep,
        "met": np.column_stack([met, 2 * met])[keep],
        "jet": scores_of([0], plan, work)[keep],
    }


def columns(folder: Path, catalogue: Catalogue, least: float = 10.0, **options: Any) -> Columns:
    menu = menu_from(folder, MENU)
    job = Job((menu,), make_plan(menu), catalogue, frozenset([("", "met")]))
    return per_event(job, NAMES, partial(read, least), **options)


@pytest.mark.parametrize("chunk_events", [60, 1000])
@pytest.mark.parametrize("half", [None, 0, 1])
def test_selected_events_in_their_order(tmp_path: Path, half: int | None, chunk_events: int) -> None:
    """Those of a half add up to the weights of each sample. A checkpoint gives them again."""
    engine = Engine(chunk_events=chunk_events, checkpoint=Checkpoint(tmp_path / "checkpoint"))
    columns(tmp_path, memory_catalogue(SAMPLES), half=half, executor=engine)
    found = columns(tmp_path, memory_catalogue(SAMPLES), half=half, executor=engine)
    assert engine.counts.reused == 500
    expected: dict[str, list[Any]] = {name: [] for name in (*NAMES, "met", "jet")}
    for number, events in enumerate(SAMPLES.values()):
        of_half = math.fsum(e["weight"] for e in events if half in (None, is_evaluation(e["parent"])))
        scale = math.fsum(e["weight"] for e in events) / of_half
        for row, e in enumerate(events):
            if e["met"] > 10 and half in (None, is_evaluation(e["parent"])):
                jet = e["jet"][0]["pt"] if e["jet"] else -math.inf
                known = number, row, e["parent"], is_evaluation(e["parent"]), scale * e["weight"], [jet > 40]
                of_event = *known, [e["met"], 2 * e["met"]], [jet]
                for values, value in zip(expected.values(), of_event, strict=True):
                    values.append(value)
    assert [*found] == [*expected]
    assert found.pop("weight") == pytest.approx(np.array(expected.pop("weight")), rel=1e-12)
    for name, values in found.items():
        assert values.tolist() == expected[name]


def test_only_the_core_of_a_chunk_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows around it are neighbours: they weigh nothing, and are not gathered."""
    full = Sample.read_file

    def with_margins(self: Sample, *arguments: Any) -> Events:
        return replace(full(self, *arguments), core=slice(20, -30))

    expected = columns(tmp_path, memory_catalogue({name: e[20:-30] for name, e in SAMPLES.items()}), half=1)
    monkeypatch.setattr(Sample, "read_file", with_margins)
    found = columns(tmp_path, memory_catalogue(SAMPLES), half=1)
    assert found["weight"] == pytest.approx(expected["weight"], rel=1e-12)
    for name in ("sample", "parent", "words", "met"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_what_cannot_be_gathered(tmp_path: Path) -> None:
    events = [event | {"parent": 1} for event in toy_events(1, 50)]
    with pytest.raises(SampleError, match=r"sample .a.: .* in its \w+ half"):
        columns(tmp_path, memory_catalogue({"a": events}), half=1 - is_evaluation(1))
    events[17]["weight"] = -1e-9
    with pytest.raises(SampleError, match=r"sample 'a', event 17: its weight is negative"):
        columns(tmp_path, memory_catalogue({"a": events}), half=1)
    assert len(columns(tmp_path, memory_catalogue({"a": events}))["weight"])
    with pytest.raises(SampleError, match="there are no events"):
        columns(tmp_path, memory_catalogue({"a": []}))


def test_an_interaction_is_that_of_the_parent_where_events_share_it(tmp_path: Path) -> None:
    samples = {"a": EVENTS[:350], "b": EVENTS[300:], "c": toy_events(2, 40)}
    catalogue = memory_catalogue(samples)
    found = columns(tmp_path, catalogue, -1.0)
    of_event = [
        ("parent", e["parent"]) if "parent" in e else ("event", n)
        for n, e in enumerate(e for events in samples.values() for e in events)
    ]
    number = interactions(found, catalogue)
    assert sorted({*number.tolist()}) == [*range(len({*of_event}))]
    assert len({*zip(number.tolist(), of_event, strict=True)}) == len({*of_event})
