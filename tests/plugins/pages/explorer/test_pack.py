"""The data of a page, read back; that they give the rates of trigemu is held by test_engine.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explorer_truth import unpacked
from hypothesis import given, strategies as st
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages.explorer.columns import steps_between, turnon_profiles
from trigemu_pages.explorer.make import PageData, all_enabled, page_data
from trigemu_pages.explorer.pack import CELL_EVENTS

from trigemu import Catalogue, Menu, TrigemuError, efficiencies, score_table


def page(
    given: Menu | Sequence[Menu], catalogue: Catalogue, vary: Mapping[str, tuple[float, float]] | None = None
) -> tuple[dict[str, Any], PageData]:
    everything = [given] if isinstance(given, Menu) else given
    scores = score_table(all_enabled(everything), catalogue, vary=vary)
    result = page_data(everything, scores, "0")
    return unpacked(result.block), result


TWO = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
{jet}

[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
{photon}
"""


def two(folder: Path, jet: str = "above = 30.0", photon: str = "above = 12.0", name: str = "two") -> Menu:
    file = folder / f"{name}.toml"
    file.parent.mkdir(exist_ok=True)
    return replace(menu_from(file.parent, TWO.format(jet=jet, photon=photon)), name=name)


@pytest.fixture
def catalogue() -> Catalogue:
    events = [event | {"weight": 1.0 + i % 3} for i, event in enumerate(toy_events(1, 2000))]
    return memory_catalogue(
        {"a": events, "b": toy_events(2, 100)}, signals={"s": toy_events(3, 60)}, require="n_jet >= 1"
    )


def test_menus_share_the_steps_of_one_score(tmp_path: Path, catalogue: Catalogue) -> None:
    low, high = 30.1, 47.123456789012345
    both = [two(tmp_path / "a", f"above = {low}", name="a"), two(tmp_path / "b", f"above = {high}", name="b")]
    data, _ = page(both, catalogue, {"J": (20, 80), "G": (12, 12)})
    jet = data["scores"][0]
    assert (jet["name"], jet["unit"], jet["steps"][0], jet["steps"][-1]) == ("jet[0].pt", "GeV", 20.0, 80.0)
    assert low in jet["steps"]
    assert high in jet["steps"]
    entries = [menu["triggers"][0]["decision"] for menu in data["menus"]]
    assert [jet["steps"][d["at"]] for d in entries] == [low, high]
    photon = data["menus"][0]["triggers"][1]
    assert photon["decision"] == {"score": 1, "at": 0, "first": 0, "last": 0}
    assert photon["fixed"] == "The page has no other threshold for it."


def test_budgets_and_the_half_that_they_were_found_on(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, "total_rate_hz = 300.0")
    data, result = page(menu, catalogue)
    jet, photon = data["menus"][0]["triggers"]
    assert data["half"] == "evaluation"
    assert (jet["fitted"], photon["fitted"]) == (True, False)
    assert jet["budget"] == {"quantity": "total", "hz": 300.0}
    assert (
        data["scores"][0]["steps"][jet["decision"]["at"]] == result.menus[0].trigger("J").solution.threshold
    )  # type: ignore[union-attr]
    table = data["background"]
    assert table["largest_fitted"] > table["largest"] > 0


def test_a_disabled_trigger_with_a_budget_never_fires(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, "total_rate_hz = 300.0\nenabled = false")
    data, _ = page(menu, catalogue)
    jet = data["menus"][0]["triggers"][0]
    assert not data["background"]["bits"][jet["decision"]["bit"]].any()
    assert jet["fixed"].startswith("It is disabled in the menu")
    assert not jet["fitted"]


def test_few_events_of_equal_rows_stay_events(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, "above = 30.0\nprescale = 2")
    table = page(menu, catalogue, {"J": (30, 30), "G": (12, 12)})[0]["background"]
    assert table["cells"] == 3
    assert table["events"] == 0
    table = page(menu, catalogue)[0]["background"]
    assert table["events"] > 0
    assert (table["cell_events"] >= CELL_EVENTS).all()


def test_the_last_bin_of_a_turn_on_has_the_highest_value(tmp_path: Path) -> None:
    text = '[[trigger]]\nname = "N"\nkind = "threshold"\nobservable = "n_jet"\nabove = -0.5\n'
    menu = menu_from(tmp_path, text)
    events = toy_events(1, 60)
    scores = score_table(menu, memory_catalogue({"a": events}), vary={"N": (-0.5, 5.0)})
    (profile,) = turnon_profiles(scores, [menu])
    assert max(len(event["jet"]) for event in events) < profile.edges[-1]


def test_signals(tmp_path: Path, catalogue: Catalogue) -> None:
    """All selected events, and turn-ons against the observables of the menu."""
    menu = two(tmp_path)
    scores = score_table(menu, catalogue, signals="s")
    profiles = turnon_profiles(scores, [menu])
    assert [(p.observable, p.unit) for p in profiles] == [("jet[0].pt", "GeV"), ("photon[0].pt", "GeV")]
    assert all(len(profile.edges) <= 41 for profile in profiles)
    (signal,) = unpacked(page_data(menu, scores, "0").block)["signals"]
    assert (signal["name"], signal["condition"]) == ("s", "n_jet >= 1")
    result = efficiencies(menu, catalogue, "s", profiles, triggers=["J"])
    assert (signal["table"]["events"], signal["table"]["cells"]) == (result.turnons[0].selected, 0)


def test_a_page_that_is_too_large_offers_less(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path, "above = 60.0")
    scores = score_table(menu, catalogue)
    full = page_data(menu, scores, "0")
    assert not full.warnings
    smaller = page_data(menu, scores, "0", most=len(full.packed) - 500)
    assert "J" in smaller.warnings[0]
    first = [unpacked(result.block)["scores"][0]["steps"][0] for result in (full, smaller)]
    assert first[0] < first[1] < 60.0
    with pytest.raises(TrigemuError, match=r"has \d+ events, too many for a page .* --vary NAME=LOW:HIGH"):
        page_data(menu, scores, "0", most=100)


def test_a_menu_that_was_changed_meanwhile_is_refused(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = two(tmp_path)
    scores = score_table(menu, catalogue)
    menu.path.write_text("# another\n" + menu.path.read_text())
    with pytest.raises(TrigemuError, match=r"menu\.toml has changed since it was read"):
        page_data(menu, scores, "0")


@given(
    st.floats(-1e4, 1e4), st.floats(0, 1e4), st.lists(st.floats(0, 1), min_size=1, max_size=60), st.booleans()
)
def test_steps_contain_the_thresholds_of_menus(
    low: float, width: float, shares: list[float], whole: bool
) -> None:
    high = low + width
    written = sorted({min(high, low + share * width) for share in shares})
    steps = steps_between(low, high, written, whole).tolist()
    assert steps == sorted(set(steps))
    assert {low, high, *written} <= {*steps}
    assert len(steps) <= 255
    assert steps[0] == low
    assert steps[-1] == high
    assert all(float(repr(step)) == step for step in steps)


def test_round_steps() -> None:
    assert steps_between(21.2, 166.0, [40.0], False).tolist()[:4] == [21.2, 22.0, 23.0, 24.0]
    assert steps_between(9.9, 10.7, [10.0], False)[:3].tolist() == [9.9, 9.91, 9.92]
    assert steps_between(0.5, 4.0, [1.5], True).tolist() == [0.5, 1.5, 2.5, 3.5, 4.0]
    assert steps_between(1e-6, 1.0, [0.5], False)[1] < 2e-6
    assert steps_between(3.0, 3.0, [3.0], False).tolist() == [3.0]
