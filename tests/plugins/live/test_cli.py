"""What a user of `trigemu live` sees."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_checks import Run
from commands import Place

LOST = "[[rule]]\nsimple = 40\n[[rule]]\nat_most = 3\nin = 300\n"


def test_a_run(place: Place, trigemu: Run) -> None:
    place.write("rules.toml", LOST)
    command = (
        "live",
        "menu.toml",
        "--samples",
        "catalogue.toml",
        "--rules",
        "rules.toml",
        "--seconds",
        "0.01",
    )
    status, text = trigemu(*command, "--filling", "30(48b 8e)", "--json", "r.json", "--csv", "r.csv")
    assert status == 0
    assert "1440 colliding bunches in 30 trains of up to 48" in " ".join(text.split())
    assert "simple 40" in text
    document = json.loads((place.folder / "r.json").read_text())
    assert 0 < document["live"] < 1
    shown = " ".join(text.split())
    assert "Menu 'menu'. Sample 'toy' (crossing weights): " in shown
    assert document["menu"]["name"] == "menu"
    assert trigemu("run", "menu.toml", "--samples", "catalogue.toml", "--json", "run.json")[0] == 0
    of_run = json.loads((place.folder / "run.json").read_text())["provenance"]
    assert document["provenance"] == of_run | {"prescales": None}
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["J30"]["before_hz"] > rows["J30"]["after_hz"] > 0
    assert sum(document["by_position"]["before"]) == sum(document["by_slot"]["before"])
    losses = {row["name"]: row["lost"] for row in document["losses"]}
    assert set(losses["J30"]) == {"simple 40", "3 in 300"}
    header, *lines = csv.reader(io.StringIO((place.folder / "r.csv").read_text()))
    assert header[0] == "name"
    assert [line[0] for line in lines] == ["J30", "MU", "jets", ""]
    assert trigemu(*command, "--filling", "30(48b 8e)", "--csv", "-")[1].startswith("name,")


def test_the_same_command_gives_the_same_bytes(place: Place, trigemu: Run) -> None:
    command = (
        "live",
        "menu.toml",
        "--samples",
        "catalogue.toml",
        "--rules",
        "cms",
        "--seconds",
        "0.02",
        "--json",
    )
    for name, workers in (("a.json", "1"), ("b.json", "2")):
        assert trigemu(*command, name, "--workers", workers)[0] == 0
    assert (place.folder / "a.json").read_bytes() == (place.folder / "b.json").read_bytes()


def test_columns_of_prescales(place: Place, trigemu: Run) -> None:
    place.write("p.csv", "name,one,half\nJ30,1,2\nMU,0,1\n")
    command = (
        "live",
        "menu.toml",
        "--samples",
        "catalogue.toml",
        "--seconds",
        "0.01",
        "--prescales",
        "p.csv",
    )
    names = {}
    for column in ("one", "half"):
        status, text = trigemu(*command, "--column", column, "--csv", "-", "--json", "c.json")
        assert status == 0, text
        document = json.loads((place.folder / "c.json").read_text())
        assert document["menu"]["column"] == column
        assert document["provenance"]["prescales"]["path"] == "p.csv"
        names[column] = [row["name"] for row in csv.DictReader(io.StringIO(text)) if row["kind"] == "trigger"]
    assert names == {"one": ["J30"], "half": ["J30", "MU"]}


def test_figures(place: Place, trigemu: Run) -> None:
    place.write("rules.toml", LOST)
    command = (
        "live",
        "menu.toml",
        "--samples",
        "catalogue.toml",
        "--rules",
        "rules.toml",
        "--seconds",
        "0.01",
    )
    assert trigemu(*command, "--colliding", "2544", "--figures", "drawn")[0] == 0
    drawn = {file.name for file in (place.folder / "drawn").iterdir()}
    assert drawn == {f"live_{name}.png" for name in ("orbit", "position", "causes", "distances", "curve")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--filling", "lhc"), "expected a file (.csv, .toml), a pattern"),
        (("--filling", "3565b"), "it has 3565 slots, 1 more than the 3564 of an orbit"),
        (("--filling", "10b", "--colliding", "10"), "leave --colliding out"),
        (("--rules", "lhcb"), "or one of atlas, cms"),
        (("--rules", "bad.toml"), "bad.toml:2: rule 1: rate = 0"),
        (("--rules", "all.toml"), "veto every filled slot"),
        (("--seconds", "0.001"), "at least 32 orbits"),
        (("--seconds", "nan"), "nan s of beam: expected at least 32 orbits"),
        (("--seconds", "1e300"), "1e+300 is not in the range"),
        (("--input-rate", "nan"), "nan is not a number above 0"),
        (("--pileup", "nan"), "nan"),
        (("--column", "tight"), "it has no columns of prescales"),
        (("--without", "J31"), "did you mean 'J30'?"),
        (("--input-rate", "41e6"), "that rate cannot be scaled"),
        (("--json", "menu.toml"), "menu.toml"),
    ],
)
def test_mistakes_leave_nothing(place: Place, trigemu: Run, options: tuple[str, ...], message: str) -> None:
    place.write("bad.toml", "[[rule]]\nrate = 0\nsize = 7\n")
    place.write("all.toml", "[[rule]]\ngap = [1, 3564]\n")
    before = place.files()
    status, text = trigemu("live", "menu.toml", "--samples", "catalogue.toml", *options)
    assert (status, message in " ".join(text.split())) == (2, True), text
    assert place.files() == before


def test_interactions_are_refused(place: Place, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    text = catalogue.replace('"crossing"', '"luminosity"').replace(
        "[[sample]]", "luminosity_cm2s = 1e34\n[[sample]]"
    )
    place.write("catalogue.toml", text.replace("rate_hz = 40e6", "cross_section_pb = 1e9"))
    status, text = trigemu("live", "menu.toml", "--samples", "catalogue.toml")
    assert (status, "the events are single interactions" in " ".join(text.split())) == (2, True), text
