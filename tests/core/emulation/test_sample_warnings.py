"""Warnings about triggers that fire in no event, and limits that exclude nothing, against plain Python over
the same events."""

from __future__ import annotations

import math
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import run
from trigemu.emulation.sample_warnings import warnings_of_first

A, B = toy_events(3, 230), toy_events(4, 90)
EVENTS = A + B


def trigger(name: str, keys: str) -> str:
    return f'[[trigger]]\nname = "{name}"\n{keys}\n'


def threshold(observable: str, above: float, keys: str = "") -> str:
    return f'kind = "threshold"\nobservable = "{observable}"\nabove = {above!r}\n{keys}'


def warnings(folder: Path, text: str, **options: Any) -> tuple[str, ...]:
    rates = run(menu_from(folder, text), memory_catalogue({"a": A, "b": B}), **options)
    return tuple(w for w in rates.warnings if "fires in" in w or "fire in" in w)


def leading(collection: str, number: int = 0) -> list[float]:
    return [e[collection][number]["pt"] for e in EVENTS if len(e[collection]) > number]


def test_exactly_the_thresholds_that_no_event_passes(tmp_path: Path) -> None:
    """The largest value itself is not above the threshold, the next float below it is."""
    largest = {f"{c}[{i}].pt": max(leading(c, i)) for c in ("jet", "photon", "muon") for i in (0, 1)}
    text, expected = "", {}
    for number, (observable, most) in enumerate(largest.items()):
        text += trigger(f"AT{number}", threshold(observable, most))
        text += trigger(f"BELOW{number}", threshold(observable, math.nextafter(most, 0)))
        expected[f"AT{number}"] = f"the largest {observable} is {most:.4g} GeV"
    found = warnings(tmp_path, text)
    assert len(found) == len(expected)
    for warning, (name, told) in zip(found, expected.items(), strict=True):
        assert warning.startswith(f"'{name}' ({tmp_path / 'menu.toml'}:")
        assert "fires in no event of the background: its threshold is " in warning
        assert warning.endswith(told)


@pytest.mark.parametrize("factor", [0.9, 1.0, 1000.0, 1100.0])
def test_only_a_limit_that_fits_in_mev_raises_the_question(tmp_path: Path, factor: float) -> None:
    most = max(leading("jet"))
    above = most * factor
    found = warnings(tmp_path, trigger("J", threshold("jet[0].pt", above)))
    assert len(found) == (factor >= 1)
    asks = [". MeV? trigemu reads GeV: " in warning for warning in found]
    assert asks == [factor == 1000.0] * len(found)
    # A limit of an ordinary size is not meant in MeV, although HT goes down to 0.
    (warning,) = warnings(tmp_path, trigger("HT", threshold("ht", 999.0)))
    assert "the largest ht is " in warning
    assert "MeV" not in warning
    # Of a number without a known unit, nobody asks.
    assert "MeV" not in "".join(warnings(tmp_path, trigger("N", threshold("n_jet", 3000.0))))


def test_a_solution_in_the_question_can_be_copied(tmp_path: Path) -> None:
    (warning,) = warnings(tmp_path, trigger("J", threshold("jet[0].pt", 30000.0)))
    assert (written := re.search(r"MeV\? trigemu reads GeV: (\S+)$", warning))
    assert float(written[1]) == 30.0


MUON = ", pt = { min = 6.0 }"


def test_the_leg_without_an_object_is_named(tmp_path: Path) -> None:
    pt = [o["pt"] for e in EVENTS for o in e["photon"]]
    assert 20 < max(pt) < 20000
    legs = 'legs = [{ object = "muon", pt = { min = 6.0 } }, { object = "photon", pt = { min = 20000.0 } }]'
    text = trigger("MG", f'kind = "combination"\n{legs}')
    text += trigger("LEG", f'kind = "leg_threshold"\n{legs.replace(MUON, "")}\nabove = 1.0')
    text += trigger("ETA", 'kind = "combination"\nlegs = [{ object = "jet", eta = { below = -7.0 } }]')
    both, leg, eta = warnings(tmp_path, text)
    for warning, name in ((both, "MG"), (leg, "LEG")):
        assert warning.startswith(f"'{name}' (")
        assert (
            f"no photon with pt = {{ min = 20000.0 }} (leg 1); pt is {min(pt):.4g} to {max(pt):.4g} GeV"
            in (warning)
        )
        assert warning.endswith("trigemu reads GeV: 20")
    etas = [o["eta"] for e in EVENTS for o in e["jet"]]
    assert eta.endswith(
        f"no jet with eta = {{ below = -7.0 }} (leg 0); eta is {min(etas):.4g} to {max(etas):.4g}"
    )


def test_the_threshold_of_a_leg(tmp_path: Path) -> None:
    """The score is the largest pT of a muon beside another one."""
    pairs = [e["muon"][0]["pt"] for e in EVENTS if len(e["muon"]) > 1]
    keys = f'kind = "leg_threshold"\nlegs = [{{ object = "muon" }}, {{ object = "muon" }}]\nabove = {2e4!r}'
    (warning,) = warnings(tmp_path, trigger("MM", keys))
    assert f"its threshold is 20000 GeV, the largest pt of leg 0 is {max(pairs):.4g} GeV" in warning
    assert warning.endswith("MeV? trigemu reads GeV: 20")


OBJECTS = """
[objects.hard]
from = "jet"
pt = { min = 25000.0 }
[objects.harder]
from = "hard"
eta = { max = 1 }
"""


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (threshold("harder[0].pt", 5.0), "no jet with pt = { min = 25000.0 }; pt is "),
        (threshold("jet[0].pt", 5.0, 'requires = "met > 0 and harder[0].pt > 7"'), "no jet with pt = { min"),
        (
            threshold("jet[0].pt", 5.0, 'requires = "n_jet >= 1 and met < -1"'),
            "none passes its preselection (n_jet >= 1 and met < -1) and has a value of jet[0].pt",
        ),
        (
            threshold("jet[0].pt", 5.0, 'requires = "n_jet == 0"'),
            "none passes its preselection (n_jet == 0) and has a value",
        ),
    ],
)
def test_what_keeps_events_from_a_score(tmp_path: Path, keys: str, told: str) -> None:
    (warning,) = warnings(tmp_path, OBJECTS + trigger("T", keys))
    assert f"fires in no event of the background: {told}" in warning
    assert ("MeV?" in warning) == ("25000" in warning)


def test_a_column_of_integers(tmp_path: Path) -> None:
    """In a leg, in an object, and as a score."""
    assert {o["charge"] for e in EVENTS for o in e["muon"]} == {-1, 1}
    text = '[objects.odd]\nfrom = "muon"\ncharge = { any_of = [3, 5] }\n'
    text += trigger("LEG", 'kind = "combination"\nlegs = [{ object = "muon", charge = { min = 2 } }]')
    text += trigger("SCORE", threshold("muon[0].charge", 1.0)) + trigger("ODD", threshold("odd[0].pt", 1.0))
    leg, score, odd = warnings(tmp_path, text)
    assert leg.endswith("no muon with charge = { min = 2.0 } (leg 0); charge is -1 to 1")
    assert score.endswith("its threshold is 1, the largest muon[0].charge is 1")
    assert odd.endswith("no muon with charge = { any_of = [3, 5] }; charge is -1 to 1")


def test_an_angle_in_degrees(tmp_path: Path) -> None:
    phi = [o["phi"] for e in EVENTS for o in e["jet"]]
    for window in ("min = 90, max = 180", "abs_min = 90"):
        text = trigger("J", f'kind = "combination"\nlegs = [{{ object = "jet", phi = {{ {window} }} }}]')
        (warning,) = warnings(tmp_path, text)
        assert warning.endswith(f"(leg 0); phi is {min(phi):.4g} to {max(phi):.4g}")


def test_a_sample_without_such_objects(tmp_path: Path) -> None:
    text = trigger("M", 'kind = "combination"\nlegs = [{ object = "muon", pt = { min = 6.0 } }]')
    text += trigger("R", threshold("jet[0].pt", 5.0, 'requires = "muon[0].eta < 2"'))
    catalogue = memory_catalogue({"a": [event | {"muon": []} for event in A]})
    legs, requires = run(menu_from(tmp_path, text), catalogue).warnings[:2]
    assert legs.endswith(": no muon with pt = { min = 6.0 } (leg 0); there is none at all")
    assert requires.endswith(": none passes its preselection (muon[0].eta < 2) and has a value of jet[0].pt")


def test_a_trigger_whose_parts_pass_in_different_events_has_no_warning(tmp_path: Path) -> None:
    """Nor one that has no known parts."""
    legs = '[{ object = "jet" }, { object = "jet" }]\npairs = [{ legs = [0, 1], mass = { min = 1e6 } }]'
    assert warnings(tmp_path, trigger("JJ", f'kind = "combination"\nlegs = {legs}')) == ()


def test_many_triggers_have_one_line(tmp_path: Path) -> None:
    text = "".join(trigger(f"N{i}", threshold("n_jet", 100.0 + i)) for i in range(30))
    found = warnings(tmp_path, text)
    assert len(found) == 9
    assert found[-1].startswith("for similar reasons, these fire in no event of the background: 'N8', 'N9', ")
    assert found[-1].endswith(" 'N15' and more")


def test_the_first_events_of_each_sample(tmp_path: Path) -> None:
    """A trigger that fires only later has a warning that says which events were tried."""
    first = max(e["jet"][0]["pt"] for e in A[:60] + B[:60] if e["jet"])
    assert first < max(leading("jet"))
    text = trigger("J", threshold("jet[0].pt", first)) + trigger("BUDGET", f"{BUDGET}unique_rate_hz = 1.0")
    menu, catalogue = menu_from(tmp_path, text), memory_catalogue({"a": A, "b": B})
    (warning,) = warnings_of_first(menu, catalogue, 60)
    assert (
        f"fires in none of the first 60 events of each sample: its threshold is {first:.10g} GeV" in warning
    )
    assert warning.endswith(f"the largest jet[0].pt is {first:.4g} GeV")
    assert not [*warnings_of_first(menu, catalogue, 10_000)]


BUDGET = 'kind = "threshold"\nobservable = "jet[0].pt"\n'


def test_ranges_of_large_samples_are_of_their_first_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigemu.emulation.sample_warnings.MOST", 121)  # of two samples
    (warning,) = warnings(tmp_path, trigger("J", threshold("jet[0].pt", 1e7)))
    first = max(e["jet"][0]["pt"] for e in A[:60] + B[:60] if e["jet"])
    assert "(values: the first 60 of each sample)" in warning
    assert warning.endswith(f"the largest jet[0].pt is {first:.4g} GeV")


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
        found = loose(tmp_path, trigger("T", threshold(observable, factor * low)))
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
    text = trigger("T", threshold("jet[0].pt", 0.8 * low))
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
    (text,) = loose(tmp_path, trigger("J30", threshold("jet[0].pt", 30.0)), a=in_mev)
    assert text.endswith(": MeV? trigemu reads GeV: convert the sample")
    assert not loose(tmp_path, trigger("N", threshold("n_jet", 0.5)), a=in_mev)


def test_masses_of_pairs_are_bounded_by_their_objects(tmp_path: Path) -> None:
    assert loose(tmp_path, trigger("M", threshold("max(m(jet[0], jet[1]), 40)", 1.0)))
    assert not loose(tmp_path, trigger("M", threshold("m(jet[0], muon[0])", 1.0)))


def test_without_any_value_nothing_is_said(tmp_path: Path) -> None:
    assert not loose(tmp_path, trigger("J", threshold("jet[9].pt", 5.0)))
