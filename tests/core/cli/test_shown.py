"""A result of the Python interface shows, and gives as a document, what its command prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import trigemu as library
from trigemu.studies import read_profiles

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml", "--json", "out.json")
COLUMNS = '[menu]\nname = "columns"\nprescale_columns = ["a", "b"]\n'
PROFILES = """
[profile]
menus = ["menu.toml", "other.toml"]
samples = ["all"]
triggers = ["J30"]

[[observable]]
expression = "jet[0].pt"
label = "leading pT"
unit = "GeV"
bins = "0:90:30"

[[category]]
condition = "n_muon > 0"
label = "with a muon"
"""


@pytest.fixture
def catalogue(place: Any) -> Any:
    place.write("other.toml", (place.folder / "menu.toml").read_text().replace("30.0", "35.0"))
    return library.open_catalogue("catalogue.toml")


def same(place: Any, ran: tuple[int, str], result: Any) -> None:
    """To the last character, and the last bit."""
    status, printed = ran
    assert status == 0, printed
    assert f"{result}\n" == printed
    text = (place.folder / "out.json").read_text()
    assert result.to_dict() == json.loads(text, parse_constant=pytest.fail)


def test_rates(place: Any, trigemu: Run, catalogue: Any) -> None:
    result = library.run(library.read_menu("menu.toml"), catalogue)
    same(place, trigemu("run", "menu.toml", *ON_TOYS), result)


def test_rates_in_columns(place: Any, trigemu: Run, catalogue: Any) -> None:
    menu = (place.folder / "menu.toml").read_text().replace("prescale = 2", "prescales = [2, 0]")
    place.write("columns.toml", COLUMNS + menu)
    result = library.column_rates("columns.toml", ["b", "a"], catalogue)
    same(place, trigemu("run", "columns.toml", "--column", "b", "--column", "a", *ON_TOYS), result)
    assert list(result.to_pandas().index) == [("b", "J30"), ("a", "J30"), ("a", "MU")]


def test_comparisons(place: Any, trigemu: Run, catalogue: Any) -> None:
    menus = [library.read_menu(name) for name in ("menu.toml", "other.toml")]
    result = library.compare(library.emulate(menus, catalogue))
    same(place, trigemu("compare", "menu.toml", "other.toml", *ON_TOYS), result)


def test_scans(place: Any, trigemu: Run, catalogue: Any) -> None:
    result = library.scan(library.read_menu("menu.toml"), [library.Steps("J30", (20.0, 40.0))], catalogue)
    ran = trigemu("scan", "menu.toml", "--trigger", "J30", "--values", "20,40", *ON_TOYS)
    same(place, ran, result)


def test_efficiencies_with_their_labels(place: Any, trigemu: Run, catalogue: Any) -> None:
    profiles = read_profiles(place.write("profiles.toml", PROFILES))
    result = profiles.measure([library.read_menu(menu) for menu in ("menu.toml", "other.toml")], catalogue)
    same(place, trigemu("efficiency", "--profile", "profiles.toml", *ON_TOYS), result)
    assert "with a muon" in str(result)
    turnon = result["jet[0].pt"]
    assert turnon.to_dict() == result.to_dict()["turnons"][0]
    assert turnon.curves[1].to_dict() == turnon.to_dict()["curves"][1]
    assert turnon.plot().get_title("right") == "all, with a muon"


def test_rates_in_bins(place: Any, trigemu: Run, catalogue: Any) -> None:
    result = library.binned_rates(library.read_menu("menu.toml"), "met", (0.0, 20.0, 60.0), catalogue)
    same(place, trigemu("rates-vs", "met", "menu.toml", "--bins", "0,20,60", *ON_TOYS), result)


def test_samples(place: Any, trigemu: Run, catalogue: Any) -> None:
    status, printed = trigemu("samples", "catalogue.toml")
    assert (status, printed) == (0, f"{catalogue}\n")
    (sample,) = catalogue.to_dict()["samples"]
    assert (sample["name"], sample["events"], sample["rate_hz"]) == ("all", 400, 40e6)
