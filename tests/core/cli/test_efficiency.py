"""`trigemu efficiency` as users give it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., tuple[int, str]]
OUT = ("--json", "out.json", "--csv", "out.csv")
ON_TOYS = ("--samples", "catalogue.toml")
SIGNAL = '\n[[sample]]\nname = "yy"\nrole = "signal"\nfiles = ["all.root"]\nrequire = "met > 1"\n'
ASKED = ("--sample", "yy", "--observable", "jet[0].pt", "--bins", "0:80:20")
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
def more(place: Any) -> None:
    place.write("catalogue.toml", (place.folder / "catalogue.toml").read_text() + SIGNAL)
    place.write("soft.toml", (place.folder / "menu.toml").read_text().replace("30.0", "20.0"))
    place.write("profile.toml", PROFILE)


def test_it_prints_and_writes_the_same_numbers(place: Any, trigemu: Run) -> None:
    categories = ("--category", "n_jet > 0", "--category", "n_jet > 2")
    more = ("--trigger", "MU", "--figures", "figures")
    status, text = trigemu("efficiency", "menu.toml", "soft.toml", *ASKED, *categories, *more, *ON_TOYS, *OUT)
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert document["require"] == "met > 1"
    assert [turnon["category"] for turnon in document["turnons"]] == ["n_jet > 0", "n_jet > 2"]
    turnon = document["turnons"][0]
    assert [(c["menu"], c["trigger"]) for c in turnon["curves"]] == [
        ("menu", None), ("menu", "MU"), ("soft", None), ("soft", "MU")
    ]  # fmt: skip
    for curve in turnon["curves"]:
        assert all(len(curve[key]) == 4 for key in ("efficiency", "low", "high", "gain", "gain_error"))
        for low, value, high in zip(curve["low"], curve["efficiency"], curve["high"], strict=True):
            assert low <= value <= high
    assert turnon["curves"][2]["efficiency"][2] == 1.0
    for value in (turnon["curves"][0]["overall"]["efficiency"], turnon["curves"][2]["efficiency"][1]):
        assert f"{100 * value:.2f}" in text
    with (place.folder / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["efficiency"]) for row in rows[:4]] == turnon["curves"][0]["efficiency"]
    assert len(rows) == 2 * 4 * 5
    drawn = [file for file in place.files() if file.startswith("figures")]
    assert len(drawn) == 2
    assert all(f"{file}\n" in text for file in drawn)
    assert max(len(line) for line in text.splitlines() if ".png" not in line) <= 100


def test_a_file_of_profiles(place: Any, trigemu: Run) -> None:
    requested = ("efficiency", "--profile", "profile.toml", "--figures", "a/b")
    status, text = trigemu(*requested, *ON_TOYS, *OUT)
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert [t["labels"] for t in document["turnons"]] == [
        ["leading/jet pT", "no jet"], ["leading/jet pT", "n_jet > 0"], ["met", "no jet"], ["met", "n_jet > 0"]
    ]  # fmt: skip
    assert document["turnons"][0]["curves"][0]["efficiency"] == [None] * 4
    assert "jet[0].pt has no value within its bins where n_jet == 0" in text
    drawn = {file for file in place.files() if file.startswith("a")} - {"all.root"}
    assert "a/b/leading_jet_pT_n_jet_0.png" in drawn
    assert len(drawn) == 3
    status, text = trigemu(
        "efficiency", "soft.toml", "--profile", "profile.toml", "--require", "", *ON_TOYS, *OUT
    )
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text())
    assert {c["menu"] for t in document["turnons"] for c in t["curves"]} == {"soft"}
    assert document["require"] == ""


def test_bins_for_each_observable_or_for_all(place: Any, trigemu: Run) -> None:
    both = ("--sample", "yy", "--observable", "met", "--observable", "jet[0].pt")
    for bins, edges in ((("0:50:25",), [3, 3]), (("0:50:25", "0,10,20,90"), [3, 4])):
        requested = [part for text in bins for part in ("--bins", text)]
        assert trigemu("efficiency", "menu.toml", *both, *requested, *ON_TOYS, *OUT)[0] == 0
        document = json.loads((place.folder / "out.json").read_text())
        assert [len(turnon["edges"]) for turnon in document["turnons"]] == edges


def test_tables_fit_100_columns(place: Any, trigemu: Run) -> None:
    long = "a_name_of_a_menu_as_long_as_nobody_would_ever_give_it_to_one"
    place.write(f"{long}.toml", (place.folder / "soft.toml").read_text().replace("J30", f"J_{long}"))
    requested = (
        "--trigger",
        f"J_{long}",
        "--category",
        "n_jet > 0 and n_jet < 100 and met > -1 and met < 1e9",
    )
    status, text = trigemu("efficiency", f"{long}.toml", "menu.toml", *ASKED, *requested, *ON_TOYS)
    assert status == 0, text
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("menu.toml",), "expected at least a MENU, --sample, --observable and --bins, or a --profile"),
        (ASKED, "expected at least a MENU, --sample, --observable and --bins, or a --profile"),
        (("menu.toml", *ASKED[:4]), "1 --observable and 0 --bins: each needs its bins"),
        (("menu.toml", *ASKED, "--bins", "1:2:1"), "1 --observable and 2 --bins: each needs its bins"),
        (("menu.toml", *ASKED[:5], "5"), "bins '5': expected at least two ascending edges"),
        (("menu.toml", "--sample", "y", *ASKED[2:]), "unknown sample 'y'; did you mean"),
        (("menu.toml", *ASKED, "--trigger", "J3"), "no menu has an enabled trigger 'J3'"),
        (("menu.toml", *ASKED, "--category", "n_jet >"), "'n_jet >': "),
        (("menu.toml", *ASKED, "--category", "n_jet > 99"), "no event is in the category 'n_jet > 99'"),
        (("--profile", "nowhere.toml"), "nowhere.toml: cannot read"),
        (("--profile", "menu.toml"), "menu.toml:2: this is a menu, not a set of efficiency profiles"),
        (("--profile", "profile.toml", *ASKED), "a --profile defines its own observables and categories"),
        (("menu.toml", *ASKED, "--figures", "menu.toml"), "Directory 'menu.toml' is a file"),
        (("menu.toml", *ASKED, "--figures", "menu.toml/a"), "cannot write"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu("efficiency", *arguments, *ON_TOYS, *OUT)
    assert status == 2
    assert message in text
    assert place.files() == before
