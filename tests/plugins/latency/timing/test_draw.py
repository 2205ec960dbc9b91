"""Draws against the frequencies that the weights say, and against the events they are drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from toys import columns, memory_catalogue, menu_from, toy_events
from trigemu_latency import draw_events
from trigemu_latency.timing.costs import DrawnEvents

from trigemu import Catalogue, make_plan
from trigemu.api import Plan

MENU = """
[[trigger]]
name = "T"
kind = "threshold"
observable = "jet[0].pt + met"
above = 30.0
requires = "n_photon >= 1"
[[trigger]]
name = "NEVER"
kind = "threshold"
observable = "muon[0].charge"
above = 0.0
requires = "met > 1e9"
"""
SOFT, HARD = toy_events(5, 130), toy_events(6, 70)
#: Every weight is another one; one is negative.
for number, event in enumerate((*SOFT, *HARD)):
    event["weight"] = 1.0 + number % 17 + number / 1000
SOFT[3]["weight"] *= -1.0
N = 40_000


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return make_plan([menu_from(tmp_path_factory.mktemp("menu"), MENU)])


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return memory_catalogue({"soft": SOFT, "hard": HARD})


@pytest.fixture(scope="module")
def drawn(plan: Plan, catalogue: Catalogue) -> list[DrawnEvents | None]:
    conditions = [None, *(slot.compiled.requires for slot in plan.slots)]  # type: ignore[attr-defined]
    return draw_events(plan, catalogue, N, conditions, 1)


def counts(found: DrawnEvents) -> np.ndarray:
    """How often each event was drawn, known by its weight."""
    weights = np.array([event["weight"] for event in (*SOFT, *HARD)])
    position = np.abs(found.events.weight[:, None] - weights).argmin(axis=1)
    assert (weights[position] == found.events.weight).all()
    return np.bincount(position, minlength=len(weights))


@pytest.mark.parametrize("which", [0, 1])
def test_events_are_drawn_as_often_as_they_come(drawn: list[DrawnEvents | None], which: int) -> None:
    result = drawn[which]
    assert result
    events = (*SOFT, *HARD)
    rate = np.array([abs(e["weight"]) if not which or e["photon"] else 0.0 for e in events])
    seen, expected = counts(result), N * rate / rate.sum()
    assert seen[rate == 0].sum() == 0
    chi_square = ((seen - expected)[rate > 0] ** 2 / expected[rate > 0]).sum()
    ndf = np.count_nonzero(rate) - 1
    assert abs(chi_square - ndf) < 4 * np.sqrt(2 * ndf)
    assert result.share == pytest.approx(rate.sum() / sum(abs(e["weight"]) for e in events))
    assert len(result.events) == N


def test_draws_are_independent(drawn: list[DrawnEvents | None]) -> None:
    """Neither which sample the one before is of, nor where in the order a draw stands."""
    assert drawn[0]
    hard = drawn[0].events.weight > np.abs([e["weight"] for e in SOFT]).max()
    hard |= np.isin(drawn[0].events.weight, [e["weight"] for e in HARD])
    share = hard.mean()
    both = (hard[1:] & hard[:-1]).mean()
    assert both == pytest.approx(share**2, abs=4 * np.sqrt(share**2 / N))
    assert hard[: N // 2].mean() == pytest.approx(share, abs=4 * np.sqrt(share / N))


def test_nothing_is_drawn_without_preselected_events(drawn: list[DrawnEvents | None]) -> None:
    assert drawn[2] is None


def test_events_are_those_of_the_sample(plan: Plan, catalogue: Catalogue) -> None:
    (result,) = draw_events(plan, catalogue, 50, [None], 7)
    assert result
    by_weight = {event["weight"]: event for event in (*SOFT, *HARD)}
    expected = columns([by_weight[weight] for weight in result.events.weight.tolist()])
    for name in ("jet", "photon", "muon"):
        collection = result.events.collections[name]
        assert collection.offsets.tolist() == expected.collections[name].offsets.tolist()
        assert set(collection.columns) == set(expected.collections[name].columns)
        for column, values in collection.columns.items():
            assert values.tolist() == expected.collections[name].columns[column].tolist()
    assert result.events.scalars["met"].tolist() == expected.scalars["met"].tolist()


def test_the_same_seed_draws_the_same(plan: Plan, catalogue: Catalogue) -> None:
    weights = [draw_events(plan, catalogue, 100, [None], seed) for seed in (1, 1, 2)]
    first, again, other = (result[0].events.weight.tolist() for result in weights if result[0])
    assert first == again != other
