"""Rates in columns of prescales, printed."""

from __future__ import annotations

from pathlib import Path

from printing import text_of
from toys import memory_catalogue, menu_from, toy_events

from trigemu.rates.menu_rates import column_rates
from trigemu.rates.results import Rate
from trigemu.results.numbers import format_rate
from trigemu.results.rates import ColumnRatesView, MenuRatesView

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


def cell(rate: Rate) -> list[str]:
    return format_rate(rate).replace(" ± ", "±").split()


def test_each_trigger_has_a_row_with_all_columns(tmp_path: Path) -> None:
    """Also one that is off in all of them, and a group with nothing on."""
    events = [event | {"weight": 1.0} for event in toy_events(3, 200)]
    result = column_rates(menu_from(tmp_path, TEXT), "all", memory_catalogue({"a": events}))
    text = text_of(ColumnRatesView().page(result))
    words = [line.split() for line in text.splitlines()]
    rate = {name: cell(column.rate) for name, column in result.items()}
    assert words[0] == ["trigger", "a", "b"]
    assert words[1] == ["MET", "/1.5", *cell(result["a"]["MET"].total), "off"]
    assert words[2] == ["JET", *cell(result["a"]["JET"].total), *cell(result["b"]["JET"].total)]
    assert words[3] == ["NEVER", "off", "off"]
    assert words[4][:2] + words[4][-1:] == ["group", "g", "off"]
    assert words[6] == ["menu", "toy", *rate["a"], *rate["b"]]
    assert "Prescales: those" not in text
    assert text.rstrip().endswith("/2: accepted with a prescale of 2.")


def test_one_column_is_printed_as_a_run(tmp_path: Path) -> None:
    events = [event | {"weight": 1.0} for event in toy_events(3, 200)]
    result = column_rates(menu_from(tmp_path, TEXT), "a", memory_catalogue({"a": events}))
    assert text_of(ColumnRatesView().page(result)) == text_of(MenuRatesView().page(result["a"]))
