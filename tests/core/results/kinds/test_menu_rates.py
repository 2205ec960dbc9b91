from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from printing import text_of
from toys import memory_catalogue, menu_from, toy_events

from trigemu import emulate, rates_of
from trigemu.api import MenuRates, Page, Rate, Table
from trigemu.results import numbers as output_numbers, overlap
from trigemu.results.overlap import overlap_page
from trigemu.results.rates import MenuRatesView

MENU = """
[menu]
name = "toy [bold]menu"
[[trigger]]
name = "J30 [/x]"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
group = "jets :smile:"
prescale = 3
[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon" }]
[[trigger]]
name = "NEVER"
kind = "threshold"
observable = "met"
above = 1e9
group = "jets :smile:"
[[trigger]]
name = "ANY"
kind = "random"
rate_hz = 1000.0
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> MenuRates:
    menu = menu_from(tmp_path_factory.mktemp("output"), MENU)
    catalogue = memory_catalogue({"soft": toy_events(1, 150), "hard": toy_events(2, 100)})
    return rates_of(emulate([menu], catalogue))


def rendered(page: Page) -> str:
    return text_of(page, 140)


def narrow(rate: Rate) -> str:
    return output_numbers.format_rate(rate).replace(" ± ", "±")


def test_an_upper_limit_is_null_where_there_are_events(result: MenuRates) -> None:
    document = result.to_dict()
    for row in (*document["triggers"], *document["groups"]):
        for quantity in ("total", "unique", "share"):
            assert (row[f"{quantity}_upper_limit_hz"] is None) == (row[f"{quantity}_events"] > 0)
    assert document["triggers"][2]["total_upper_limit_hz"] > 0


def test_the_table_shows_the_numbers(result: MenuRates) -> None:
    lines = {line.split("  ")[0]: line for line in rendered(MenuRatesView().page(result)).splitlines()}
    for trigger in result.triggers:
        line = lines[trigger.name]
        for quantity in ("total", "unique", "share"):
            assert narrow(getattr(trigger, quantity)) in line
        assert f"{trigger.total.events} (" in line
    assert "3" in lines["J30 [/x]"].split()
    assert "40000" in lines["ANY"].split()
    notes = " ".join(rendered(MenuRatesView().page(result)).split())
    assert "Sample 'toy' (crossing weights): soft + hard." in notes
    assert "<: no event; upper limit at 68 %." in notes


def test_an_error_that_is_too_small_is_marked(result: MenuRates) -> None:
    first, *others = result.triggers
    marked = replace(
        first, rates={**first.rates, "total": replace(first.total, unseen=("soft",), unseen_hz=7.0)}
    )
    table = rendered(MenuRatesView().page(replace(result, triggers=(marked, *others))))
    assert f"{narrow(first.total)}*" in table
    assert "J30 [/x] (up to 7 Hz of soft)" in " ".join(table.split())
    document = replace(result, triggers=(marked, *others)).to_dict()
    assert document["triggers"][0]["total_unseen"] == ["soft"]


def test_a_unique_rate_that_is_0_by_construction_is_no_limit(result: MenuRates) -> None:
    first, *others = result.triggers
    within = Rate(0.0, 0.0, 0, 0.0, None, contained_in=("MU", "ANY"))
    shown = replace(result, triggers=(replace(first, rates={**first.rates, "unique": within}), *others))
    (line,) = (li for li in rendered(MenuRatesView().page(shown)).splitlines() if li.startswith("J30"))
    assert line.split()[5] == "0"
    assert "0: by construction" in rendered(MenuRatesView().page(shown))
    assert "J30 [/x] (MU or ANY)" in rendered(MenuRatesView().page(shown))
    document = shown.to_dict()
    assert document["triggers"][0]["unique_contained_in"] == ["MU", "ANY"]
    rows = list(csv.DictReader(io.StringIO(MenuRatesView().csv(shown))))
    assert [rows[0][key] for key in ("unique_contained_in", "unique_upper_limit_hz")] == ["MU;ANY", ""]


def test_overlaps_are_listed_the_largest_first(result: MenuRates, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = overlap_page(result).parts
    assert isinstance(table, Table)
    names = [trigger.name for trigger in result.triggers]
    pairs = [(i, j) for i in range(len(names)) for j in range(i) if result.overlap[i, j]]
    assert len(table.rows) == len(pairs)
    rates = [row.values["both"][0] for row in table.rows]
    assert rates == sorted((result.overlap[i, j] for i, j in pairs), reverse=True)
    for row in table.rows:
        i, j = names.index(row.values["a"]), names.index(row.values["b"])
        assert row.values["both"] == (result.overlap[i, j], result.overlap_error[i, j])
        assert row.values["of a"] == pytest.approx(100 * result.overlap[i, j] / result.overlap[i, i])
        assert row.values["of b"] == pytest.approx(100 * result.overlap[i, j] / result.overlap[j, j])
    monkeypatch.setattr(overlap, "LARGEST", 1)
    page = overlap_page(result)
    assert page.parts[0].rows == table.rows[:1]  # type: ignore[union-attr]
    assert page.notes == [f"{len(pairs) - 1} smaller pairs not shown: --overlap all."]
    assert overlap_page(result, every=True).parts[0].rows == table.rows  # type: ignore[union-attr]


def rate(hz: float, error: float, limit: float | None = None) -> Rate:
    return Rate(hz, error, 10, 5.0, limit)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (rate(18_700.0, 1400.0), "18.7 ± 1.4 kHz"),
        (rate(18_743.0, 96.0), "18.743 ± 0.096 kHz"),
        (rate(18_743.0, 99.7), "18.74 ± 0.10 kHz"),
        (rate(912.0, 576.0), "910 ± 580 Hz"),
        (rate(5.146e8, 2.1e8), "510 ± 210 MHz"),
        (rate(0.0123, 0.0011), "12.3 ± 1.1 mHz"),
        (rate(400.0, 1200.0), "0.4 ± 1.2 kHz"),
        (rate(-1500.0, 200.0), "-1.50 ± 0.20 kHz"),
        (rate(40e6, 0.0), "40 MHz"),
        (rate(999.9, 0.0), "1 kHz"),
        (rate(0.0, 0.0), "0 Hz"),
        (rate(0.0, 0.0, 12.34), "< 12.3 Hz"),
        (rate(0.0, 0.0, 999.7), "< 1 kHz"),
    ],
)
def test_rates_as_text(shown: Rate, text: str) -> None:
    assert output_numbers.format_rate(shown) == text


@given(st.floats(1e-6, 1e8), st.floats(1e-4, 10.0))
def test_the_error_has_two_digits_and_the_value_as_many_decimals(hz: float, relative: float) -> None:
    error = hz * relative
    text = output_numbers.format_rate(rate(hz, error))
    value, _, shown, unit = text.split()
    scale = {"MHz": 1e6, "kHz": 1e3, "Hz": 1.0, "mHz": 1e-3}[unit]
    assert float(shown) * scale == pytest.approx(float(f"{error:.1e}"), rel=0.06)
    assert float(value) * scale == pytest.approx(hz, abs=0.06 * error)
    assert len(value.partition(".")[2]) == len(shown.partition(".")[2])
    assert not math.isclose(float(shown), 0.0)
