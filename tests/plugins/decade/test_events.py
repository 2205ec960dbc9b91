"""Gathered events against loops over the same events, and the threshold on the score alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import evaluation_half, memory_catalogue, menu_from, toy_events
from trigemu_decade.events import Selected, gather, with_decision

from trigemu.api import Plan, Workspace
from trigemu.emulation.per_event import Columns
from trigemu.samples.split import EVALUATION

PlainEvents = list[dict[str, Any]]
#: Names of triggers, with the collection whose leading pT they cut on, the cut and the prescale.
CUTS = {"J": ("jet", 40, 4), "M": ("muon", 25, 2), "G": ("photon", 20, 3)}
MENU = "[menu]\ncrossing_rate_hz = 30e6\n" + "".join(
    f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{which}[0].pt"\nabove = {cut}\n'
    f"prescale = {prescale}\n" + ('coherent = "c"\n' if name != "G" else "")
    for name, (which, cut, prescale) in CUTS.items()
)
MENU += '[[trigger]]\nname = "off"\nkind = "threshold"\nobservable = "met"\nabove = 0.0\nenabled = false\n'


def read(plan: Plan, work: Workspace) -> Columns:
    keep = work.scalar("met") > 10
    return {"keep": keep, "met": work.scalar("met")[keep]}


@pytest.fixture(scope="module")
def samples() -> dict[str, PlainEvents]:
    events = toy_events(31, 500)
    for number, event in enumerate(events):
        event["parent"] = 1000 + number // 3
    return {"a": events[:350], "b": events[350:]}


def gathered(folder: Path, samples: Any, text: str = MENU, **more: Any) -> Selected:
    catalogue = memory_catalogue(samples, **more.pop("catalogue", {}))
    return gather(menu_from(folder, text), catalogue, EVALUATION, read, [("", "met")], **more)


@pytest.mark.parametrize(("convention", "ratio"), [("crossing", 0.75), ("luminosity", 1.0)])
def test_a_half_stands_for_all_in_the_rate_of_the_menu(
    samples: dict[str, PlainEvents], tmp_path: Path, convention: str, ratio: float
) -> None:
    """The weights of the catalogue sum to 40 MHz, those of the menu to 30 MHz."""
    more = {"convention": "luminosity"} if convention == "luminosity" else {}
    result = gathered(tmp_path, samples, catalogue=more)
    events = [e for of_sample in samples.values() for e in evaluation_half(of_sample) if e["met"] > 10]
    assert result.weight == pytest.approx(np.array([ratio * e["weight"] for e in events]), rel=1e-12)
    assert result.values["met"].tolist() == [e["met"] for e in events]
    assert result.interaction.tolist() == [sorted({*result.parent}).index(p) for p in result.parent]


@pytest.mark.parametrize("left_out", [None, "J", "M", "G"])
def test_any_but_one(samples: dict[str, PlainEvents], tmp_path: Path, left_out: str | None) -> None:
    """J and M share a prescale counter: their or is the larger."""
    result, expected = gathered(tmp_path, samples, name=left_out), []
    selected = (e for of_sample in samples.values() for e in evaluation_half(of_sample) if e["met"] > 10)
    for event, accepts in zip(selected, result.accepts, strict=True):
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
