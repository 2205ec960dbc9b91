"""`trigemu gate`: its tolerances, what a user sees, and the documents for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from toys import memory_catalogue, menu_from, toy_events
from trigemu_validation import Drift, Gate, Tolerance, read_tolerances
from trigemu_validation.gate_command import as_junit, message

from trigemu import run
from trigemu.api import MenuRates
from trigemu.base.toml import TableError

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(place: Any) -> Path:
    text = (place.folder / "menu.toml").read_text()
    for name, pt in (("old.toml", "30.0"), ("new.toml", "40.0")):
        place.write(name, text.replace("30.0", pt))
    return Path(place.folder)


@pytest.fixture
def gate(folder: Path, trigemu: Command) -> Command:
    return lambda *arguments: trigemu("gate", "old.toml", *arguments, "--samples", "catalogue.toml")


def test_a_threshold_that_moved_fails(folder: Path, gate: Command) -> None:
    status, text = gate("new.toml", "--json", "g.json", "--junit", "g.xml")
    assert (status, "8 quantities compared, 6 changed, 6 by more" in " ".join(text.split())) == (1, True)
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith("J30 ")]
    assert rows[:2] == [["J30", "total"], ["J30", "unique"]]
    assert json.loads((folder / "g.json").read_text())["passed"] is False
    assert ElementTree.parse(folder / "g.xml").getroot().get("failures") == "6"


@pytest.mark.parametrize(
    ("text", "option", "message"),
    [
        ("[default]\npercnt = 1", "g.json", "t.toml:2: unknown key 'percnt'; did you mean 'percent'?"),
        ("[trigger.J10]", "g.json", "[trigger.J10]: no menu has such a trigger; did you mean 'J30'?"),
        ("", "new.toml", "new.toml"),
    ],
)
def test_mistakes_leave_nothing(folder: Path, gate: Command, text: str, option: str, message: str) -> None:
    (folder / "t.toml").write_text(text)
    before = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    status, output = gate("new.toml", "--tolerances", "t.toml", "--json", option)
    assert (status, message in output) == (2, True)
    assert {file: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> MenuRates:
    text = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "met"\nabove = 20.0\n'
    menu = menu_from(tmp_path_factory.mktemp("menu"), text)
    return run(menu, memory_catalogue({"a": toy_events(1, 20)}))


def drift(
    name: str, quantity: str, old: float, new: float, error: float = 0.0, accepted: bool = False
) -> Drift:
    return Drift((name,), quantity, old, new, error, Tolerance(percent=1.0), accepted)


def a_gate(rates: MenuRates, *drifts: Drift) -> Gate:
    return Gate(rates.menu, rates.menu, (rates, rates), drifts, 3)


FAILED = drift("J|<1>", "total_hz", 1000.0, 1100.0, 20.0)


def test_a_failure_names_trigger_quantity_and_by_how_much() -> None:
    assert message(FAILED) == "J|<1>, total: 1 kHz → 1.1 kHz, +100 Hz (+10 %, +5 σ); allowed: 1 %"
    assert message(drift("A", "differ_from_stored", 2, 5)) == (
        "A, differ from stored: 2 → 5, +3 (+150 %); allowed: 1 %"
    )
    assert message(drift("A", "unique_hz", 0.0, 5.0, 1.0)) == (
        "A, unique: 0 Hz → 5 Hz, +5 Hz (+inf %, +5 σ); allowed: 1 %"
    )
    assert message(drift("A", "added", 0.0, 1.0)) == "A is only in the new menu"
    assert message(drift("A", "removed", 1.0, 0.0)) == "A is only in the old menu"


def test_long_tables_are_cut_and_overlaps_come_last(rates: MenuRates) -> None:
    many = [drift(f"T{i}", "overlap_hz", 1.0, 2.0) for i in range(60)]
    lines = str(a_gate(rates, *many, FAILED)).splitlines()
    assert "total" in lines[1]
    assert (lines.index(""), "… and 11 more" in lines[52]) == (51, True)


def test_junit_is_read_by_an_xml_parser(rates: MenuRates) -> None:
    junk = drift('A"&<\x1b\ufffe', "added", 0.0, 1.0)
    suite = ElementTree.fromstring(
        as_junit(a_gate(rates, FAILED, junk, drift("B", "total_hz", 1.0, 1.0, accepted=True)))
    )
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures"), len(cases)) == ("4", "2", 4)
    assert [case.get("classname") for case in cases] == ["J|<1>", 'A"&<\\x1b\\ufffe', "B", "overlaps"]
    assert [len(case.findall("failure")) for case in cases] == [1, 1, 0, 0]
    assert cases[0].findall("failure")[0].get("message") == message(FAILED)


def write(folder: Path, text: str) -> Path:
    file = folder / "tolerances.toml"
    file.write_text(text)
    return file


def test_the_narrowest_table_with_a_limit_holds(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
[default]
percent = 1
removed = true
[quantity.unique_hz]
sigma = 3
[trigger.A]
percent = 10
[trigger.B]
percent = 2
sigma = 5
[trigger.C]
added = true
""",
    )
    read = read_tolerances(file)

    def limits(names: tuple[str, ...], quantity: str) -> str:
        return str(read.of(names, quantity))

    assert limits((), "rate_hz") == limits(("D",), "total_hz") == limits(("C",), "total_hz") == "1 %"
    assert limits(("D",), "unique_hz") == limits(("C",), "unique_hz") == "3 σ"
    assert limits(("A",), "unique_hz") == "10 %"
    assert limits(("A", "B"), "overlap_hz") == "10 % or 5 σ"
    assert limits(("B", "C"), "overlap_hz") == "2 % or 5 σ"
    assert (read.allows("D", "removed"), read.allows("D", "added")) == (True, False)
    assert (read.allows("C", "removed"), read.allows("C", "added")) == (False, True)
    assert str(read_tolerances(write(tmp_path, "")).of((), "rate_hz")) == "none"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defalt]", r":1: unknown key 'defalt'; did you mean 'default'"),
        ("[default]\npercnt = 1", r":2: unknown key 'percnt'; did you mean 'percent'"),
        ("[default]\npercent = -1", r":2: default.percent = -1: expected a number >= 0"),
        ("[default]\nsigma = nan", r":2: default.sigma = nan: expected a finite number"),
        ("[quantity.rate]", r":1: unknown quantity 'rate'"),
        ("quantity = 3", r":1: quantity = 3: expected a table"),
        ("[quantity.rate_hz]\nadded = true", r":2: unknown key 'added'"),
        ("[trigger]\nA = 3", r":2: trigger.A = 3: expected a table"),
        ("x = ", r":1: not valid TOML"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_tolerances(write(tmp_path, text))
