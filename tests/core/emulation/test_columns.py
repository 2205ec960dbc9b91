"""Columns of events, against loops over the same events."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import is_evaluation, memory_catalogue, menu_from, toy_events

from trigemu import Catalogue, Events, make_plan
from trigemu.api import Plan, Sample, SampleError, Workspace
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.mapping import Engine
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, interactions, per_event, scores_of

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
