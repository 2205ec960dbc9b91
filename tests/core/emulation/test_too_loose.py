"""Limits that exclude nothing, against the smallest values of the same events in plain Python."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu.emulation.sample_warnings import too_loose_in_first

A, B = toy_events(3, 230), toy_events(4, 90)
TRIGGER = '[[trigger]]\nname = "{}"\nkind = "threshold"\nobservable = "{}"\nabove = {!r}\n'
LEGS = '[[trigger]]\nname = "LEGS"\nkind = "combination"\nlegs = [{leg}, {leg}]\n'


def warnings(folder: Path, text: str, most: int = 1000, **samples: Any) -> tuple[str, ...]:
    catalogue = memory_catalogue(samples or {"a": A, "b": B})
    return too_loose_in_first(menu_from(folder, text), catalogue, most)


def smallest(events: list[dict[str, Any]], collection: str, number: int | None = None) -> float:
    of_events = [sorted((o["pt"] for o in e[collection]), reverse=True) for e in events]
    chosen = [pt if number is None else pt[number : number + 1] for pt in of_events]
    return min(pt for of_event in chosen for pt in of_event)


@pytest.mark.parametrize(("collection", "number"), [("jet", 0), ("jet", 1), ("muon", 0), ("photon", 1)])
def test_a_threshold_more_than_a_tenth_below_all_values(tmp_path: Path, collection: str, number: int) -> None:
    low = smallest(A + B, collection, number)
    observable = f"{collection}[{number}].pt"
    for factor, told in ((0.8, 1), (0.95, 0), (1.05, 0)):
        found = warnings(tmp_path, TRIGGER.format("T", observable, factor * low))
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
    text = TRIGGER.format("T", "jet[0].pt", 0.8 * low)
    assert smallest(A, "jet", 0) < 0.8 * low
    assert warnings(tmp_path, text, most, a=order)
    assert not warnings(tmp_path, text, len(order), a=order)
    assert not warnings(tmp_path, text, most, a=order, b=order[::-1])


def test_equal_legs_are_one_warning(tmp_path: Path) -> None:
    low = smallest(A + B, "muon")
    (text,) = warnings(tmp_path, LEGS.format(leg=f'{{ object = "muon", pt = {{ min = {low / 2!r} }} }}'))
    assert f"the smallest pt in the first 1000 events of each sample is {low:.4g} GeV" in text
    assert not warnings(tmp_path, LEGS.format(leg=f'{{ object = "muon", pt = {{ min = {low * 1.1!r} }} }}'))


def test_a_sample_in_mev_raises_the_question(tmp_path: Path) -> None:
    in_mev = deepcopy(A)
    for event in in_mev:
        for jet in event["jet"]:
            jet["pt"] *= 1000.0
    (text,) = warnings(tmp_path, TRIGGER.format("J30", "jet[0].pt", 30.0), a=in_mev)
    assert text.endswith(": MeV? trigemu reads GeV: convert the sample")
    assert not warnings(tmp_path, TRIGGER.format("N", "n_jet", 0.5), a=in_mev)


def test_masses_of_pairs_are_bounded_by_their_objects(tmp_path: Path) -> None:
    assert warnings(tmp_path, TRIGGER.format("M", "max(m(jet[0], jet[1]), 40)", 1.0))
    assert not warnings(tmp_path, TRIGGER.format("M", "m(jet[0], muon[0])", 1.0))


def test_without_any_value_nothing_is_said(tmp_path: Path) -> None:
    assert not warnings(tmp_path, TRIGGER.format("J", "jet[9].pt", 5.0))
