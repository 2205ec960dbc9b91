"""The working point: the same options for every command that runs menus, in what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from toys import CATALOGUE, threshold, toy_events, write_root

from trigemu import read_menu

Run = Callable[..., tuple[int, str]]
COLUMNS = (
    '[menu]\nprescale_columns = ["high", "low"]\n'
    + threshold("J30", "jet[0].pt", 30.0, "prescales = [4, 1]")
    + threshold("MET", "met", 20.0, "prescales = [1, 0]")
)
ON = ("--samples", "catalogue.toml")
QUICK = ("--replicas", "0", "--caps", "0")
FILL = "[fill]\nhours = 1\npileup = 3.5\nhalf_life_hours = 20\n"
SIGNAL = '[[sample]]\nname = "sig"\nrole = "signal"\nfiles = ["sig.root"]\n'
GOALS = """
[goals]
rate_hz = 10e6

[[vary]]
triggers = ["J30"]
above = "free"

[[channel]]
sample = "sig"
"""
#: Every command that runs a menu; most of them are of plugins.
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("menu.toml",),
    "compare": ("menu.toml", "menu.toml"),
    "scan": ("menu.toml", "--trigger", "J30", "--values", "30,40"),
    "rates-vs": ("met", "menu.toml", "--bins", "0,20,1000"),
    "efficiency": ("menu.toml", "--sample", "all", "--observable", "met", "--bins", "0,1000"),
    "events": ("menu.toml", "-o", "events.parquet"),
    "explore": ("menu.toml", "-o", "page.html"),
    "report": ("menu.toml", "-o", "page.html"),
    "gate": ("menu.toml", "menu.toml"),
    "bench": ("menu.toml", "--events", "200", "--seconds", "0.1"),
    "live": ("menu.toml", "--seconds", "0.2"),
    "fill": ("menu.toml", "fill.toml"),
    "optimise": ("menu.toml", "goals.toml", "-o", "new.toml", "--starts", "1", "--hops", "0", *QUICK),
}
WITH_JSON = ("run", "scan", "rates-vs", "efficiency", "gate", "bench", "live", "fill", "optimise")


@pytest.fixture
def columns(place: Any) -> Any:
    numbered = enumerate(toy_events(17, 400))
    events = [event | {"n_interaction": number % 8, "weight": 1.0} for number, event in numbered]
    write_root(place.folder / "all.root", events)
    write_root(place.folder / "sig.root", events[:50])
    place.write("menu.toml", COLUMNS)
    place.write("catalogue.toml", CATALOGUE + SIGNAL)
    place.write("fill.toml", FILL)
    place.write("goals.toml", GOALS)
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_a_menu_with_columns_needs_one(columns: Any, trigemu: Run, command: str) -> None:
    """None of them runs it unprescaled."""
    status, text = trigemu(command, *COMMANDS[command], *ON)
    assert status == 2
    of_fill = "high, low: choose one or several with [[column]] in fill.toml, or one with --column"
    of_rates = 'rates need one of them: write column = "high" under [menu], or choose with --column'
    assert (of_fill if command == "fill" else of_rates) in text
    status, text = trigemu(command, *COMMANDS[command], *ON, "--column", "hig")
    assert status == 2
    assert "unknown column 'hig'; did you mean 'high'" in text


@pytest.mark.parametrize(
    ("command", "named"), [*((command, False) for command in WITH_JSON), ("run", True), ("live", True)]
)
def test_documents_say_where_a_menu_was_run(columns: Any, trigemu: Run, command: str, named: bool) -> None:
    """named: whether the menu names its column."""
    if named:
        columns.write("menu.toml", COLUMNS.replace("[menu]", '[menu]\ncolumn = "low"'))
    options = (*(() if named else ("--column", "low")), "--crossing-rate", "30e6", "--errors", "events")
    status, text = trigemu(command, *COMMANDS[command], *ON, *options, "--json", "out.json")
    assert status == 0, text
    found = points(json.loads((columns.folder / "out.json").read_text()))
    menus = {"old", "new"} if command == "gate" else {"menu"}
    assert {point.pop("menu") for point in found} == menus
    assert (
        found[0]
        == found[-1]
        == {
            "column": "low",
            "crossing_rate_hz": 30e6,
            "pileup": None,
            "luminosity_cm2s": None,
            "samples": "toy",
            "errors": "events",
        }
    )


def points(document: Any) -> list[Any]:
    """The different working points in a document."""
    found: list[Any] = []
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found += [part["point"]] if "point" in part and part["point"] not in found else []
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return found


def test_one_table_with_each_column_at_its_own_pileup(columns: Any, trigemu: Run) -> None:
    columns.write("menu.toml", COLUMNS.replace("[menu]", "[menu]\ncolumn_pileup = [2.5, 2]"))
    status, text = trigemu("run", "menu.toml", *ON, "--column", "all", "--json", "a.json", "--csv", "a.csv")
    assert status == 0, text
    assert "µ = 2.5 interactions" in text
    assert "µ = 2 interactions" in text
    document = json.loads((columns.folder / "a.json").read_text())
    assert [(c["column"], c["point"]["pileup"]) for c in document["columns"]] == [("high", 2.5), ("low", 2.0)]
    lines = [line.split(",") for line in (columns.folder / "a.csv").read_text().splitlines()]
    for column, mean in (("high", "2.5"), ("low", "2")):
        alone = ("--column", column, "--pileup", mean, "--json", "b.json")
        status, text = trigemu("run", "menu.toml", *ON, *alone)
        assert (status, f"to {mean} (Poisson" in " ".join(text.split())) == (0, True)
        alone_document = json.loads((columns.folder / "b.json").read_text())
        assert alone_document["provenance"]["catalogue"]["pileup"]["mean"] == float(mean)
        (own,) = alone_document["columns"]
        (of_all,) = (c for c in document["columns"] if c["column"] == column)
        assert own == of_all
        (total,) = (line for line in lines if line[0] == column and line[4] == "menu")
        assert float(total[lines[0].index("total_hz")]) == own["menu"]["rate_hz"]


def test_a_column_with_every_trigger_off(columns: Any, trigemu: Run) -> None:
    """Tables of CMS have one. It has no rates, and the others have theirs."""
    columns.write("p.csv", "Index,Name,Emergency,x,y\n1,J30,0,2,4\n3,MET,0,0,1\n")
    status, text = trigemu("run", "menu.toml", *ON, "--prescales", "p.csv", "--json", "out.json")
    assert (status, "trigemu: Emergency: every trigger is off there" in text) == (0, True), text
    document = json.loads((columns.folder / "out.json").read_text())
    assert [column["column"] for column in document["columns"]] == ["x", "y"]
    status, text = trigemu("run", "menu.toml", *ON, "--prescales", "p.csv", "--column", "Emergency")
    assert (status, "column 'Emergency' switches every trigger of menu.toml off" in text) == (2, True)


def test_samples_as_they_are(columns: Any, trigemu: Run) -> None:
    """A pile-up of 0, for a column that has its own."""
    columns.write("menu.toml", COLUMNS.replace("[menu]", "[menu]\ncolumn_pileup = [2.5, 2]"))
    status, text = trigemu("run", "menu.toml", *ON, "--column", "high")
    assert (status, "µ = 2.5 interactions" in text) == (0, True)
    status, text = trigemu("run", "menu.toml", *ON, "--column", "high", "--pileup", "0")
    assert (status, "µ" in text) == (0, False)
    status, text = trigemu("explore", *COMMANDS["explore"], *ON, "--column", "high")
    assert (status, "make it from the samples as they are (--pileup 0)" in " ".join(text.split())) == (
        2,
        True,
    )
    assert trigemu("explore", *COMMANDS["explore"], *ON, "--column", "high", "--pileup", "0")[0] == 0


def test_options_that_exclude_each_other(columns: Any, trigemu: Run) -> None:
    status, text = trigemu("compare", *COMMANDS["compare"], *ON, "--column", "all")
    assert (status, "expected one column; trigemu run takes several" in text) == (2, True)
    status, text = trigemu("run", "menu.toml", *ON, "--pileup", "3", "--luminosity", "1e34")
    assert (status, "--luminosity for samples of interactions: give one" in text) == (2, True)


def test_rows_of_a_table_without_a_trigger(columns: Any, trigemu: Run) -> None:
    columns.write("p.csv", "Index,Name,x\n1,J30,2\n2,L1_OTHER,1\n3,MET,0\n")
    for command in ("run", "scan"):
        given = (command, *COMMANDS[command], *ON, "--prescales", "p.csv", "--column", "x")
        status, text = trigemu(*given)
        assert (status, "p.csv:3: the menu menu.toml has no trigger 'L1_OTHER'" in text) == (2, True)
        assert "--skip-missing skips rows" in text
        status, text = trigemu(*given, "--skip-missing")
        assert (status, "skipped rows without a trigger in menu.toml: L1_OTHER" in text) == (0, True), text


def test_an_optimised_menu_has_the_prescales_of_a_file(columns: Any, trigemu: Run) -> None:
    """Which it would not have without the file."""
    columns.write("p.csv", "name,x\nJ30,2.5\nMET,0\n")
    status, text = trigemu("optimise", *COMMANDS["optimise"], *ON, "--prescales", "p.csv", "--column", "x")
    assert status == 0, text
    menu = read_menu(columns.folder / "new.toml")
    assert menu.columns.names == ()
    assert [(t.name, t.prescale, t.enabled) for t in menu.triggers] == [
        ("J30", 2.5, True),
        ("MET", 1.0, False),
    ]
