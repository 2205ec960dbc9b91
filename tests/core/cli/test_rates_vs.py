"""`trigemu rates-vs` as users give it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest
from project import ROOT

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
OUT = ("--json", "out.json", "--csv", "out.csv")
PRIMARY = str(ROOT / "menus" / "primary.toml")


def test_rates_against_an_observable(place: Any, trigemu: Run) -> None:
    requested = ("rates-vs", "n_jet", "menu.toml", "--bins", "0:4:2", *ON_TOYS)
    status, text = trigemu(*requested, *OUT, "--figure", "out.png")
    assert status == 0, text
    assert max(map(len, text.splitlines())) <= 100
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    trigemu("run", "menu.toml", *ON_TOYS, "--json", "run.json")
    plain = json.loads((place.folder / "run.json").read_text())
    assert document["whole"]["triggers"] == plain["triggers"]
    assert [[t["name"] for t in part["triggers"]] for part in document["bins"]] == [["J30", "MU"]] * 2
    with (place.folder / "out.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 6
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")
    status, text = trigemu(*requested, "--trigger", "MU")
    assert status == 0, text
    assert "MU" in text
    assert "J30" not in text


def test_rates_against_pile_up(place: Any, trigemu: Run) -> None:
    """Those of the embedded sample rise with it, and what has no rate is drawn too."""
    requested = ("rates-vs", "n_interaction", PRIMARY, "--bins", "0,8,13,18,60", "--json", "out.json")
    status, text = trigemu(*requested, "--figure", "out.svg")
    assert status == 0, text
    bins = json.loads((place.folder / "out.json").read_text())["bins"]
    for name in (0, 1):
        hz = [part["triggers"][name]["if_all_hz"] for part in bins]
        assert hz == sorted(hz)
    assert sum(part["fraction"] for part in bins) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("n_jet", "menu.toml", "--bins", "3"), "at least two ascending edges"),
        (("n_jet", "menu.toml"), "Missing option '--bins'"),
        (("n_jets", "menu.toml", "--bins", "0,1"), "n_jets"),
        (("n_interaction", "menu.toml", "--bins", "0,1"), "has no observable 'n_interaction'"),
        (
            ("met", "menu.toml", "--bins", "0,1", "--trigger", "J3"),
            "unknown trigger 'J3'; did you mean 'J30'",
        ),
        (("met", "menu.toml", "--bins", "-5,-1"), "no value from -5 to -1"),
        (("met", "menu.toml", "--bins", "0,1", "--figure", "out.gifx"), "should end in .png"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu("rates-vs", *arguments, *ON_TOYS, *OUT)
    assert status == 2
    assert message in text
    assert place.files() == before
