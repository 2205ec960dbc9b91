"""Menus emulated from their scores, against menus emulated from the events; ranges of thresholds."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from likeness import alike
from pileup_toys import crossing_catalogue, crossings
from plugin_toys import write_card
from toy_menus import as_toml, menus
from toys import combination, memory_catalogue, menu_from, threshold, toy_events

from trigemu import (
    Catalogue,
    Menu,
    TrigemuError,
    at_pileup,
    emulate,
    rates_of,
    read_menu,
    scan,
    score_table,
    solve_budgets,
)
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.tabulate import FACTOR, rounded_down
from trigemu.studies.scan import Steps
from trigemu.triggers.base import ScoreKind


def same(found: Menu | Sequence[Menu], scores: EventTable, catalogue: Catalogue) -> None:
    """All numbers of all menus are equal but for the order of sums."""
    for menu in [found] if isinstance(found, Menu) else found:
        direct, stored = rates_of(emulate([menu], catalogue)), rates_of(emulate([menu], scores))
        assert alike(stored.to_dict(), direct.to_dict())
        assert alike(stored.triggers, direct.triggers)
        assert alike(stored.overlap_error, direct.overlap_error)
        assert stored.warnings == direct.warnings


def moved(menu: Menu, thresholds: dict[str, float], prescale: float | None = None) -> Menu:
    triggers = []
    for trigger in menu.triggers:
        kind = trigger.description
        if trigger.name in thresholds and isinstance(kind, ScoreKind):
            trigger = replace(
                trigger, description=kind.at(thresholds[trigger.name]), budget=None, solution=None
            )
        triggers.append(replace(trigger, prescale=prescale) if prescale else trigger)
    return replace(menu, triggers=tuple(triggers))


@given(menus(), st.integers(0, 2**32 - 1), st.data())
@settings(max_examples=15)
def test_any_menu_at_any_offered_thresholds(
    triggers: list[dict[str, Any]], seed: int, data: st.DataObject
) -> None:
    """With seeds, logic, random, prescales, coherent sets, disabled triggers; some events share parents."""
    events = toy_events(seed, 60)
    shared = [event | {"parent": i // 3} for i, event in enumerate(toy_events(seed + 1, 30))]
    catalogue = memory_catalogue({"a": events, "b": shared})
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6, fitted=data.draw(st.booleans())))
    scores = score_table(menu, catalogue)
    same(menu, scores, catalogue)
    thresholds = {name: data.draw(st.floats(of.low, of.high)) for name, of in scores.threshold_ranges.items()}
    same(moved(menu, thresholds, data.draw(st.sampled_from([None, 3.0]))), scores, catalogue)


def two(folder: Path, jet: str = "above = 30", photon: str = "above = 12") -> Menu:
    scores = threshold("J", "jet[0].pt", None, jet) + threshold("G", "photon[0].pt", None, photon)
    return menu_from(folder, scores + combination("MU", '{ object = "muon", pt = { min = 10.0 } }'))


@pytest.fixture
def catalogue() -> Catalogue:
    events = [event | {"weight": 1.0 + i % 3} for i, event in enumerate(toy_events(1, 600))]
    return memory_catalogue({"a": events, "b": toy_events(2, 100)}, signals={"s": toy_events(3, 40)})


def test_several_menus_share_the_scores_of_one_observable(tmp_path: Path, catalogue: Catalogue) -> None:
    both = [replace(two(tmp_path), name="one"), replace(two(tmp_path, "above = 50"), name="other")]
    scores = score_table(both, catalogue, vary={"J": (20, 80)})
    assert sum(column.above is not None for column in scores.columns) == 2
    assert scores.threshold_ranges["J"] == (20, 80)
    same([*both, moved(both[0], {"J": 20.0}), moved(both[1], {"J": 80.0})], scores, catalogue)
    assert alike(
        [rates_of(emulate(menu, scores)).rate for menu in both],
        [rates_of(emulate(both, scores), menu=menu).rate for menu in both],
    )


def test_budgets_are_solved_on_the_scores(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, "unique_rate_hz = 200.0", "total_rate_hz = 150.0")
    scores = score_table(menu, catalogue)
    assert alike(solve_budgets(menu, scores), solve_budgets(menu, catalogue))
    same(menu, scores, catalogue)
    other = two(tmp_path, "unique_rate_hz = 120.0", "total_rate_hz = 90.0")
    assert alike(solve_budgets(other, scores), solve_budgets(other, catalogue))
    with pytest.raises(TrigemuError, match=r"unique_rate_hz = 1e\+06: only scores above .* are known"):
        solve_budgets(two(tmp_path, "unique_rate_hz = 1e6"), scores)


def test_reweighted_crossings(tmp_path: Path) -> None:
    """Strata of the number of interactions, whose total weights do not fluctuate."""
    catalogue = at_pileup(crossing_catalogue({"a": crossings(1, 400), "b": crossings(2, 200)}), 2.2)
    assert catalogue.strata > 1
    menu = two(tmp_path, "total_rate_hz = 5e6")
    scores = score_table(menu, catalogue, vary={"J": (10, 60), "G": (10, 20)})
    same([menu, moved(menu, {"J": 40.0, "G": 15.0})], scores, catalogue)


def test_a_trigger_with_a_model(tmp_path: Path, catalogue: Catalogue, carded: None) -> None:
    write_card(tmp_path / "card.toml", {"met": 1.0, "jet[0].pt": -0.5})
    text = '[menu]\nplugins = ["carded"]\n[[trigger]]\nname = "AD"\nkind = "carded"\n'
    text += 'card = "card.toml"\nabove = {}\n'
    menu = menu_from(tmp_path, text.format(1.0))
    scores = score_table(menu, catalogue, vary={"AD": (0.0, 20.0)})
    same([menu, moved(menu, {"AD": 12.5})], scores, catalogue)
    assert scores.made_with
    write_card(tmp_path / "card.toml", {"met": 1.0, "jet[0].pt": -0.25})
    with pytest.raises(TrigemuError, match="make the table again"):
        emulate(menu_from(tmp_path, text.format(1.0)), scores)


def test_scans_of_scores(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, photon="total_rate_hz = 150.0")
    scores = score_table(menu, catalogue)
    low, high = scores.threshold_ranges["J"]
    for steps in ([Steps("J", (low, 30.0, high))], [Steps("J", (low, high)), Steps("G", (14.0, 15.0))]):
        found, direct = scan(menu, steps, scores), scan(menu, steps, catalogue)
        for one, other in zip(found.points, direct.points, strict=True):
            assert alike(one.to_dict(), other.to_dict())


def test_the_score_of_a_trigger(tmp_path: Path, catalogue: Catalogue) -> None:
    scores = score_table(two(tmp_path), catalogue, vary={"J": (25, 40), "G": (12, 12)})
    jet = scores.table["score_J"]
    assert ((jet > 25) | np.isneginf(jet)).all()
    events = [event for sample in catalogue.background for event in sample.sources[0].events]
    leading = [event["jet"][0]["pt"] for event in events if event["jet"] and event["jet"][0]["pt"] > 25]
    assert sorted(jet[jet > 25].tolist()) == sorted(leading)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"K": (1, 2)}, "vary 'K': no menu has such a trigger enabled"),
        ({"MU": (1, 2)}, "vary 'MU': the kind 'combination' has no threshold"),
        ({"J": (3, 2)}, "vary 'J': expected LOW ≤ HIGH, both finite, not 3 and 2"),
        ({"J": (3, float("inf"))}, "not 3 and inf"),
        ({"J": (float("nan"), 3)}, "not nan and 3"),
        ({"J": (-1e308, 1e308)}, r"the range from -1e\+308 to 1e\+308 is too wide"),
    ],
)
def test_ranges_that_are_none(
    tmp_path: Path, catalogue: Catalogue, vary: dict[str, tuple[float, float]], message: str
) -> None:
    with pytest.raises(TrigemuError, match=message):
        score_table(two(tmp_path), catalogue, vary=vary)


def test_what_a_table_does_not_know_is_named(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path)
    scores = score_table(menu, catalogue, vary={"J": (25, 40)})
    with pytest.raises(TrigemuError, match=r"threshold 20 is below 25, .* table with --vary J=20:"):
        emulate(moved(menu, {"J": 20.0}), scores)
    other = tmp_path / "other.toml"
    other.write_text((tmp_path / "menu.toml").read_text().replace("min = 10.0", "min = 11.0"))
    with pytest.raises(TrigemuError, match="trigger 'MU': the score table was made without this trigger"):
        emulate(read_menu(other), scores)
    with pytest.raises(TrigemuError, match="'a' is a background sample"):
        score_table(menu, catalogue, signals=["a"])


def one(above: float, keys: str = "", name: str = "J") -> str:
    return threshold(name, "jet[0].pt", above, keys)


G = threshold("G", "photon[0].pt", 12)


def rate(events: list[dict[str, Any]], threshold: float, seeded: bool) -> float:
    return math.fsum(
        e["weight"]
        for e in events
        if e["jet"]
        and e["jet"][0]["pt"] > threshold
        and (not seeded or (e["photon"] and e["photon"][0]["pt"] > 12))
    )


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(6, 90), st.booleans())
def test_rates_at_the_ends_are_some_times_the_present_one(seed: int, above: float, seeded: bool) -> None:
    """At least as loose as asked, and not much looser: within a bin and three digits."""
    events = toy_events(seed, 150)
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), one(above, 'seed = "G"' if seeded else "") + G)
    limits = score_table(menu, memory_catalogue({"a": events})).threshold_ranges["J"]
    present = rate(events, above, seeded)
    rounding = 1e-6 * present
    assert limits.low <= above <= limits.high
    if present == 0:
        assert limits == (pytest.approx(above, rel=1e-2),) * 2
        return
    everything = rate(events, -math.inf, seeded)
    assert rate(events, limits.low, seeded) >= min(FACTOR * present, everything) - rounding
    assert rate(events, limits.low + 0.015 * limits.high, seeded) <= FACTOR * present + rounding
    tighter = [e["jet"][0]["pt"] for e in events if e["jet"] and e["jet"][0]["pt"] > limits.high * 1.01]
    assert all(rate(events, threshold, seeded) <= present / FACTOR + rounding for threshold in tighter)


def test_ranges_are_those_of_the_own_seed(tmp_path: Path) -> None:
    """Also where another trigger has the same score, threshold and decision."""
    catalogue, text = memory_catalogue({"a": toy_events(4, 300)}), one(40) + G
    menu = menu_from(tmp_path, text + one(40, 'seed = "G"', "S"))
    both = score_table(menu, catalogue).threshold_ranges
    alone = score_table(menu_from(tmp_path, text), catalogue).threshold_ranges
    assert both["J"] == alone["J"] != both["S"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_rounding_keeps_the_order_of_scores(scores: list[float]) -> None:
    ordered = np.unique(scores)
    rounded = rounded_down(ordered)
    assert (np.diff(rounded) >= 0).all()
    assert (rounded <= ordered).all()
    assert (ordered - rounded <= 0.005 * np.abs(ordered) + 1e-300).all()
