"""Warnings about triggers that fire in no event, against plain Python over the same events."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import run

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


@pytest.mark.parametrize(
    ("requires", "hint"),
    [
        ("n_jet >= 1 and ht > {}", True),
        ("{} < ht", True),
        ("{} <= jet[0].pt", True),
        ("ht < {} and met < -1", False),
        ("n_jet > {}", False),
        ("ht > {} or met < -1", False),
    ],
)
def test_a_preselection_in_mev(tmp_path: Path, requires: str, hint: bool) -> None:
    requires = requires.format(40000)
    (warning,) = warnings(tmp_path, trigger("T", threshold("jet[0].pt", 5.0, f'requires = "{requires}"')))
    assert f"none passes its preselection ({requires}) and has a value of jet[0].pt" in warning
    assert warning.endswith("MeV? trigemu reads GeV: 40") == hint


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


def test_ranges_of_large_samples_are_of_their_first_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigemu.emulation.sample_warnings.MOST", 121)  # of two samples
    (warning,) = warnings(tmp_path, trigger("J", threshold("jet[0].pt", 1e7)))
    first = max(e["jet"][0]["pt"] for e in A[:60] + B[:60] if e["jet"])
    assert "(values: the first 60 of each sample)" in warning
    assert warning.endswith(f"the largest jet[0].pt is {first:.4g} GeV")
