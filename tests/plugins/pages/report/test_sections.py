"""The summary, tables and references say what the results hold."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from toys import memory_catalogue, toy_events
from trigemu_pages import collect_contents, sections
from trigemu_pages.html import table_html
from trigemu_pages.report import pictures, tables
from trigemu_pages.report.sections import all_are_drawn, summary
from trigemu_pages.report.tables import beside_references
from trigemu_pages.report_contents import parse_scan

from trigemu import Steps, TrigemuError, read_menu
from trigemu.api import Contents, Table, numbers
from trigemu.base.shown import view_of
from trigemu.results.rates import overlap_page
from trigemu.results.terminal import text_of
from trigemu.studies.efficiency_profiles import ProfileSet, Reference

HEAD = '[menu]\nname = "{}"\n'
J30 = '[[trigger]]\nname = "J30"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {}\ngroup = "jets"\n'
MU = (
    '[[trigger]]\nname = "MU"\nkind = "combination"\nlegs = [{ object = "muon", pt = { min = 10.0 } }]\n'
    "prescale = 2\n"
)
NEVER = '[[trigger]]\nname = "NEVER"\nkind = "threshold"\nobservable = "met"\nabove = 1e6\n'
JET = '[[trigger]]\nname = "J{0}"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {0}\n'
MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = {}\n'


def contents(folder: Path, *texts: str, **others: Any) -> Contents:
    menus = []
    for number, text in enumerate(texts):
        file = folder / f"menu{number}.toml"
        file.write_text(text)
        menus.append(read_menu(file))
    return collect_contents(menus, memory_catalogue({"a": toy_events(1, 300)}), **others)


def named(folder: Path, *texts: str) -> Contents:
    """The contents of menus m0, m1 …"""
    return contents(folder, *(HEAD.format(f"m{number}") + text for number, text in enumerate(texts)))


@pytest.fixture
def two(tmp_path: Path) -> Contents:
    return contents(
        tmp_path, HEAD.format("one") + J30.format(30.0) + MU, HEAD.format("two") + J30.format(40.0)
    )


def cells(table: Table) -> list[list[str]]:
    return [[text_of(column, row.values.get(column.name)) for column in table.columns] for row in table.rows]


def heads(table: Table) -> list[str | None]:
    return [column.heading for column in table.columns]


def test_the_menus(two: Contents) -> None:
    table = tables.menus(two)
    assert heads(table) == ["menu", "triggers", "rate", "events (N_eff)", "less one"]
    first, second = cells(table)
    assert (first[0], first[4], second[0], second[1]) == ("one", "–", "two", "1")
    assert two.comparison
    (change,) = (d for d in two.comparison.differences if d.what == "menu")
    assert second[4] == numbers.signed(change.b_minus_a_hz, change.error_hz)


def test_equal_definitions_appear_once(two: Contents) -> None:
    table = tables.definitions(two.variants)
    jet, muon = cells(table)
    assert (jet[0], muon[0]) == ("J30", "MU")
    assert heads(table)[-2:] == ["in one", "in two"]
    assert jet[-2:] == ["30 GeV", "40 GeV"]
    assert muon[-2:] == ["yes", "–"]
    assert muon[2] == "legs = [{ object = muon, pt = { min = 10 } }]"  # without defaults


def test_definitions_of_one_trigger_follow_each_other(tmp_path: Path) -> None:
    changed = MU.replace("10.0", "12.0")
    both = contents(
        tmp_path, HEAD.format("one") + MU + J30.format(30.0), HEAD.format("two") + changed + J30.format(30.0)
    )
    rows = cells(tables.definitions(both.variants))
    assert [(row[0], *row[-2:]) for row in rows] == [
        ("MU", "yes", "–"),
        ("MU", "–", "yes"),
        ("J30", "30 GeV", "30 GeV"),
    ]


def test_differences_are_those_of_the_comparison(two: Contents) -> None:
    (section,) = (section for section in sections(two) if section.title == "Differences")
    shown = [cells(table) for table in section.tables]
    assert ["J30", "one", "two", "above: 30 → 40"] in [row[:4] for row in shown[0]]
    printed = [part for part in view_of(two.comparison).page(two.comparison).parts if isinstance(part, Table)]
    assert shown == [cells(table) for table in printed]


def test_overlaps_in_a_menu_have_shares_of_the_same_events(tmp_path: Path) -> None:
    j20 = J30.replace("J30", "J20").format(20.0) + 'fitted_on = "toy"\n'
    (rates,) = contents(tmp_path, HEAD.format("one") + J30.format(30.0) + j20 + MU).variants
    drawn = pictures.overlap(rates).numbers
    pairs = zip(drawn["trigger"], drawn["other"], strict=True)
    shares = dict(zip(pairs, drawn["share_of_trigger"], strict=True))
    assert shares["J30", "J20"] == 1.0
    assert shares["J20", "J30"] == pytest.approx(rates.overlap[1, 0] / rates["J20"].total.hz)
    assert shares["J30", "MU"] == pytest.approx(rates.overlap[0, 2] / rates["J30"].total.hz)
    (table,) = (part for part in overlap_page(rates).parts if isinstance(part, Table))
    of_pair = next(row.values for row in table.rows if {row.values["a"], row.values["b"]} == {"J30", "J20"})
    assert of_pair["of a" if of_pair["a"] == "J30" else "of b"] == 100.0


def test_rates_have_limits_and_no_columns_that_say_nothing(tmp_path: Path) -> None:
    one = contents(tmp_path, HEAD.format("one") + J30.format(30.0) + NEVER)
    (section,) = (section for section in sections(one) if section.title == "Rates")
    (table,) = section.tables
    assert "prescale" not in table_html(table)
    shown = [row for row in cells(table) if any(row)]
    rows = {row[0]: dict(zip(heads(table), row, strict=True)) for row in shown}
    assert list(rows) == ["J30", "NEVER", "group jets", "menu one"]
    assert rows["NEVER"]["total"].startswith("<")
    assert rows["NEVER"]["unique / total"] == "–"
    assert any("upper limit" in note for note in section.text)


def reference(quantity: Any, value: float, menu: str = "one", trigger: str | None = "J30") -> Reference:
    return Reference(menu=menu, trigger=trigger, quantity=quantity, value=value, source="a paper")


def test_numbers_appear_with_those_of_references(two: Contents, tmp_path: Path) -> None:
    total = two.variants[0].triggers[0].total
    inputs = ProfileSet(
        "p", (), (), None, (), None, (), (),
        (
            reference("total_hz", total.hz / 2),
            reference("rate_hz", two.variants[0].rate.hz, trigger=None),
            reference("unique_fraction", 0.5),
            reference("unique_ceiling", 0.5),
            reference("total_hz", 1.0, menu="another"),
        ),
        tmp_path, "",
    )  # fmt: skip
    result = next(beside_references(replace(two, profiles=(inputs,)), ()))
    assert result
    rows = cells(result.tables[0])
    assert [row[1] for row in rows] == [
        "J30 total rate",
        "rate",
        "J30 unique / total",
        "J30 ceiling of unique / total",
    ]
    assert rows[0][2] == numbers.in_unit(total.hz, total.error_hz)
    assert rows[0][4].startswith("2.0")
    assert rows[1][4].startswith("1.0")
    assert rows[3][2] == rows[3][4] == "–"  # nobody told it
    assert "a paper" in result.text[0]
    assert len(result.text) == 1


def test_numbers_that_agree_by_construction_are_marked(tmp_path: Path) -> None:
    """A budget, and what a sample was tuned to; not the rest, and not with other samples."""
    budget = J30.format(30.0).replace("above = 30.0", "total_rate_hz = 200.0")
    made = contents(tmp_path, HEAD.format("one") + budget + MU)
    name = made.catalogue.table.name
    references = (
        reference("total_hz", 200.0),
        reference("unique_hz", 100.0),
        structs.replace(reference("total_hz", 5.0, trigger="MU"), tuned=name),
        structs.replace(reference("unique_hz", 5.0, trigger="MU"), tuned="another"),
        structs.replace(reference("rate_hz", 5.0, trigger=None), tuned=name),
    )
    inputs = ProfileSet("p", (), (), None, (), None, (), (), references, tmp_path, "")
    result = next(beside_references(replace(made, profiles=(inputs,)), ()))
    marked = [row[4].startswith("= ") for row in cells(result.tables[0])]
    assert marked == [True, False, True, False, True]
    assert "in 3 of 5 rows" in result.text[1]


@pytest.mark.parametrize("text", ["J30", "=1:2:1", "J30=3:2:1", "J30=a"])
def test_scans_as_they_are_typed(text: str) -> None:
    assert parse_scan("a=b=60:80:10") == Steps("a=b", (60.0, 70.0, 80.0))
    with pytest.raises(TrigemuError, match=r"scan|values"):
        parse_scan(text)


def test_scans_are_of_every_menu_that_has_the_trigger(tmp_path: Path) -> None:
    texts = HEAD.format("one") + J30.format(30.0) + MU, HEAD.format("two") + MU
    result = contents(tmp_path, *texts, scans=[Steps("J30", (20.0, 30.0, 40.0))])
    ((menu, scan),) = result.scans
    assert menu.name == "one"
    assert scan.points[1].rate == result.variants[0].rate
    with pytest.raises(TrigemuError, match="scan: unknown trigger 'J3'; did you mean 'J30'"):
        contents(tmp_path, *texts, scans=[Steps("J3", (1.0,))])


def test_a_budget_is_scanned_and_its_threshold_is_among_the_values(tmp_path: Path) -> None:
    rate = sum(e["weight"] for e in toy_events(1, 300)) / 20
    text = HEAD.format("one") + J30.format(30.0).replace("above = 30.0", f"total_rate_hz = {rate}")
    result = contents(tmp_path, text)
    ((_, scan),) = result.scans
    variant = result.variants[0]
    (point,) = (p for p in scan.points if p.triggers[0].threshold == variant.triggers[0].threshold)
    assert point.rate.hz == pytest.approx(variant.rate.hz, rel=1e-12)
    text = " ".join(line for section in sections(result) for line in section.text)
    assert "from the evaluation half, scaled to all" in text
    assert "J30: threshold" in text


def test_turn_ons_without_profiles_are_of_leading_objects(tmp_path: Path) -> None:
    file = tmp_path / "menu.toml"
    file.write_text(HEAD.format("one") + J30.format(30.0) + MU)
    catalogue = memory_catalogue({"a": toy_events(1, 100)}, signals={"s": toy_events(2, 200)})
    (result,) = collect_contents([read_menu(file)], catalogue).turnons
    assert [observable.observable for observable in result.observables] == ["jet[0].pt", "muon[0].pt"]
    without = memory_catalogue({"a": toy_events(1, 100)})
    assert collect_contents([read_menu(file)], without).turnons == ()


# ---- the sentences of the summary hold the numbers of the results


def test_a_menu_is_its_rate_and_the_largest_shares(tmp_path: Path) -> None:
    found = named(tmp_path, MET.format(40) + "".join(JET.format(pt) for pt in (30, 40, 50, 60)))
    (section,) = summary(found)
    (sentence,) = section.text
    (variant,) = found.variants
    assert sentence.startswith(
        f"The menu m0 accepts {numbers.format_rate(variant.rate)}; by share, J30 takes "
    )
    assert sentence.endswith(" %.")
    assert "2 other triggers" in sentence
    shares = [float(text) for text in re.findall(r"([0-9.]+) %", sentence)]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert shares[0] == pytest.approx(100 * variant["J30"].share.hz / variant.rate.hz, abs=0.51)


def test_two_menus_are_what_changed_by_how_much(tmp_path: Path) -> None:
    found = named(tmp_path, JET.format(30) + MET.format(40), JET.format(30) + MET.format(60) + JET.format(90))
    ((_, sentence),) = (section.text for section in summary(found))
    assert found.comparison
    (d,) = (d for d in found.comparison.differences if d.what == "menu")
    rate, change = found.variants[1].rate, numbers.in_unit(-d.b_minus_a_hz, d.error_hz)
    assert sentence.startswith(f"m1 accepts {numbers.format_rate(rate)}, {change} (")
    percent, sigma = map(float, re.findall(r"([0-9.]+) (?:%|σ)", sentence))
    assert percent == pytest.approx(-100 * d.b_minus_a_hz / found.variants[0].rate.hz, rel=0.06)
    assert sigma == pytest.approx(-d.b_minus_a_hz / d.error_hz, rel=0.06)
    assert ") less than m0. Defined differently: " in sentence
    assert "J90 (only in m1)" in sentence
    assert "MET (above: 40 → 60)" in sentence


def test_equal_menus_have_the_same_rate(tmp_path: Path) -> None:
    found = named(tmp_path, JET.format(30), JET.format(30))
    ((_, sentence),) = (section.text for section in summary(found))
    assert sentence == f"m1 accepts {numbers.format_rate(found.variants[1].rate)}, the same rate as m0."


def test_levels_before_the_last_are_named_if_they_differ(tmp_path: Path) -> None:
    text = 'levels = ["L1", "HLT"]\n' + MET.format(60) + 'level = "HLT"\nseed = "{0}"\n'
    first, second = (text.format(f"J{pt}") + JET.format(pt) + 'level = "L1"\n' for pt in (30, 20))
    found = named(tmp_path, first, second)
    ((_, sentence),) = (section.text for section in summary(found))
    assert found.comparison
    (d,) = (d for d in found.comparison.differences if d.what == "level L1")
    assert f"; level L1 accepts {numbers.in_unit(d.b_minus_a_hz, d.error_hz)} more" in sentence


def test_a_menu_that_accepts_nothing_has_a_limit(tmp_path: Path) -> None:
    found = named(tmp_path, JET.format(10**6))
    ((sentence,),) = (section.text for section in summary(found))
    assert sentence == f"The menu m0 accepts {numbers.format_rate(found.variants[0].rate)}."
    assert "<" in sentence


def test_the_figure_has_the_triggers_with_the_highest_rates(tmp_path: Path) -> None:
    few = named(tmp_path, JET.format(30))
    many = named(tmp_path, "".join(JET.format(pt) for pt in range(20, 60, 2)))
    assert (all_are_drawn(few), all_are_drawn(many)) == (True, False)
    (section,) = summary(many)
    (picture,) = section.pictures
    assert list(picture.numbers["trigger"]) == [f"J{pt}" for pt in range(20, 44, 2)]
    assert "12 triggers with the highest total rates" in picture.caption
