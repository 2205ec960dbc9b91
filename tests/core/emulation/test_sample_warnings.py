"""Warnings about triggers that fire in no event, against plain Python over the same events."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from toys import combination, memory_catalogue, menu_from, threshold, toy_events, trigger

from trigemu import run

A, B = toy_events(3, 230), toy_events(4, 90)
EVENTS = A + B
LEADING = {
    f"{name}[{i}].pt": max(e[name][i]["pt"] for e in EVENTS if len(e[name]) > i)
    for name in ("jet", "photon", "muon")
    for i in (0, 1)
}
HT = max(math.fsum(j["pt"] for j in e["jet"]) for e in EVENTS)
#: The largest pT of a muon beside another one.
BESIDE = max(e["muon"][0]["pt"] for e in EVENTS if len(e["muon"]) > 1)


def warnings(folder: Path, text: str) -> tuple[str, ...]:
    rates = run(menu_from(folder, text), memory_catalogue({"a": A, "b": B}))
    return tuple(w for w in rates.warnings if "fires in" in w or "fire in" in w)


def span(name: str, column: str) -> str:
    values = [o[column] for e in EVENTS for o in e[name]]
    return f"{column} is {min(values):.4g} to {max(values):.4g}"


def test_exactly_the_thresholds_that_no_event_passes(tmp_path: Path) -> None:
    """The largest value itself is not above the threshold, the next float below it is."""
    text, expected = "", {}
    for number, (observable, most) in enumerate(LEADING.items()):
        text += threshold(f"AT{number}", observable, most)
        text += threshold(f"BELOW{number}", observable, math.nextafter(most, 0))
        expected[f"AT{number}"] = f"the largest {observable} is {most:.4g} GeV"
    found = warnings(tmp_path, text)
    assert len(found) == len(expected)
    for warning, (name, told) in zip(found, expected.items(), strict=True):
        assert warning.startswith(f"'{name}' ({tmp_path / 'menu.toml'}:")
        assert "fires in no event of the background: its threshold is " in warning
        assert warning.endswith(told)


@pytest.mark.parametrize("factor", [0.9, 1.0, 1000.0, 1100.0])
def test_only_a_limit_that_fits_in_mev_raises_the_question(tmp_path: Path, factor: float) -> None:
    found = warnings(tmp_path, threshold("J", "jet[0].pt", LEADING["jet[0].pt"] * factor))
    assert len(found) == (factor >= 1)
    asks = [". MeV? trigemu reads GeV: " in warning for warning in found]
    assert asks == [factor == 1000.0] * len(found)


MUON, SOFT = '{ object = "muon" }', '{ object = "muon", pt = { min = 6.0 } }'
PHOTON = '{ object = "photon", pt = { min = 20000.0 } }'
HARD = '[objects.hard]\nfrom = "jet"\npt = { min = 25000.0 }\n'
HARDER = HARD + '[objects.harder]\nfrom = "hard"\neta = { max = 1 }\n'
FEW = '[objects.odd]\nfrom = "muon"\ncharge = { any_of = [3, 5] }\n'
MEV = " GeV. MeV? trigemu reads GeV: "
NO_PHOTON = f"no photon with pt = {{ min = 20000.0 }} (leg 1); {span('photon', 'pt')}{MEV}20"
NO_HARD = f"no jet with pt = {{ min = 25000.0 }}; {span('jet', 'pt')}{MEV}25"


def jet(window: str) -> str:
    return combination("T", f'{{ object = "jet", {window} }}')


def asked(requires: str, observable: str = "jet[0].pt") -> str:
    return threshold("T", observable, 5.0, f'requires = "{requires}"')


def none_passes(requires: str) -> str:
    return f"none passes its preselection ({requires}) and has a value of jet[0].pt"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (combination("T", f"{SOFT}, {PHOTON}"), NO_PHOTON),
        (trigger("T", "leg_threshold", f"legs = [{MUON}, {PHOTON}]\nabove = 1.0"), NO_PHOTON),
        (
            trigger("T", "leg_threshold", f"legs = [{MUON}, {MUON}]\nabove = 2e4"),
            f"its threshold is 20000 GeV, the largest pt of leg 0 is {BESIDE:.4g}{MEV}20",
        ),
        (jet("eta = { below = -7 }"), f"no jet with eta = {{ below = -7.0 }} (leg 0); {span('jet', 'eta')}"),
        (jet("phi = { min = 90, max = 180 }"), f"(leg 0); {span('jet', 'phi')}"),  # in degrees
        (jet("phi = { abs_min = 90 }"), f"(leg 0); {span('jet', 'phi')}"),
        (HARDER + threshold("T", "harder[0].pt", 5.0), NO_HARD),
        (HARDER + asked("met > 0 and harder[0].pt > 7"), NO_HARD),
        (asked("n_jet >= 1 and met < -1"), none_passes("n_jet >= 1 and met < -1")),
        (asked("n_jet == 0"), none_passes("n_jet == 0")),
        *(
            (asked(requires), f"{none_passes(requires)}. MeV? trigemu reads GeV: 40")
            for requires in ("n_jet >= 1 and ht > 40000", "40000 < ht", "40000 <= jet[0].pt")
        ),
        *(
            (asked(requires), none_passes(requires))
            for requires in ("ht < 40000 and met < -1", "n_jet > 40000", "ht > 40000 or met < -1")
        ),
        # Integers: in a leg, as a score, and in an object.
        (
            combination("T", '{ object = "muon", charge = { min = 2 } }'),
            "no muon with charge = { min = 2.0 } (leg 0); charge is -1 to 1",
        ),
        (threshold("T", "muon[0].charge", 1.0), "its threshold is 1, the largest muon[0].charge is 1"),
        (FEW + threshold("T", "odd[0].pt", 1), "muon with charge = { any_of = [3, 5] }; charge is -1 to 1"),
        # A limit of an ordinary size is not meant in MeV, although HT goes down to 0.
        (threshold("T", "ht", 999.0), f"the largest ht is {HT:.4g} GeV"),
        (threshold("T", "n_jet", 3000.0), f"the largest n_jet is {max(len(e['jet']) for e in EVENTS)}"),
    ],
)  # fmt: skip
def test_what_keeps_a_trigger_from_firing(tmp_path: Path, text: str, told: str) -> None:
    (warning,) = warnings(tmp_path, text)
    assert warning.startswith("'T' (")
    assert warning.endswith(told)


def test_a_sample_without_such_objects(tmp_path: Path) -> None:
    text = combination("M", SOFT) + asked("muon[0].eta < 2")
    catalogue = memory_catalogue({"a": [event | {"muon": []} for event in A]})
    legs, requires = run(menu_from(tmp_path, text), catalogue).warnings[:2]
    assert legs.endswith(": no muon with pt = { min = 6.0 } (leg 0); there is none at all")
    assert requires.endswith(f": {none_passes('muon[0].eta < 2')}")


def test_a_trigger_whose_parts_pass_in_different_events_has_no_warning(tmp_path: Path) -> None:
    """Nor one that has no known parts."""
    pair = "pairs = [{ legs = [0, 1], mass = { min = 1e6 } }]"
    assert warnings(tmp_path, combination("JJ", '{ object = "jet" }, { object = "jet" }', pair)) == ()


def test_many_triggers_have_one_line(tmp_path: Path) -> None:
    found = warnings(tmp_path, "".join(threshold(f"N{i}", "n_jet", 100.0 + i) for i in range(30)))
    assert len(found) == 9
    assert found[-1].startswith("for similar reasons, these fire in no event of the background: 'N8', 'N9', ")
    assert found[-1].endswith(" 'N15' and more")


def test_ranges_of_large_samples_are_of_their_first_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigemu.emulation.sample_warnings.MOST", 121)  # of two samples
    (warning,) = warnings(tmp_path, threshold("J", "jet[0].pt", 1e7))
    first = max(e["jet"][0]["pt"] for e in A[:60] + B[:60] if e["jet"])
    assert "(values: the first 60 of each sample)" in warning
    assert warning.endswith(f"the largest jet[0].pt is {first:.4g} GeV")
