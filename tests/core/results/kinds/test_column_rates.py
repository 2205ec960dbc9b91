"""Rates in columns of prescales, printed."""

from __future__ import annotations

from pathlib import Path

from printing import text_of
from toys import memory_catalogue, menu_from, toy_events

from trigemu.rates.menu_rates import column_rates
from trigemu.results.rates import ColumnRatesView

TEXT = """
[menu]
name = "toy"
prescale_columns = ["a", "b"]

[[trigger]]
name = "MET"
kind = "threshold"
observable = "met"
total_rate_hz = 20
prescales = [1.5, 0]
group = "g"

[[trigger]]
name = "JET"
kind = "threshold"
observable = "jet[0].pt"
above = 10

[[trigger]]
name = "NEVER"
kind = "threshold"
observable = "met"
above = 10
prescales = [-1, 0]
"""


def test_each_trigger_has_its_columns_below_each_other(tmp_path: Path) -> None:
    """Also one that is off in all of them, and a group with nothing on."""
    events = [event | {"weight": 1.0} for event in toy_events(3, 200)]
    result = column_rates(menu_from(tmp_path, TEXT), "all", memory_catalogue({"a": events}))
    text = text_of(ColumnRatesView().page(result))
    words = [line.split() for line in text.splitlines()]
    assert [row[:3] for row in words[1:3]] == [["MET", "a", "1.5"], ["b", "off"]]
    assert [row[:2] for row in words[3:5]] == [["JET", "a"], ["b", words[4][1]]]
    assert [row[:3] for row in words[5:7]] == [["NEVER", "a", "off"], ["b", "off"]]
    assert [row[:3] for row in words[7:9]] == [["group", "g", "a"], ["b", "off"]]
    assert [row[:3] for row in words[10:12]] == [["menu", "toy", "a"], ["b", words[11][1], words[11][2]]]
    assert "Prescales: those" not in text
