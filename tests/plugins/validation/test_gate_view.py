"""The output of a gate, in words and in documents for other programs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from toys import memory_catalogue, menu_from, toy_events
from trigemu_validation import Drift, Gate, Tolerance
from trigemu_validation.gate_command import as_junit, as_markdown, message

from trigemu import run
from trigemu.api import MenuRates


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


def test_markdown_has_a_row_for_each_failure_and_literal_names(rates: MenuRates) -> None:
    text = as_markdown(a_gate(rates, FAILED, drift("B", "total_hz", 1.0, 1.0, accepted=True)))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert text.startswith("### trigemu gate: failed\n")
    assert len(rows) == 3
    assert rows[-1].startswith("| J\\|&lt;1\\> | total | 1 kHz | 1.1 kHz | +100 Hz | +10 | +5 |")
    assert as_markdown(a_gate(rates)).startswith("### trigemu gate: passed\n")


def test_long_tables_are_cut_and_overlaps_come_last(rates: MenuRates) -> None:
    many = [drift(f"T{i}", "overlap_hz", 1.0, 2.0) for i in range(60)]
    text = as_markdown(a_gate(rates, *many, FAILED))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "total" in rows[2]
    assert (len(rows), "… and 11 more" in text) == (52, True)


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


def test_json_has_every_number(rates: MenuRates) -> None:
    document = a_gate(rates, FAILED).to_dict()
    (result,) = document["drifts"]
    assert (document["passed"], result["difference"], result["percent"], result["sigma"]) == (
        False,
        100.0,
        10.0,
        5.0,
    )
    assert result["tolerance"] == {"percent": 1.0, "sigma": None}
