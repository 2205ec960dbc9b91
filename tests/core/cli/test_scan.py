"""`trigemu scan` as users give it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
OUT = ("--json", "out.json", "--csv", "out.csv")
SECOND = '[[trigger]]\nname = "G"\nkind = "threshold"\nobservable = "photon[0].pt"\nabove = 12.0\n'


@pytest.fixture(autouse=True)
def more(place: Any) -> None:
    place.write("menu.toml", (place.folder / "menu.toml").read_text() + SECOND)


def test_one_threshold(place: Any, trigemu: Run) -> None:
    requested = ("scan", "menu.toml", "--trigger", "J30", "--values", "20:40:5", "--figure", "out.png")
    status, text = trigemu(*requested, *ON_TOYS, *OUT, "--budget", "2e7")
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert [point["values"] for point in document["points"]] == [[20.0], [25.0], [30.0], [35.0], [40.0]]
    trigemu("run", "menu.toml", *ON_TOYS, "--json", "run.json")
    single = json.loads((place.folder / "run.json").read_text())
    assert document["points"][2]["triggers"] == single["triggers"]
    assert document["points"][2]["menu"] == single["menu"]
    assert document["provenance"] == single["provenance"]
    hz = [point["menu"]["rate_hz"] for point in document["points"]]
    assert hz == sorted(hz, reverse=True)
    for entry in document["met"]:
        assert entry["low_hz"] >= entry["budget_hz"] >= entry["high_hz"]
        assert entry["high"] - entry["low"] in (0.0, 5.0)
    if document["met"]:
        assert "is 20 MHz between" in text
    with (place.folder / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["J30 threshold"]) for row in rows] == [20.0, 25.0, 30.0, 35.0, 40.0]
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("figure", ["out.png", "out.pdf", "out.svg"])
def test_two_thresholds(place: Any, trigemu: Run, figure: str) -> None:
    requested = ("scan", "menu.toml", "--trigger", "J30", "--values", "20:40:10", "--trigger", "G")
    status, text = trigemu(*requested, "--values", "8,12,16", *ON_TOYS, *OUT, "--figure", figure)
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text())
    assert len(document["points"]) == 9
    assert document["points"][4]["values"] == [30.0, 12.0]
    assert (place.folder / figure).stat().st_size > 1000
    assert max(map(len, text.splitlines())) <= 100


def test_a_leg_and_a_threshold(place: Any, trigemu: Run) -> None:
    requested = ("scan", "menu.toml", "--trigger", "MU", "--vary", "legs[0].pt", "--values", "0:60:10")
    status, text = trigemu(*requested, *ON_TOYS, *OUT, "--figure", "out.png", "--budget", "1e6")
    assert status == 0, text
    assert "MU legs[0].pt.min" in text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert document["scanned"][0]["vary"] == "legs[0].pt.min"
    hz = [point["menu"]["rate_hz"] for point in document["points"]]
    assert hz == sorted(hz, reverse=True) != hz[::-1]
    (leg,) = {entry["vary"] for entry in document["met"]}
    assert f"is 1 MHz between {leg} = " in text
    more = ("--trigger", "G", "--vary", "above", "--values", "10,12")
    status, text = trigemu(*requested, *more, *ON_TOYS, *OUT, "--figure", "out.png")
    assert status == 0, text
    assert "MU legs[0].pt.min  G above" in text


def test_a_scan_of_what_never_fires_is_drawn(place: Any, trigemu: Run) -> None:
    """Rates of zero and a single value have no logarithm and no width."""
    silent = SECOND.replace("12.0", "1e9")
    place.write("menu.toml", silent + silent.replace('"G"', '"H"'))
    for values in (("1e8",), ("1e8,1e9", "--trigger", "H", "--values", "1e8,1e9")):
        status, text = trigemu(
            "scan", "menu.toml", "--trigger", "G", "--values", *values, *ON_TOYS, "--figure", "out.png"
        )
        assert status == 0, text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--trigger", "J3", "--values", "1:2:1"), "unknown trigger 'J3'; did you mean 'J30'?"),
        (("--trigger", "MU", "--values", "1:2:1"), "the kind 'combination' has no threshold to scan"),
        (("--trigger", "MU", "--vary", "legs[9].pt", "--values", "1"), "legs[9]: legs has "),
        (
            ("--trigger", "MU", "--vary", "legs[0].pt", "--vary", "above", "--values", "1"),
            "1 --trigger and 2 --vary",
        ),
        (("--trigger", "J30", "--values", "2:1:1"), "values '2:1:1': expected FIRST:LAST:STEP"),
        (("--trigger", "J30"), "Missing option '--values'"),
        (("--trigger", "J30", "--trigger", "G", "--values", "1"), "2 --trigger and 1 --values: each"),
        (("--trigger", "G", "--trigger", "G", "--values", "1", "--values", "2"), "scanned twice"),
        (
            ("--trigger", "J30", "--values", "1:2:1", "--budget", "0"),
            "0.0 is not in the range 0<x<=1000000000000000.0",
        ),
        (("--trigger", "J30", "--values", "1:2:1", "--figure", "out.gifx"), "should end in .png, .pdf, .svg"),
        (("--trigger", "J30", "--values", "1:2:1", "--figure", "no/out.png"), "there is no folder no"),
        (("--trigger", "J30", "--values", "0:99999:1"), "more than 10000"),
        (
            tuple(part for name in ("J30", "G", "MU") for part in ("--trigger", name, "--values", "1")),
            "3 triggers: at most two can be scanned together",
        ),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu("scan", "menu.toml", *arguments, *ON_TOYS, *OUT)
    assert status == 2
    assert message in text
    assert place.files() == before


@pytest.mark.parametrize("budget", ["nan", "inf", "-1", "0", "1e400"])
def test_a_budget_is_a_number(trigemu: Any, budget: str) -> None:
    status, text = trigemu("scan", "menu.toml", "--trigger", "J30", "--values", "1,2", "--budget", budget)
    assert status == 2
    assert "Invalid value for '--budget'" in text


def test_a_budget_has_no_unit(trigemu: Any) -> None:
    status, text = trigemu("scan", "menu.toml", "--trigger", "J30", "--values", "1,2", "--budget", "100kHz")
    assert status == 2
    assert "'100kHz' is not a number; rates are numbers in Hz, without the unit: 100000" in text


def test_a_menu_has_no_units(place: Any, trigemu: Any) -> None:
    text = '[[trigger]]\nname = "A"\nkind = "threshold"\nobservable = "met"\nunique_rate_hz = "2 kHz"\n'
    (place.folder / "unit.toml").write_text(text)
    status, text = trigemu("check-menu", "unit.toml")
    assert status == 2
    assert "unique_rate_hz = '2 kHz': expected a number, got a string; rates are numbers in Hz" in text
