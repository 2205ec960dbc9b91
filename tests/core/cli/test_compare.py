"""`trigemu compare` as users give it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trigemu as package
from trigemu.studies import compare

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
OUT = ("--json", "out.json", "--csv", "out.csv")


@pytest.fixture
def variants(place: Any) -> tuple[str, ...]:
    """menu.toml, one with another threshold, one with a trigger more and one less, one that is the same."""
    text = (place.folder / "menu.toml").read_text()
    place.write("hard.toml", text.replace("above = 30.0", "above = 35.0"))
    place.write("other.toml", text.replace('"MU"', '"MUON"').replace("10.0", "12.0"))
    place.write("same.toml", text)
    return ("menu.toml", "hard.toml", "other.toml", "same.toml")


def expected(names: tuple[str, ...]) -> Any:
    menus = [package.read_menu(name) for name in names]
    return compare(package.emulate(menus, package.open_catalogue(Path("catalogue.toml"))))


def test_it_prints_and_writes_the_same_numbers(place: Any, trigemu: Run, variants: tuple[str, ...]) -> None:
    status, text = trigemu("compare", *variants, *ON_TOYS, *OUT)
    assert status == 0, text
    result = expected(variants)
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert list(document)[:3] == ["variants", "differences", "gained"]
    for name in variants:
        trigemu("run", name, *ON_TOYS, "--json", "run.json")
        single = json.loads((place.folder / "run.json").read_text())
        (own,) = (v for v in document["variants"] if v["menu"]["name"] == single["menu"]["name"])
        assert own == single
    keys = ["a", "b", "what", "quantity", "b_minus_a_hz", "error_hz"]
    assert all(list(row) == keys for row in document["differences"])
    assert {row["quantity"] for row in document["differences"]} == {"rate_hz", "total_hz", "unique_hz"}
    assert [list(row.values()) for row in document["differences"]] == [
        [getattr(d, key) for key in keys] for d in result.differences
    ]
    assert all(list(row) == ["a", "b", "hz", "error_hz"] for row in document["gained"])
    assert [row["hz"] for row in document["gained"]] == [gain.hz for gain in result.gained]
    assert len(document["gained"]) == 4 * 3
    for matrix in document["common"]:
        assert len(matrix["hz"]) == len(matrix["error_hz"]) == len(matrix["triggers_a"])
        assert all(len(row) == len(matrix["triggers_b"]) for row in (*matrix["hz"], *matrix["error_hz"]))
    with (place.folder / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    differences = [float(row["hz"]) for row in rows if row["kind"] == "b_minus_a"]
    assert differences == [d.b_minus_a_hz for d in result.differences]
    for word in ("above: 30 → 35", "only in other", "only in menu", "MUON", "gained", "kHz", "in both"):
        assert word in text


def test_variants_that_are_the_same_differ_by_nothing(
    place: Any, trigemu: Run, variants: tuple[str, ...]
) -> None:
    status, text = trigemu("compare", "menu.toml", "same.toml", *ON_TOYS, *OUT)
    assert status == 0
    document = json.loads((place.folder / "out.json").read_text())
    assert {(row["b_minus_a_hz"], row["error_hz"]) for row in document["differences"]} == {(0.0, 0.0)}
    assert {(row["hz"], row["error_hz"]) for row in document["gained"]} == {(0.0, 0.0)}
    assert document["changes"] == []
    assert ["menu", "same", "0", "0", "0"] in [line.split() for line in text.splitlines()]


def test_tables_fit_100_columns(place: Any, trigemu: Run) -> None:
    """Also with names and numbers that are long; no number is cut."""
    long = "HLT_2mu6_bDimu_and_one_more_thing_that_makes_the_name_of_a_trigger_long_L1_2MU4"
    for name in ("a_rather_long_name_of_a_menu", "another_rather_long_name_of_a_menu"):
        text = (place.folder / "menu.toml").read_text().replace('"MU"', f'"{long}"')
        place.write(f"{name}.toml", text.replace("above = 30.0", f"above = {len(name)}.0"))
    names = [f"{file.name}" for file in place.folder.glob("a*_rather*.toml")]
    status, text = trigemu("compare", *names, *ON_TOYS)
    assert status == 0
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    assert text.count("kHz") + text.count("MHz") >= 10


def test_a_copy_of_a_menu_goes_by_its_file(place: Any, trigemu: Run) -> None:
    text = '[menu]\nname = "mine"\n' + (place.folder / "menu.toml").read_text()
    for name in ("menu.toml", "copies/menu.toml"):
        place.write(name, text)
    place.write("tighter.toml", text.replace("above = 30.0", "above = 35.0"))
    names = {
        ("menu.toml", "tighter.toml"): ["menu", "tighter"],
        ("menu.toml", "copies/menu.toml", "tighter.toml"): ["menu (1)", "menu (2)", "tighter"],
    }
    for inputs, expected_names in names.items():
        status, text = trigemu("compare", *inputs, *ON_TOYS, "--json", "out.json")
        assert status == 0, text
        document = json.loads((place.folder / "out.json").read_text())
        assert [variant["menu"]["name"] for variant in document["variants"]] == expected_names
    differences = [d for d in document["differences"] if (d["a"], d["what"]) == ("menu (1)", "J30")]
    signs = {d["b"]: d["b_minus_a_hz"] for d in differences}
    assert signs["menu (2)"] == 0 > signs["tighter"]


def test_workers_change_nothing(place: Any, trigemu: Run, variants: tuple[str, ...]) -> None:
    for workers in ("1", "2"):
        assert trigemu("compare", *variants, *ON_TOYS, *OUT, "--workers", workers)[0] == 0
        (place.folder / "out.json").rename(place.folder / f"{workers}.json")
    assert (place.folder / "1.json").read_text() == (place.folder / "2.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("menu.toml",), "menu.toml: a comparison needs at least two menus"),
        (("menu.toml", "nowhere.toml"), "nowhere.toml: cannot read"),
        (("menu.toml", "tau.toml"), "tau.toml:2: trigger 'J30': sample 'all' has no collection 'tau'"),
        (("menu.toml", "hard.toml", "--json", "nowhere/out.json"), "there is no folder nowhere"),
        (
            ("menu.toml", "hard.toml", "--prescales", "p.csv"),
            "p.csv has columns of prescales, and rates need one of them: choose with --column",
        ),
        ((), "Missing argument"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, variants: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    place.write("tau.toml", (place.folder / "menu.toml").read_text().replace("jet[0]", "tau[0]"))
    place.write("p.csv", "name,high,low\nJ30,2,1\nMU,1,1\n")
    before = place.files()
    out = OUT if "--json" not in arguments else OUT[2:]
    status, text = trigemu("compare", *arguments, *ON_TOYS, *out)
    assert status == 2
    assert message in text
    assert place.files() == before
