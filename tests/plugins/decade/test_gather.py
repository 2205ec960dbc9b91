"""Gathered events against loops over the same events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import evaluation_half, is_evaluation, memory_catalogue, menu_from, toy_events
from trigemu_decade.gather import Gathered, gather

from trigemu import Events
from trigemu.api import Plan, Sample, SampleError, Workspace
from trigemu.samples.split import EVALUATION, TRAINING

PlainEvents = list[dict[str, Any]]

MENU = """
[menu]
crossing_rate_hz = 30e6

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 40.0
prescale = 4
coherent = "c"

[[trigger]]
name = "M"
kind = "threshold"
observable = "muon[0].pt"
above = 25.0
prescale = 2
coherent = "c"

[[trigger]]
name = "off"
kind = "threshold"
observable = "met"
above = 0.0
enabled = false

[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 20.0
prescale = 3
"""


def read(plan: Plan, work: Workspace) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    met = work.scalar("met")
    chosen = met > 10
    table = np.column_stack([met, 2 * met])[chosen]
    return chosen, {"id": work.events.id[chosen], "table": table}


@pytest.fixture(scope="module")
def samples() -> dict[str, PlainEvents]:
    events = toy_events(31, 500)
    for number, event in enumerate(events):
        event["parent"] = 1000 + number // 3
    return {"a": events[:350], "b": events[350:]}


@pytest.fixture(scope="module")
def gathered(samples: dict[str, PlainEvents], tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    menu = menu_from(tmp_path_factory.mktemp("menu"), MENU)
    return gather(menu, memory_catalogue(samples), read, [("", "met")])


def selected(samples: dict[str, PlainEvents]) -> PlainEvents:
    return [event for events in samples.values() for event in events if event["met"] > 10]


def test_values_belong_to_their_events(gathered: Gathered, samples: dict[str, PlainEvents]) -> None:
    met = [event["met"] for event in selected(samples)]
    assert gathered.values["table"][:, 0].tolist() == met
    assert gathered.values["table"][:, 1].tolist() == [2 * value for value in met]
    assert gathered.parent.tolist() == [event["parent"] for event in selected(samples)]
    numbers = [i for events in samples.values() for i, e in enumerate(events) if e["met"] > 10]
    assert gathered.values["id"].tolist() == numbers
    assert gathered.half.tolist() == [int(is_evaluation(e["parent"])) for e in selected(samples)]
    assert 0 < gathered.half.sum() < len(gathered.half)


def test_each_half_stands_for_all_in_the_rate_of_the_menu(
    gathered: Gathered, samples: dict[str, PlainEvents]
) -> None:
    """The weights of the catalogue sum to 40 MHz, those of the menu to 30 MHz."""
    expected = []
    for events in samples.values():
        total = math.fsum(e["weight"] for e in events)
        of_half = [math.fsum(e["weight"] for e in events if is_evaluation(e["parent"]) == h) for h in (0, 1)]
        expected += [
            0.75 * e["weight"] * total / of_half[is_evaluation(e["parent"])] for e in events if e["met"] > 10
        ]
    assert gathered.weight == pytest.approx(np.array(expected), rel=1e-12)


def test_luminosity_weights_ignore_the_crossing_rate(samples: dict[str, PlainEvents], tmp_path: Path) -> None:
    catalogue = memory_catalogue(samples, convention="luminosity")
    weight = gather(menu_from(tmp_path, MENU), catalogue, read, [("", "met")]).of(EVALUATION).weight
    halves = [e for events in samples.values() for e in evaluation_half(events) if e["met"] > 10]
    assert weight == pytest.approx(np.array([e["weight"] for e in halves]), rel=1e-12)


@pytest.mark.parametrize("half", [TRAINING, EVALUATION])
def test_one_half(gathered: Gathered, half: int) -> None:
    part = gathered.of(half)
    rows = [i for i, h in enumerate(gathered.half) if h == half]
    assert part.weight.tolist() == gathered.weight[rows].tolist()
    assert part.parent.tolist() == gathered.parent[rows].tolist()
    assert part.acceptance.total.tolist() == gathered.acceptance.total[rows].tolist()
    assert part.values["table"].tolist() == gathered.values["table"][rows].tolist()
    assert (part.half == half).all()


@pytest.mark.parametrize("left_out", [None, "J", "M", "G"])
def test_any_but_one(gathered: Gathered, samples: dict[str, PlainEvents], left_out: str | None) -> None:
    """J and M share a prescale counter: their or is the larger."""
    expected = []
    for event in selected(samples):
        cuts = {"J": ("jet", 40, 4), "M": ("muon", 25, 2), "G": ("photon", 20, 3)}
        a = {
            name: (max((o["pt"] for o in event[which]), default=0) > cut) / prescale
            for name, (which, cut, prescale) in cuts.items()
        }
        assert list(a) == ["J", "M", "G"]
        if left_out:
            a[left_out] = 0.0
        expected.append(1 - (1 - max(a["J"], a["M"])) * (1 - a["G"]))
    assert gathered.any_but(left_out) == pytest.approx(np.array(expected), abs=1e-15)
    assert len(set(expected)) >= 3


def test_a_menu_of_one_trigger_has_no_others(samples: dict[str, PlainEvents], tmp_path: Path) -> None:
    menu = menu_from(tmp_path, MENU[MENU.index('[[trigger]]\nname = "G"') :])
    result = gather(menu, memory_catalogue(samples), read, [("", "met")])
    assert (result.any_but("G") == 0).all()
    assert result.any_but().tolist() == result.acceptance.total[:, 0].tolist()


def test_negative_weights_are_refused(tmp_path: Path) -> None:
    events = toy_events(1, 50)
    events[17]["weight"] = -1e-9
    with pytest.raises(SampleError, match=r"sample 'a', event 17: its weight is negative"):
        gather(menu_from(tmp_path, MENU), memory_catalogue({"a": events}), read, [("", "met")])


def test_a_half_without_events_is_an_error(tmp_path: Path) -> None:
    events = [event | {"parent": 1} for event in toy_events(1, 50)]
    with pytest.raises(SampleError, match=r"sample .a.: .* in its \w+ half"):
        gather(menu_from(tmp_path, MENU), memory_catalogue({"a": events}), read, [("", "met")])


def test_only_the_core_of_a_chunk_counts(
    samples: dict[str, PlainEvents], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows around it are neighbours: they weigh nothing, and are not gathered."""
    full = Sample.read_file

    def with_margins(self: Sample, *arguments: Any) -> Events:
        return replace(full(self, *arguments), core=slice(20, -30))

    monkeypatch.setattr(Sample, "read_file", with_margins)
    part = gather(menu_from(tmp_path, MENU), memory_catalogue(samples), read, [("", "met")])
    inside = {name: events[20:-30] for name, events in samples.items()}
    monkeypatch.undo()
    expected = gather(menu_from(tmp_path, MENU), memory_catalogue(inside), read, [("", "met")])
    assert part.weight == pytest.approx(expected.weight, rel=1e-12)
    for name in ("half", "parent", "words"):
        assert getattr(part, name).tolist() == getattr(expected, name).tolist()
    assert part.values["table"].tolist() == expected.values["table"].tolist()
