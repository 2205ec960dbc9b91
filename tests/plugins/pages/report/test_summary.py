"""The sentences at the beginning of a report hold the numbers of the results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages import collect_contents
from trigemu_pages.report.sections import all_are_drawn, summary

from trigemu import Menu
from trigemu.api import Contents, numbers

JET = '[[trigger]]\nname = "J{0}"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {0}\n'
MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = {}\n'


def contents(folder: Path, *texts: str) -> Contents:
    menus: list[Menu] = []
    for number, text in enumerate(texts):
        (folder / str(number)).mkdir()
        menus.append(menu_from(folder / str(number), f'[menu]\nname = "m{number}"\n{text}'))
    return collect_contents(menus, memory_catalogue({"a": toy_events(1, 300)}))


def test_a_menu_is_its_rate_and_the_largest_shares(tmp_path: Path) -> None:
    found = contents(tmp_path, MET.format(40) + "".join(JET.format(pt) for pt in (30, 40, 50, 60)))
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
    found = contents(
        tmp_path, JET.format(30) + MET.format(40), JET.format(30) + MET.format(60) + JET.format(90)
    )
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
    found = contents(tmp_path, JET.format(30), JET.format(30))
    ((_, sentence),) = (section.text for section in summary(found))
    assert sentence == f"m1 accepts {numbers.format_rate(found.variants[1].rate)}, the same rate as m0."


def test_levels_before_the_last_are_named_if_they_differ(tmp_path: Path) -> None:
    text = 'levels = ["L1", "HLT"]\n' + MET.format(60) + 'level = "HLT"\nseed = "{0}"\n'
    first, second = (text.format(f"J{pt}") + JET.format(pt) + 'level = "L1"\n' for pt in (30, 20))
    found = contents(tmp_path, first, second)
    ((_, sentence),) = (section.text for section in summary(found))
    assert found.comparison
    (d,) = (d for d in found.comparison.differences if d.what == "level L1")
    assert f"; level L1 accepts {numbers.in_unit(d.b_minus_a_hz, d.error_hz)} more" in sentence


def test_a_menu_that_accepts_nothing_has_a_limit(tmp_path: Path) -> None:
    found = contents(tmp_path, JET.format(10**6))
    ((sentence,),) = (section.text for section in summary(found))
    assert sentence == f"The menu m0 accepts {numbers.format_rate(found.variants[0].rate)}."
    assert "<" in sentence


def test_the_figure_has_the_triggers_with_the_highest_rates(tmp_path: Path) -> None:
    few, many = contents(tmp_path, JET.format(30)), None
    (tmp_path / "many").mkdir()
    many = contents(tmp_path / "many", "".join(JET.format(pt) for pt in range(20, 60, 2)))
    assert (all_are_drawn(few), all_are_drawn(many)) == (True, False)
    (section,) = summary(many)
    (picture,) = section.pictures
    assert list(picture.numbers["trigger"]) == [f"J{pt}" for pt in range(20, 44, 2)]
    assert "12 triggers with the highest total rates" in picture.caption
