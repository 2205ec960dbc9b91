"""Which triggers fire in none of the first events of each sample, and which limits exclude nothing there."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, threshold, toy_events
from trigemu_validation.check_menu import warnings_of_first

A, B = toy_events(3, 230), toy_events(4, 90)


def test_the_first_events_of_each_sample(tmp_path: Path) -> None:
    """A trigger that fires only later has a warning that says which events were tried."""
    first = max(e["jet"][0]["pt"] for e in A[:60] + B[:60] if e["jet"])
    assert first < max(e["jet"][0]["pt"] for e in A + B if e["jet"])
    text = threshold("J", "jet[0].pt", first) + threshold("BUDGET", "jet[0].pt", None, "unique_rate_hz = 1.0")
    menu, catalogue = menu_from(tmp_path, text), memory_catalogue({"a": A, "b": B})
    (warning,) = warnings_of_first(menu, catalogue, 60)
    assert (
        f"fires in none of the first 60 events of each sample: its threshold is {first:.10g} GeV" in warning
    )
    assert warning.endswith(f"the largest jet[0].pt is {first:.4g} GeV")
    assert not [*warnings_of_first(menu, catalogue, 10_000)]


PAIR = '[[trigger]]\nname = "LEGS"\nkind = "combination"\nlegs = [{leg}, {leg}]\n'


def loose(folder: Path, text: str, most: int = 1000, **samples: Any) -> tuple[str, ...]:
    catalogue = memory_catalogue(samples or {"a": A, "b": B})
    found = warnings_of_first(menu_from(folder, text), catalogue, most)
    return tuple(text for text in found if "excludes nothing" in text)


def smallest(events: list[dict[str, Any]], collection: str, number: int | None = None) -> float:
    of_events = [sorted((o["pt"] for o in e[collection]), reverse=True) for e in events]
    chosen = [pt if number is None else pt[number : number + 1] for pt in of_events]
    return min(pt for of_event in chosen for pt in of_event)


@pytest.mark.parametrize(("collection", "number"), [("jet", 0), ("jet", 1), ("muon", 0), ("photon", 1)])
def test_a_threshold_more_than_a_tenth_below_all_values(tmp_path: Path, collection: str, number: int) -> None:
    low = smallest(A + B, collection, number)
    observable = f"{collection}[{number}].pt"
    for factor, told in ((0.8, 1), (0.95, 0), (1.05, 0)):
        found = loose(tmp_path, threshold("T", observable, factor * low))
        assert len(found) == (told and factor * low >= 1)
        for text in found:
            assert text.startswith(f"'T' ({tmp_path / 'menu.toml'}:1): 'event with {observable} above ")
            assert (
                f"the smallest {observable} in the first 1000 events of each sample is {low:.4g} GeV" in text
            )
            assert "the rate lacks what the samples do not have below it" in text


def test_values_in_any_of_the_samples_count(tmp_path: Path) -> None:
    """Only the first events of each are read."""
    order = sorted((e for e in A if e["jet"]), key=lambda e: -max(o["pt"] for o in e["jet"]))
    most = len(order) // 2
    low = smallest(order[:most], "jet", 0)
    text = threshold("T", "jet[0].pt", 0.8 * low)
    assert smallest(A, "jet", 0) < 0.8 * low
    assert loose(tmp_path, text, most, a=order)
    assert not loose(tmp_path, text, len(order), a=order)
    assert not loose(tmp_path, text, most, a=order, b=order[::-1])


def test_equal_legs_are_one_warning(tmp_path: Path) -> None:
    low = smallest(A + B, "muon")
    (text,) = loose(tmp_path, PAIR.format(leg=f'{{ object = "muon", pt = {{ min = {low / 2!r} }} }}'))
    assert f"the smallest pt in the first 1000 events of each sample is {low:.4g} GeV" in text
    assert not loose(tmp_path, PAIR.format(leg=f'{{ object = "muon", pt = {{ min = {low * 1.1!r} }} }}'))


def test_a_sample_in_mev_raises_the_question(tmp_path: Path) -> None:
    in_mev = deepcopy(A)
    for event in in_mev:
        for jet in event["jet"]:
            jet["pt"] *= 1000.0
    (text,) = loose(tmp_path, threshold("J30", "jet[0].pt", 30.0), a=in_mev)
    assert text.endswith(": MeV? trigemu reads GeV: convert the sample")
    assert not loose(tmp_path, threshold("N", "n_jet", 0.5), a=in_mev)


def test_masses_of_pairs_are_bounded_by_their_objects(tmp_path: Path) -> None:
    assert loose(tmp_path, threshold("M", "max(m(jet[0], jet[1]), 40)", 1.0))
    assert not loose(tmp_path, threshold("M", "m(jet[0], muon[0])", 1.0))


def test_without_any_value_nothing_is_said(tmp_path: Path) -> None:
    assert not loose(tmp_path, threshold("J", "jet[9].pt", 5.0))
