"""What `trigemu compare`, `scan`, `rates-vs` and `efficiency` make of their options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import trigemu as library
from trigemu.studies.efficiency_profiles import read_profiles

Run = Callable[..., tuple[int, str]]
ON = ("--samples", "catalogue.toml")
PHOTON = '[[trigger]]\nname = "G"\nkind = "threshold"\nobservable = "photon[0].pt"\nabove = 12.0\n'
SIGNAL = '\n[[sample]]\nname = "yy"\nrole = "signal"\nfiles = ["all.root"]\nrequire = "met > 1"\n'
PROFILE = """
[profile]
menus = ["menu.toml", "soft.toml"]
samples = ["yy"]
triggers = ["J30"]

[[observable]]
expression = "jet[0].pt"
label = "leading/jet pT"
unit = "GeV"
bins = "0:80:20"

[[observable]]
expression = "met"
bins = [0, 10, 1000]

[[category]]
condition = "n_jet == 0"
label = "no jet"

[[category]]
condition = "n_jet > 0"
"""


@pytest.fixture(autouse=True)
def inputs(place: Any) -> None:
    menu = (place.folder / "menu.toml").read_text() + PHOTON
    place.write("menu.toml", menu)
    place.write("soft.toml", menu.replace("30.0", "20.0"))
    place.write("catalogue.toml", (place.folder / "catalogue.toml").read_text() + SIGNAL)
    place.write("profile.toml", PROFILE)


def test_a_scan_says_where_a_budget_is_met(place: Any, document: Callable[..., Any]) -> None:
    scan = ("scan", "menu.toml", "--trigger", "J30", "--values")
    found = document(*scan, "20:40:5", "--budget", "2e7", "--figure", "out.png", *ON)
    assert found["met"]
    for entry in found["met"]:
        assert entry["low_hz"] >= entry["budget_hz"] == 2e7 >= entry["high_hz"]
        assert entry["high"] - entry["low"] in (0.0, 5.0)
    assert "20 MHz between" in found["text"]
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")
    plane = document(*scan, "20:40:10", "--trigger", "G", "--values", "8,12,16", "--figure", "out.svg", *ON)
    assert [point["values"] for point in plane["points"]][3:5] == [[30.0, 8.0], [30.0, 12.0]]
    assert b"<svg" in (place.folder / "out.svg").read_bytes()


def test_rates_of_some_triggers_against_an_observable(place: Any, document: Callable[..., Any]) -> None:
    command = ("rates-vs", "n_jet", "menu.toml", "--bins", "0:4:2", "--trigger", "MU", "--figure", "out.png")
    found = document(*command, *ON)
    assert [len(part["triggers"]) for part in found["bins"]] == [3, 3]
    assert ("MU" in found["text"], "J30" in found["text"]) == (True, False)
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")


def test_efficiencies_of_categories_and_triggers(place: Any, document: Callable[..., Any]) -> None:
    command = ("efficiency", "menu.toml", "soft.toml", "--sample", "yy", "--observable", "jet[0].pt")
    categories = ("--category", "n_jet > 0", "--category", "n_jet > 2", "--trigger", "MU")
    found = document(*command, *ON, "--bins", "0:80:20", *categories, "--figures", "figures")
    assert found["require"] == "met > 1"
    assert [turnon["category"] for turnon in found["turnons"]] == ["n_jet > 0", "n_jet > 2"]
    curves = found["turnons"][0]["curves"]
    assert [(curve["menu"], curve["trigger"]) for curve in curves] == [
        ("menu", None), ("menu", "MU"), ("soft", None), ("soft", "MU")
    ]  # fmt: skip
    assert curves[2]["efficiency"][2] == 1.0
    assert f"{100 * curves[0]['overall']['efficiency']:.2f}" in found["text"]
    drawn = [file for file in place.files() if file.startswith("figures")]
    assert len(drawn) == 2
    assert all(f"{file}\n" in found["text"] for file in drawn)
    both = ("--observable", "met", "--sample", "yy", "--observable", "jet[0].pt")
    for bins, edges in ((("0:50:25",), [3, 3]), (("0:50:25", "0,10,20,90"), [3, 4])):
        found = document(
            "efficiency", *ON, "menu.toml", *both, *(word for text in bins for word in ("--bins", text))
        )
        assert [len(turnon["edges"]) for turnon in found["turnons"]] == edges


def test_a_file_of_profiles(place: Any, document: Callable[..., Any]) -> None:
    """Its menus and `require` may be replaced."""
    found = document("efficiency", *ON, "--profile", "profile.toml", "--figures", "a/b")
    assert [t["labels"] for t in found["turnons"]] == [
        ["leading/jet pT", "no jet"], ["leading/jet pT", "n_jet > 0"], ["met", "no jet"], ["met", "n_jet > 0"]
    ]  # fmt: skip
    assert found["turnons"][0]["curves"][0]["efficiency"] == [None] * 4
    assert "jet[0].pt has no value within its bins where n_jet == 0" in found["text"]
    drawn = {file for file in place.files() if file.startswith("a/")}
    assert "a/b/leading_jet_pT_n_jet_0.png" in drawn
    assert len(drawn) == 3
    measured = read_profiles("profile.toml").measure(
        [library.read_menu("menu.toml")], library.open_catalogue("catalogue.toml")
    )
    assert measured["met", "n_jet == 0"].plot().get_title("right") == "yy, no jet"
    found = document("efficiency", *ON, "soft.toml", "--profile", "profile.toml", "--require", "")
    assert {c["menu"] for t in found["turnons"] for c in t["curves"]} == {"soft"}
    assert found["require"] == ""
