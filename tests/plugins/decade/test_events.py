"""Gathered events against loops over the same events, and the threshold on the score alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import evaluation_half, is_evaluation, memory_catalogue, menu_from, toy_events
from trigemu_decade.events import Selected, gather, with_decision

from trigemu import Events
from trigemu.api import Plan, Sample, SampleError, Workspace
from trigemu.samples.split import EVALUATION, TRAINING

PlainEvents = list[dict[str, Any]]
#: Names of triggers, with the collection whose leading pT they cut on, the cut and the prescale.
CUTS = {"J": ("jet", 40, 4), "M": ("muon", 25, 2), "G": ("photon", 20, 3)}
MENU = "[menu]\ncrossing_rate_hz = 30e6\n" + "".join(
    f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{which}[0].pt"\nabove = {cut}\n'
    f"prescale = {prescale}\n" + ('coherent = "c"\n' if name != "G" else "")
    for name, (which, cut, prescale) in CUTS.items()
)
MENU += '[[trigger]]\nname = "off"\nkind = "threshold"\nobservable = "met"\nabove = 0.0\nenabled = false\n'


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


def gathered(folder: Path, samples: Any, half: int = EVALUATION, text: str = MENU, **more: Any) -> Selected:
    catalogue = memory_catalogue(samples, **more.pop("catalogue", {}))
    return gather(menu_from(folder, text), catalogue, half, read, [("", "met")], **more)


def selected(samples: dict[str, PlainEvents], half: int = EVALUATION) -> PlainEvents:
    of_half = (e for events in samples.values() for e in events if is_evaluation(e["parent"]) == half)
    return [event for event in of_half if event["met"] > 10]


@pytest.mark.parametrize("half", [TRAINING, EVALUATION])
def test_a_half_stands_for_all_in_the_rate_of_the_menu(
    samples: dict[str, PlainEvents], tmp_path: Path, half: int
) -> None:
    """The weights of the catalogue sum to 40 MHz, those of the menu to 30 MHz. Values belong to their
    events."""
    result, events = gathered(tmp_path, samples, half), selected(samples, half)
    met = [event["met"] for event in events]
    assert result.values["table"].tolist() == [[value, 2 * value] for value in met]
    assert result.parent.tolist() == [event["parent"] for event in events]
    numbers = [
        i
        for some in samples.values()
        for i, e in enumerate(some)
        if e["met"] > 10 and is_evaluation(e["parent"]) == half
    ]
    assert result.values["id"].tolist() == numbers
    expected = []
    for some in samples.values():
        of_half = math.fsum(e["weight"] for e in some if is_evaluation(e["parent"]) == half)
        scale = 0.75 * math.fsum(e["weight"] for e in some) / of_half
        expected += [scale * e["weight"] for e in selected({"": some}, half)]
    assert result.weight == pytest.approx(np.array(expected), rel=1e-12)
    assert result.interaction.tolist() == [sorted(set(result.parent)).index(p) for p in result.parent]


def test_luminosity_weights_ignore_the_crossing_rate(samples: dict[str, PlainEvents], tmp_path: Path) -> None:
    result = gathered(tmp_path, samples, catalogue={"convention": "luminosity"})
    halves = [e for events in samples.values() for e in evaluation_half(events) if e["met"] > 10]
    assert result.weight == pytest.approx(np.array([e["weight"] for e in halves]), rel=1e-12)


@pytest.mark.parametrize("left_out", [None, "J", "M", "G"])
def test_any_but_one(samples: dict[str, PlainEvents], tmp_path: Path, left_out: str | None) -> None:
    """J and M share a prescale counter: their or is the larger."""
    result, expected = gathered(tmp_path, samples, name=left_out), []
    for event, accepts in zip(selected(samples), result.accepts, strict=True):
        a = {
            name: (max((o["pt"] for o in event[which]), default=0) > cut) / prescale
            for name, (which, cut, prescale) in CUTS.items()
        }
        assert [*a.values()] == pytest.approx(accepts)
        if left_out:
            a[left_out] = 0.0
        expected.append(1 - (1 - max(a["J"], a["M"])) * (1 - a["G"]))
    assert result.others == pytest.approx(np.array(expected), abs=1e-15)
    assert len(set(expected)) >= 3


def test_a_menu_of_one_trigger_has_no_others(samples: dict[str, PlainEvents], tmp_path: Path) -> None:
    text = MENU[MENU.index('[[trigger]]\nname = "G"') :]
    assert (gathered(tmp_path, samples, text=text, name="G").others == 0).all()
    result = gathered(tmp_path, samples, text=text)
    assert result.others.tolist() == result.accepts[:, 0].tolist()


def test_weights_that_cannot_be_used(tmp_path: Path) -> None:
    events = toy_events(1, 50)
    one_half = [event | {"parent": 1} for event in events]
    with pytest.raises(SampleError, match=r"sample .a.: .* in its \w+ half"):
        gathered(tmp_path, {"a": one_half}, 1 - is_evaluation(1))
    events[17]["weight"] = -1e-9
    with pytest.raises(SampleError, match=r"sample 'a', event 17: its weight is negative"):
        gathered(tmp_path, {"a": events})


def test_only_the_core_of_a_chunk_counts(
    samples: dict[str, PlainEvents], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows around it are neighbours: they weigh nothing, and are not gathered."""
    full = Sample.read_file

    def with_margins(self: Sample, *arguments: Any) -> Events:
        return replace(full(self, *arguments), core=slice(20, -30))

    monkeypatch.setattr(Sample, "read_file", with_margins)
    part = gathered(tmp_path, samples)
    monkeypatch.undo()
    expected = gathered(tmp_path, {name: events[20:-30] for name, events in samples.items()})
    assert part.weight == pytest.approx(expected.weight, rel=1e-12)
    assert part.parent.tolist() == expected.parent.tolist()
    assert part.accepts.tolist() == expected.accepts.tolist()
    assert part.values["table"].tolist() == expected.values["table"].tolist()


def test_fewer_events_have_the_same_rate_and_whole_interactions() -> None:
    n = 9000
    interaction, y = np.arange(n) // 3, np.arange(float(n))
    parent = interaction.astype(np.uint64)
    events = Selected(np.ones(n), parent, interaction, np.zeros((n, 1)), np.zeros(n), {"y": y})
    assert events.at_most(n) is events
    few = events.at_most(3000)
    assert 2700 < len(few.weight) < 3300
    assert few.weight.sum() == pytest.approx(n)
    assert set(np.bincount(few.interaction)) == {0, 3}
    assert (few.y // 3 == few.interaction).all()


def test_the_highest_score_alone_is_too_much(tmp_path: Path) -> None:
    """Then nothing comes nearer to the unique rate than no event; so if nothing is unique."""
    menu, y = menu_from(tmp_path, MENU), np.array([3.0, 2.0, 1.0])

    def threshold(weight: list[float], unique: list[float]) -> float:
        """The threshold on y with the unique rate of the events that are `unique`."""
        values = {"x": np.zeros((3, 1)), "y": y}
        numbers = np.arange(3)
        others = np.zeros(3)
        events = Selected(
            np.array(weight), numbers.astype(np.uint64), numbers, np.zeros((3, 3)), others, values
        )
        quantile = y - np.array(unique)
        return with_decision(events, menu, None, ["x"], quantile, 0.1, 0.5, None).y_threshold

    assert threshold([100.0, 15.0, 15.0], [0, 1, 1]) == math.inf
    assert 2 < threshold([100.0, 35.0, 35.0], [0, 1, 1]) < 3
    assert threshold([100.0, 1.0, 1.0], [1, 1, 1]) < 1
    assert threshold([100.0, 1.0, 1.0], [0, 0, 0]) == math.inf
