"""What a user of `trigemu live` sees."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_checks import Run
from commands import MENU, Place
from printing import text_of
from trigemu_live import report
from trigemu_pages import collect_contents
from trigemu_pages.report.sections import of_plugins

from trigemu import open_catalogue, read_menu

LIVE = ("live", "menu.toml", "--samples", "catalogue.toml")
LOST = "[[rule]]\nsimple = 40\n[[rule]]\nat_most = 3\nin = 300\n"


def test_a_run(place: Place, trigemu: Run) -> None:
    place.write("rules.toml", LOST)
    command = (*LIVE, "--rules", "rules.toml", "--seconds", "0.01", "--filling", "30(48b 8e)")
    status, text = trigemu(*command, "--json", "r.json", "--csv", "r.csv", "--figures", "drawn")
    assert status == 0
    drawn = {file.name for file in (place.folder / "drawn").iterdir()}
    assert drawn == {f"live_{name}.png" for name in ("orbit", "position", "causes", "distances", "curve")}
    assert "1440 colliding bunches in 30 trains of up to 48" in " ".join(text.split())
    assert "simple 40" in text
    document = json.loads((place.folder / "r.json").read_text())
    assert 0 < document["live"] < 1
    shown = " ".join(text.split())
    assert "Menu 'menu'. Sample 'toy' (crossing weights): " in shown
    assert document["menu"]["name"] == "menu"
    assert trigemu("run", "menu.toml", "--samples", "catalogue.toml", "--json", "run.json")[0] == 0
    of_run = json.loads((place.folder / "run.json").read_text())["provenance"]
    point = of_run["point"] | {"crossing_rate_hz": pytest.approx(1440 * 11245.5)}
    assert document["provenance"] == of_run | {"prescales": None, "point": point}
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["J30"]["before_hz"] > rows["J30"]["after_hz"] > 0
    assert sum(document["by_position"]["before"]) == sum(document["by_slot"]["before"])
    losses = {row["name"]: row["lost"] for row in document["losses"]}
    assert set(losses["J30"]) == {"simple 40", "3 in 300"}
    header, *lines = csv.reader(io.StringIO((place.folder / "r.csv").read_text()))
    assert header[0] == "name"
    assert [line[0] for line in lines] == ["J30", "MU", "jets", ""]
    assert trigemu(*command, "--csv", "-")[1].startswith("name,")


def test_columns_of_prescales(place: Place, trigemu: Run) -> None:
    place.write("p.csv", "name,one,half\nJ30,1,2\nMU,0,1\n")
    command = (*LIVE, "--seconds", "0.01", "--prescales", "p.csv")
    names = {}
    for column in ("one", "half"):
        status, text = trigemu(*command, "--column", column, "--csv", "-", "--json", "c.json")
        assert status == 0, text
        document = json.loads((place.folder / "c.json").read_text())
        assert document["menu"]["column"] == column
        assert document["provenance"]["prescales"]["path"] == "p.csv"
        names[column] = [row["name"] for row in csv.DictReader(io.StringIO(text)) if row["kind"] == "trigger"]
    assert names == {"one": ["J30"], "half": ["J30", "MU"]}


def test_mistakes_leave_nothing(place: Place, trigemu: Run) -> None:
    place.write("all.toml", "[[rule]]\ngap = [1, 3564]\n")
    before = place.files()
    for options, message in (
        (("--filling", "10b", "--colliding", "10"), "leave --colliding out"),
        (("--rules", "all.toml"), "veto every filled slot"),
        (("--seconds", "1e300"), "1e+300 is not in the range"),
        (("--input-rate", "nan"), "nan is not a number above 0"),
        (("--pileup", "nan"), "nan"),
        (("--column", "tight"), "it has no columns of prescales"),
        (("--without", "J31"), "did you mean 'J30'?"),
        (("--input-rate", "41e6"), "that rate cannot be scaled"),
        (("--json", "menu.toml"), "menu.toml"),
    ):
        status, text = trigemu(*LIVE, *options)
        assert (status, message in " ".join(text.split())) == (2, True), text
    assert place.files() == before


def test_the_section_of_a_report(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "SECONDS", 0.01)
    named = place.write("named.toml", f'[menu]\nplugins = ["live"]\n{MENU}')
    (section,) = of_plugins(collect_contents([read_menu(named)], open_catalogue("catalogue.toml")))
    assert section.title == "What is recorded"
    text = " ".join("".join(map(text_of, section.tables)).split())
    for name in ("ATLAS", "CMS", "2544 colliding bunches in 53 trains", "2544 spread evenly", "1 in 3"):
        assert name in text
