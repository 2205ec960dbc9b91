"""Columns of prescales, in menus and in CSV, against menus that have those prescales."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from likeness import alike
from toy_menus import as_toml, brute_force, menus, words
from toys import memory_catalogue, menu_from, threshold, toy_events, trigger

from trigemu import (
    Menu,
    Profile,
    Steps,
    TrigemuError,
    binned_rates,
    column_rates,
    decisions,
    efficiencies,
    emulate,
    event_table,
    make_plan,
    rates_of,
    run,
    scan,
    score_table,
    solve_budgets,
)
from trigemu.counting.acceptance import acceptances
from trigemu.menus.prescales import at_column, at_crossing_rate, chosen_columns, read_prescales

TEXT = (
    '[menu]\nprescale_columns = ["2e34", "1e34"]\n'
    + threshold("A", "jet[0].pt", 20, "prescale = 3\nprescales = [2.5, 0]")
    + threshold("B", "met", 10, "prescale = 7")
    + trigger("R", "random", "rate_hz = 1000\nprescales = [-1, 4]")
    + threshold("HELPER", "met", 30, "enabled = false")
)
values = st.sampled_from([-1.0, 0.0, 1.0, 1.5, 2.0, 33.3])


def without_columns(result: Any) -> dict[str, Any]:
    """The numbers and warnings of a result, without those about its file or about all of its columns."""
    document: dict[str, Any] = result.to_dict()
    document["warnings"] = [text for text in document["warnings"] if "does not get the prescale" not in text]
    return {key: document[key] for key in ("menu", "triggers", "groups", "overlap", "warnings")}


def test_a_column_of_a_menu(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, TEXT)
    assert menu.columns.names == ("2e34", "1e34")
    assert [t.prescale for t in menu.triggers] == [3.0, 7.0, 40_000.0, 1.0]
    first, second = (at_column(menu, name) for name in menu.columns.names)
    assert {t.name: t.prescale for t in first.enabled} == {"A": 2.5, "B": 7.0}
    assert {t.name: t.prescale for t in second.enabled} == {"B": 7.0, "R": 160_000.0}


@settings(max_examples=20)
@given(menus(), st.integers(0, 2**32), st.data())
def test_each_column_is_a_menu_with_those_prescales(
    triggers: list[dict[str, Any]], seed: int, data: st.DataObject
) -> None:
    """From one pass: seeds, coherent sets, logic and groups as in a menu written for the column; and the
    total against an event loop in plain Python."""
    samples = {"a": toy_events(seed, 40), "b": toy_events(seed + 1, 20)}
    names = ["x", "y"]
    table = {t["name"]: [data.draw(values), data.draw(values)] for t in triggers}
    table["T0"] = [1.0, 2.0]
    for name in (name for t in triggers for name in words(t["seed"] or "") if name in table):
        table[name] = [max(1.0, value) for value in table[name]]  # off, it seeds nothing; disabled, it would
    csv = "name," + ",".join(names) + "\n"
    csv += "".join(f"{name},{','.join(map(str, row))}\n" for name, row in table.items())
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6))
        (Path(folder) / "p.csv").write_text(csv)
        both = read_prescales(menu, Path(folder) / "p.csv")
        written = [menu_from(Path(folder), as_toml(_in(triggers, table, i), 40e6)) for i in range(2)]
    catalogue = memory_catalogue(samples)
    found = column_rates(both, "all", catalogue)
    assert list(found) == names
    for number, result in enumerate(found.values()):
        assert alike(
            without_columns(result), without_columns(rates_of(emulate([written[number]], catalogue)))
        )
        expected = brute_force(samples, _in(triggers, table, number), 1.0, 40e6)
        assert result.rate.hz == pytest.approx(sum(w * f for _, w, f in expected["menu"]), rel=1e-9)


def _in(triggers: list[dict[str, Any]], table: dict[str, list[float]], i: int) -> list[dict[str, Any]]:
    """The triggers as a menu for the column would have them."""
    return [
        t | {"prescale": max(1.0, table[t["name"]][i]), "enabled": t["enabled"] and table[t["name"]][i] > 0}
        for t in triggers
    ]


def test_budgets_are_met_in_each_column(tmp_path: Path) -> None:
    """As in a menu with the prescales of the column."""
    text = (
        '[menu]\nprescale_columns = ["x"]\n'
        + threshold("A", "met", None, "total_rate_hz = 20\nprescales = [4]")
        + threshold("B", "jet[0].pt", 30, "prescales = [0]")
    )
    catalogue = memory_catalogue({"a": [event | {"weight": 1.0} for event in toy_events(3, 200)]})
    column = column_rates(menu_from(tmp_path, text), "x", catalogue)["x"]
    written = text.replace('prescale_columns = ["x"]', "").replace("prescales = [4]", "prescale = 4")
    same = run(menu_from(tmp_path, written.replace("prescales = [0]", "enabled = false")), catalogue)
    assert [t.name for t in column.triggers] == ["A"]
    assert column["A"].threshold == same["A"].threshold
    assert column["A"].total.hz == same["A"].total.hz == pytest.approx(20, abs=0.5)


def test_rates_need_a_column(tmp_path: Path) -> None:
    """The one that the menu names, one that is chosen instead of it, or a message that lists them; raw
    decisions need none."""
    catalogue = memory_catalogue({"a": toy_events(3, 100)})
    menu = menu_from(tmp_path, TEXT)
    ways: list[Callable[[Menu], object]] = [
        lambda menu: run(menu, catalogue),
        lambda menu: emulate([menu], catalogue),
        lambda menu: solve_budgets([menu], catalogue),
        lambda menu: emulate(menu, score_table(menu, catalogue, vary={"A": (10, 30), "B": (5, 30)})),
        lambda menu: scan(menu, Steps("B", (10.0, 20.0)), catalogue),
        lambda menu: binned_rates(menu, "met", (0.0, 20.0, 60.0), catalogue),
        lambda menu: event_table(menu, catalogue).arrays(),
        lambda menu: efficiencies(menu, catalogue, "a", Profile("met", (0.0, 20.0, 60.0))),
        lambda menu: acceptances(np.zeros((1, 1), np.uint64), menu, make_plan(menu).bits[0]),
    ]
    for way in ways:
        with pytest.raises(TrigemuError, match=r'column = "2e34" under .* from 2e34, 1e34$'):
            way(menu)
    for way in (decisions, score_table, make_plan):
        way(menu, catalogue) if way is not make_plan else way(menu)
    for name in menu.columns.names:
        text = TEXT.replace("[menu]", f'[menu]\ncolumn = "{name}"')
        named = menu_from(tmp_path, text)
        assert run(named, catalogue).rate == run(at_column(menu, name), catalogue).rate
        other = column_rates(named, "2e34", catalogue)["2e34"]
        assert other.rate == run(at_column(menu, "2e34"), catalogue).rate
        assert f"Prescales: those of column {name}." in str(run(named, catalogue))


def test_a_menu_names_one_of_its_columns(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"menu.toml:2: .*column = '2e33': not one of .* mean '2e34'"):
        menu_from(tmp_path, TEXT.replace("[menu]", '[menu]\ncolumn = "2e33"').lstrip())
    with pytest.raises(TrigemuError, match="column = 'x': not one of the prescale_columns; it has none"):
        menu_from(tmp_path, '[menu]\ncolumn = "x"\n[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1\n')


def read(folder: Path, csv: str) -> Menu:
    menu = menu_from(folder, TEXT)
    (folder / "p.csv").write_text(csv)
    return read_prescales(menu, folder / "p.csv")


def test_a_file_replaces_the_columns_of_the_menu(tmp_path: Path) -> None:
    """With spaces, quotes, empty lines and a byte order mark, in any order; helpers may be missing."""
    menu = read(tmp_path, '\ufeffname, 3e34 ,"1,5e34"\r\nB,2,1\r\n\r\n"R",1,-2\r\nA , 1.5,0\r\n')
    assert menu.columns.names == ("3e34", "1,5e34")
    assert menu.columns.path == tmp_path / "p.csv"
    assert [t.prescales for t in menu.triggers] == [(1.5, 0.0), (2.0, 1.0), (40_000.0, -80_000.0), ()]
    assert chosen_columns(menu, ["1,5e34", "1,5e34"]) == ("1,5e34",)
    assert chosen_columns(menu, ["1,5e34", "all"]) == ("3e34", "1,5e34")


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("", "p.csv:1: expected a header: 'name', then the names of columns"),
        ("\n", "p.csv:1: expected a header"),
        ("trigger,x\nA,1\n", "p.csv:1: expected a header"),
        ("name\nA\n", "p.csv:1: expected a header"),
        ("name,x,x\nA,1,1\nB,1,1\nR,1,1\n", "p.csv:1: two columns are called 'x'"),
        ("name,x,\nA,1,1\nB,1,1\nR,1,1\n", "p.csv:1: a column has no name"),
        ("name,all\nA,1\nB,1\nR,1\n", "p.csv:1: a column cannot be called 'all'"),
        ("name,x\nA,1\nB,1\n", r"p.csv:3: no row for trigger 'R' \(.*menu.toml:16\)"),
        (
            "name,x\n",
            r"p.csv:1: no row for triggers 'A' .*, 'R' .*: each enabled trigger needs one, with 1 if",
        ),
        ("name,x\nA,1\nC,1\nB,1\nR,1\n", "p.csv:3: the menu .*menu.toml has no trigger 'C'"),
        ("name,x\nA,1\nB,1\nR,1\nB,2\n", r"p.csv:5: trigger 'B' already has a row \(line 3\)"),
        ("name,x\nA,1\nB,1,2\nR,1\n", "p.csv:3: trigger 'B' has 2 prescales for 1 columns"),
        (
            "name,x\nA,1\nB,0.5\nR,1\n",
            "p.csv:3: trigger 'B', column 'x': 0.5 is not a prescale: expected a num",
        ),
        ("name,x\nA,1\nB,inf\nR,1\n", "p.csv:3: trigger 'B', column 'x': inf is not a prescale"),
        ("name,x\nA,1\nB,on\nR,1\n", "p.csv:3: trigger 'B', column 'x': 'on' is not a number"),
        ("name,x\nA,1\nB,nan\nR,1\n", "p.csv:3: trigger 'B', column 'x': nan is not a prescale"),
        ('name,x\nA,"1', "it is not a CSV file: unexpected end of data"),
        ('name,x\nA,"1"2\n', "it is not a CSV file: "),
        ("name,x\nA,1\nB,1\nR\0,1\n", r"has no trigger 'R\\x00'"),
        ("name,x\nA,-inf\nB,1\nR,1\n", "-inf is not a prescale"),
        ("name,x\nA,1e300\nB,1\nR,1\n", r"1e\+300 is not a prescale: .* up to 1e\+15"),
        ("Index,Name,x\n1,A,1\n2,B,1\n3,A,1\n", r"p.csv:4: trigger 'A' already has a row \(line 2\)"),
        ("Index,Name,x\n1,A,1\n2,,5\n", r"p.csv:3: a row with prescales has no name"),
        ("Index,Name,x\n1,A,1\n2\n", "p.csv:1|no row for"),
        ("name,x\nA,1\nB,1\nR,1\npileup,-4\n", "p.csv:5: pileup, column 'x': -4: expected a number above 0"),
        ("name,x\nA,1\nB,1\nR,1\npileup,much\n", "p.csv:5: pileup, column 'x': 'much' is not a number"),
    ],
)
def test_mistakes_of_a_file(tmp_path: Path, csv: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        read(tmp_path, csv)


def test_all_mistakes_of_a_file_are_told_in_the_order_of_its_lines(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError) as error:
        read(tmp_path, "name,x\nC,1\nA,0.2\nA,1\n")
    assert re.findall(r"p\.csv:(\d+)", str(error.value)) == ["2", "3", "4"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, TEXT)
    with pytest.raises(TrigemuError, match=r"cannot read .*no\.csv: No such file"):
        read_prescales(menu, tmp_path / "no.csv")
    (tmp_path / "p.csv").write_bytes(b"name,\xff\n")
    with pytest.raises(TrigemuError, match="not UTF-8 text"):
        read_prescales(menu, tmp_path / "p.csv")
    with pytest.raises(TrigemuError, match="it is not a CSV file: field larger"):
        read(tmp_path, f"name,{'x' * 200_000}\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[2.5, 0]", "[2.5]", r"menu.toml:.*trigger 'A': prescales: 1 for the 2 prescale_columns"),
        ("[2.5, 0]", "[0.5, 0]", "trigger 'A': 0.5 is not a prescale"),
        ("[2.5, 0]", "[nan, 0]", "trigger 'A': prescales = .nan, 0.: expected finite numbers"),
        ('["2e34", "1e34"]', '["x", "x"]', "two columns are called 'x'"),
        ('["2e34", "1e34"]', '["x", "all"]', "cannot be called 'all'"),
    ],
)
def test_mistakes_of_a_menu(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        menu_from(tmp_path, TEXT.replace(old, new))


def test_columns_that_are_not_there_or_have_nothing_on(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, TEXT)
    with pytest.raises(TrigemuError, match="unknown column '2e33'; did you mean '2e34'"):
        at_column(menu, "2e33")
    with pytest.raises(TrigemuError, match="it has no columns of prescales: give prescale_columns"):
        at_column(replace(menu, columns=type(menu.columns)()), "2e34")
    with pytest.raises(TrigemuError, match=r"column 'x' switches every trigger of .* off"):
        at_column(read(tmp_path, "name,x\nA,0\nB,-1\nR,0\n"), "x")
    with pytest.raises(TrigemuError, match="the prescales of column '2e34' already: choose '1e34' of"):
        at_column(at_column(menu, "2e34"), "1e34")


def test_a_table_of_cms(tmp_path: Path) -> None:
    """With a title, a number before each name, remarks, empty rows and columns, bits without a trigger, and
    what is known of each column."""
    table = (
        "L1 prescales of a menu,,,,,\n"
        "Index,Name,2p0E34,Emergency,Comment,\n"
        "0,A,2,0,like this,\n"
        ",,,,,\n"
        "7,B,1,1,,\n"
        "8,,0,0,,\n"
        "9,R,0,4,,\n"
        ",pileup,56.5,,,\n"
        ",luminosity_cm2s,2e34,0,,\n"
    )
    for delimiter in (";", "\t", ","):  # as spreadsheets export it
        menu = read(tmp_path, table.replace(",", delimiter))
        assert menu.columns.names == ("2p0E34", "Emergency")
    assert [t.prescales for t in menu.triggers] == [(2.0, 0.0), (1.0, 1.0), (0.0, 160_000.0), ()]
    assert at_column(menu, "2p0E34").columns.conditions == (56.5, 2e34)
    assert at_column(menu, "Emergency").columns.conditions == menu.columns.conditions == (0.0, 0.0)
    bits = table.replace("Index,Name", "Bit,Algo name").replace("8,,0", "8,L1_OTHER,0")
    with pytest.raises(TrigemuError, match=r"p.csv:6: .* no trigger 'L1_OTHER' .*\n--skip-missing skips"):
        read(tmp_path, bits)
    skipped = read_prescales(menu, tmp_path / "p.csv", skip_missing=True)
    assert [t.prescales for t in skipped.triggers] == [t.prescales for t in menu.triggers]
    assert skipped.columns.skipped == ("L1_OTHER",)


SETTINGS = """<?xml version='1.0' encoding='UTF-8'?>
<run-settings id="uGT">
  <context id="uGtProcessor">
    <param id="index" type="uint">2</param>
    <param id="prescales" type="table">
      <columns>algo/prescale-index,0, 1</columns>
      <types>uint,uint,uint</types>
      <rows>
        <row>3,2,0</row> <!-- A -->
        <row>B,1,1</row>
        <row>R, 0, 4</row>
      </rows>
    </param>
    <param id="finorMask" type="table"><rows><row>3,1</row></rows></param>
  </context>
</run-settings>
"""


def from_xml(folder: Path, text: str, **how: Any) -> Menu:
    menu = menu_from(folder, TEXT.replace('name = "A"', 'name = "A"\nstored = "3"'))
    (folder / "p.xml").write_text(text)
    return read_prescales(menu, folder / "p.xml", **how)


def test_run_settings_of_the_cms_global_trigger(tmp_path: Path) -> None:
    """Rows have the name of a trigger, or its bit."""
    menu = from_xml(tmp_path, SETTINGS)
    assert menu.columns.names == ("0", "1")
    assert [t.prescales for t in menu.triggers] == [(2.0, 0.0), (1.0, 1.0), (0.0, 160_000.0), ()]
    more = SETTINGS.replace("</rows>", "<row>511,0,0</row></rows>", 1)
    with pytest.raises(TrigemuError, match=r"p.xml:12: the menu .* has no trigger '511'"):
        from_xml(tmp_path, more)
    assert from_xml(tmp_path, more, skip_missing=True).columns.skipped == ("511",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<row>B,1,1", "<row>A,1,1", r"p.xml:10: trigger 'A' already has a row \(line 9\)"),
        ("<row>B,1,1", "<row>B,1", r"p.xml:10: trigger 'B' has 1 prescales for 2 columns"),
        ("<row>B,1,1", "<row>B,one,1", r"p.xml:10: trigger 'B', column '0': 'one' is not a number"),
        ("<row>B,1,1</row>", "", r"no row for trigger 'B'"),
        ('id="prescales"', 'id="other"', r'p.xml: no <param id="prescales"> with <columns> and <row>'),
        ("</context>", "", r"p.xml:16: not valid XML: mismatched tag"),
        ("<run-", '<!DOCTYPE a [<!ENTITY b "c">]><run-', r"p.xml:2: a DOCTYPE, which no prescales need"),
        ("UTF-8", "latin-99", r"p.xml: unknown encoding: latin-99; save it as UTF-8"),
    ],
)
def test_mistakes_of_run_settings(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        from_xml(tmp_path, SETTINGS.replace(old, new, 1))


@pytest.mark.parametrize("key", ["column_pileup", "column_luminosity_cm2s"])
def test_conditions_of_the_columns_of_a_menu(tmp_path: Path, key: str) -> None:
    def with_key(value: str) -> Menu:
        return menu_from(tmp_path, TEXT.replace("[menu]", f"[menu]\n{key} = {value}"))

    conditions = at_column(with_key("[0, 30]"), "1e34").columns.conditions
    assert conditions == ((30.0, 0.0) if key == "column_pileup" else (0.0, 30.0))
    with pytest.raises(TrigemuError, match=f"{key}: 1 for the 2 prescale_columns"):
        with_key("[30]")
    with pytest.raises(TrigemuError, match=f"{key}: -1: expected a number above 0, or 0 for that of samples"):
        with_key("[30, -1]")


def test_another_crossing_rate(tmp_path: Path) -> None:
    """Rates of `random` triggers stay, in each column."""
    menu = at_crossing_rate(menu_from(tmp_path, TEXT), 30e6)
    assert menu.crossing_rate_hz == 30e6
    assert [t.prescale for t in menu.triggers] == [3.0, 7.0, pytest.approx(30_000.0), 1.0]
    assert [at_column(menu, "1e34").trigger("R").prescale] == [pytest.approx(120_000.0)]
