"""`trigemu run` with columns of prescales, at other pile-up and luminosity, as users give it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uproot
from project import ROOT

from trigemu import open_catalogue

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
OUT = ("--json", "out.json", "--csv", "out.csv")
CSV = "name,high,low\nJ30,2,1.5\nMU,0,4\n"
PRIMARY = str(ROOT / "menus" / "primary.toml")


def test_all_columns_of_a_file(place: Any, trigemu: Run) -> None:
    place.write("p.csv", CSV)
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--prescales", "p.csv", *OUT, "--overlap")
    assert status == 0, text
    assert max(map(len, text.splitlines())) <= 100
    assert "off" in text
    assert "Column low" in text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert [column["column"] for column in document["columns"]] == ["high", "low"]
    assert [column["off"] for column in document["columns"]] == [["MU"], []]
    assert document["provenance"]["prescales"]["path"] == "p.csv"
    menu = (place.folder / "menu.toml").read_text()
    place.write(
        "low.toml", menu.replace("prescale = 2", "prescale = 4").replace('"jets"', '"jets"\nprescale = 1.5')
    )
    trigemu("run", "low.toml", *ON_TOYS, "--json", "low.json")
    low = json.loads((place.folder / "low.json").read_text())
    assert document["columns"][1]["triggers"] == low["triggers"]
    assert document["columns"][1]["overlap"] == low["overlap"]
    assert document["samples"] == low["samples"]
    with (place.folder / "out.csv").open() as stream:
        rows = [(row["column"], row["name"]) for row in csv.DictReader(stream)]
    assert rows == [("high", "J30"), ("high", "jets"), ("high", "menu"),
                    ("low", "J30"), ("low", "MU"), ("low", "jets"), ("low", "menu")]  # fmt: skip


def test_some_columns_of_a_menu(place: Any, trigemu: Run) -> None:
    """Without any, the column that the menu names, or a message that lists them and no file."""
    menu = (
        (place.folder / "menu.toml")
        .read_text()
        .replace("prescale = 2", "prescale = 2\nprescales = [8, 2, 0]")
    )
    place.write("columns.toml", '[menu]\nname = "menu"\nprescale_columns = ["a", "b", "c"]\n' + menu)
    status, text = trigemu("run", "columns.toml", *ON_TOYS, "--column", "c", "--column", "b", *OUT)
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text())
    assert [column["column"] for column in document["columns"]] == ["c", "b"]
    assert document["provenance"]["prescales"] is None
    status, text = trigemu("run", "columns.toml", *ON_TOYS, "--json", "own.json")
    assert (status, 'write column = "a" under [menu]' in text, "from a, b, c" in text) == (2, True, True)
    assert not (place.folder / "own.json").exists()
    columns = (place.folder / "columns.toml").read_text()
    place.write("own.toml", columns.replace('name = "menu"', 'name = "menu"\ncolumn = "b"', 1))
    trigemu("run", "own.toml", *ON_TOYS, "--json", "own.json")
    trigemu("run", "menu.toml", *ON_TOYS, "--json", "plain.json")
    own, plain = (json.loads((place.folder / f"{n}.json").read_text()) for n in ("own", "plain"))
    assert own["triggers"] == plain["triggers"] == document["columns"][1]["triggers"]
    assert own["provenance"]["menu"]["column"] == "b"


def test_samples_are_a_catalogue_its_folder_or_a_file(place: Any, trigemu: Run) -> None:
    status, expected = trigemu("run", "menu.toml", *ON_TOYS)
    assert status == 0, expected
    place.write("there/catalogue.toml", (place.folder / "catalogue.toml").read_text())
    (place.folder / "there" / "all.root").write_bytes((place.folder / "all.root").read_bytes())
    assert trigemu("run", "menu.toml", "--samples", "there") == (0, expected)
    status, text = trigemu("run", "menu.toml", "--samples", "all.root")
    assert (status, "J30" in text) == (0, True), text


def test_another_pile_up(place: Any, trigemu: Run) -> None:
    status, text = trigemu("run", PRIMARY, "--pileup", "12", "--json", "out.json")
    assert status == 0, text
    result = open_catalogue().table.mean_interactions
    assert f"reweighted from µ = {result:.4g} to 12 (Poisson" in " ".join(text.split())
    conditions = json.loads((place.folder / "out.json").read_text())["provenance"]["catalogue"]
    assert conditions["luminosity_cm2s"] is None
    assert conditions["pileup"]["mean"] == 12.0
    assert 0 < conditions["pileup"]["effective_events"] < conditions["pileup"]["effective_before"]


def test_another_luminosity(place: Any, trigemu: Run) -> None:
    catalogue = (place.folder / "catalogue.toml").read_text()
    catalogue = catalogue.replace('"crossing"', '"luminosity"\nluminosity_cm2s = 1e34')
    place.write("catalogue.toml", catalogue.replace("rate_hz = 40e6", "cross_section_pb = 1e8"))
    totals = []
    for more in ((), ("--luminosity", "2e34")):
        status, text = trigemu("run", "menu.toml", *ON_TOYS, *more, "--json", "out.json")
        assert status == 0, text
        document = json.loads((place.folder / "out.json").read_text())
        totals.append(document["triggers"][0]["total_hz"])
    assert totals[1] == pytest.approx(2 * totals[0])
    assert "Luminosity: 2e+34 cm⁻² s⁻¹." in text
    assert document["provenance"]["catalogue"]["luminosity_cm2s"] == 2e34
    assert document["provenance"]["catalogue"]["pileup"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--column", "x"), "menu.toml: it has no columns of prescales"),
        (("--prescales", "no.csv"), "cannot read no.csv"),
        (("--prescales", "p.csv", "--column", "hihg"), "unknown column 'hihg'; did you mean 'high'"),
        (("--pileup", "10"), "'all' has no observable 'n_interaction'"),
        (("--pileup", "0"), "pile-up 0: expected a mean number"),
        (("--luminosity", "1e34"), "catalogue.toml: the events are crossings"),
        (("--luminosity", "0"), "luminosity 0: expected a number above 0"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    place.write("p.csv", CSV)
    before = place.files()
    status, text = trigemu("run", "menu.toml", *ON_TOYS, *arguments, *OUT)
    assert status == 2
    assert message in text
    assert place.files() == before


def test_a_file_in_place_of_a_catalogue_reports_how_its_events_count(trigemu: Run, place: Any) -> None:
    """400 events are 40 MHz, or 20 MHz where the menu says so."""
    code, out = trigemu("run", "menu.toml", "--samples", "all.root")
    text = (
        "Each of the 400 events of all.root counts as {}: a file given as --samples is taken as crossings of"
    )
    assert code == 0
    assert text.format("100 kHz") in " ".join(out.split())
    menu = (place.folder / "menu.toml").read_text()
    place.write("half.toml", "[menu]\ncrossing_rate_hz = 20e6\n" + menu)
    assert text.format("50 kHz") in " ".join(trigemu("run", "half.toml", "--samples", "all.root")[1].split())
    assert "counts as" not in trigemu("run", "menu.toml", *ON_TOYS)[1]


TAU = '[[trigger]]\nname = "TAU"\nkind = "threshold"\nobservable = "tau[0].pt"\nabove = 9\n'


@pytest.mark.parametrize("command", [("run", "more.toml"), ("compare", "more.toml", "menu.toml")])
def test_triggers_that_the_samples_cannot_feed(place: Any, trigemu: Run, command: tuple[str, ...]) -> None:
    place.write("more.toml", (place.folder / "menu.toml").read_text() + TAU)
    status, text = trigemu(*command, "--samples", "catalogue.toml", "--json", "out.json")
    assert status == 2
    assert "trigger 'TAU': sample 'all' has no collection 'tau'" in text
    assert text.splitlines()[-1] == "trigemu: --skip-missing leaves these triggers out"
    assert not Path("out.json").exists()
    status, text = trigemu(*command, "--samples", "catalogue.toml", "--json", "out.json", "--skip-missing")
    assert (status, "1 of 3 triggers, since the samples lack" in " ".join(text.split())) == (0, True)
    document = json.loads(Path("out.json").read_text())
    more = document["variants"][0] if "variants" in document else document
    assert more["menu"]["left_out"] == [{"name": "TAU", "missing": "tau"}]
    assert [t["name"] for t in more["triggers"]] == ["J30", "MU"]


def test_a_tree_by_its_name(place: Any, trigemu: Run) -> None:
    with uproot.open("all.root") as old, uproot.recreate("two.root") as new:
        branches = old["Events"].arrays(["Jet_pt", "MET_pt"], entry_stop=300)
        columns = {"jet_pt": branches.Jet_pt, "met": branches.MET_pt}
        for name, stop in (("a/tree", 300), ("b/tree", 100)):
            new.mktree(name, {"jet_pt": "var * float32", "met": "float32"})
            new[name].extend({key: values[:stop] for key, values in columns.items()})
    place.write(
        "jets.toml", '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 30\n'
    )
    status, text = trigemu("run", "jets.toml", "--samples", "two.root")
    assert (status, "choose one with --tree NAME" in text) == (2, True)
    arguments = ("jets.toml", "--samples", "two.root", "--tree", "b/tree")
    assert trigemu("check-menu", *arguments)[0] == 0
    assert trigemu("run", *arguments, "--json", "out.json")[0] == 0
    passed = sum(max(pt, default=0.0) > 30 for pt in columns["jet_pt"][:100].tolist())
    assert json.loads(Path("out.json").read_text())["triggers"][0]["total_events"] == passed > 0
