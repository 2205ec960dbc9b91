"""Tables of a HEPData record, as they are in its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_toys import HOSTILE
from trigemu_exports.hepdata import as_tables
from view_checks import submitted

from trigemu.api import Column, Rate, Table

pytest.importorskip("hepdata_lib")


def numbers(variable: dict[str, Any]) -> list[Any]:
    return [entry["value"] for entry in variable["values"]]


def ends(entry: dict[str, Any]) -> tuple[float, float]:
    """What is to be subtracted from and added to a value."""
    (error,) = entry.get("errors", [{"symerror": 0.0}])
    if "symerror" in error:
        return error["symerror"], error["symerror"]
    return -error["asymerror"]["minus"], error["asymerror"]["plus"]


def test_rates_of_a_menu(results: dict[str, Any], tmp_path: Path) -> None:
    """The limit of a rate without events is its positive error."""
    result = results["MenuRates"]
    (table,) = submitted(result.to_hepdata(), tmp_path).values()
    names, *_ = table["independent_variables"]
    assert names["header"] == {"name": "trigger"}
    assert numbers(names) == [HOSTILE, "MET", "ALSO", "NEVER"]
    by_name = {column["header"]["name"]: column for column in table["dependent_variables"]}
    assert numbers(by_name["threshold"]) == [20.0, 20.0, 25.0, 1e6]
    for quantity in ("total", "unique", "share"):
        column = by_name[quantity]
        assert column["header"]["units"] == "Hz"
        for trigger, entry in zip(result.triggers, column["values"], strict=True):
            rate = trigger.rates[quantity]
            assert entry["value"] == pytest.approx(rate.hz, rel=1e-14)
            expected = rate.error_hz, rate.upper_limit_hz or rate.error_hz
            assert ends(entry) == pytest.approx(expected, rel=1e-14)
    assert result.triggers[3].total.upper_limit_hz


def test_turnons(results: dict[str, Any], tmp_path: Path) -> None:
    """A curve is a variable, with its names in qualifiers; the whole category is a table of its own."""
    result = results["Efficiencies"]
    (turnon,) = result.turnons
    tables = submitted(result.to_hepdata(), tmp_path)
    assert list(tables) == ["Turnon 1", "Turnon 1 overall"]
    (bins,) = tables["Turnon 1"]["independent_variables"]
    assert bins["header"] == {"name": "leading <pT>", "units": "GeV"}
    assert [entry["high"] for entry in bins["values"]] == list(turnon.profile.edges[1:])
    events, *columns = tables["Turnon 1"]["dependent_variables"]
    assert numbers(events) == turnon.events.tolist()
    efficiencies = [column for column in columns if column["header"]["name"] == "efficiency"]
    for curve, column in zip(turnon.curves, efficiencies, strict=True):
        qualifiers = {part["name"]: part["value"] for part in column["qualifiers"]}
        assert (qualifiers["menu"], qualifiers.get("trigger")) == (curve.menu, curve.trigger)
        *filled, empty = column["values"]
        assert empty == {"value": "-"}
        for number, entry in enumerate(filled):
            value = curve.value[number]
            expected = value - curve.low[number], curve.high[number] - value
            assert entry["value"] == pytest.approx(value, rel=1e-14)
            assert ends(entry) == pytest.approx(expected, rel=1e-12)
    overall = {c["header"]["name"]: c for c in tables["Turnon 1 overall"]["dependent_variables"]}
    assert numbers(overall["efficiency"]) == pytest.approx([c.overall.value for c in turnon.curves])


def test_columns_by_their_roles(tmp_path: Path) -> None:
    columns = (
        Column("batch", "key"),
        Column("time_ns", "number", errors=("time_error",)),
        Column("time_error"),
        Column("is_on", "flag"),
        Column("never", "number"),
        Column("why", "note"),
        Column("x", "rate"),
    )
    rows = [
        {"batch": 1, "time_ns": 5.0, "time_error": 0.5, "is_on": True, "x": Rate(2.0, 1.0, 4, 4.0, None, ())},
        {"batch": 8, "time_ns": float("nan"), "is_on": False, "why": "not measured"},
    ]
    (table,) = submitted(as_tables(Table.of(columns, rows), "times", ""), tmp_path).values()
    (batch,) = table["independent_variables"]
    assert numbers(batch) == [1, 8]
    time, is_on, x = table["dependent_variables"]
    assert time["header"] == {"name": "time", "units": "ns"}
    assert time["values"] == [{"value": 5.0, "errors": [{"label": "stat", "symerror": 0.5}]}, {"value": "-"}]
    assert numbers(is_on) == ["true", "false"]
    assert numbers(x) == [2.0, "-"]


def test_rates_in_bins_name_their_observable(results: dict[str, Any], tmp_path: Path) -> None:
    """The rate of all crossings in a bin is there once, that of each trigger as a variable."""
    result = results["BinnedRates"]
    (table,) = submitted(result.to_hepdata(), tmp_path).values()
    (bins,) = table["independent_variables"]
    assert bins["header"] == {"name": "jet[0].pt", "units": "GeV"}
    crossings, *rates = table["dependent_variables"]
    assert numbers(crossings) == pytest.approx([b.crossings.hz for b in result.bins if b.rates], rel=1e-14)
    names = [{part["name"]: part["value"] for part in rate["qualifiers"]}["name"] for rate in rates]
    assert names[1] == names[len(names) // 2 + 1] == HOSTILE
    expected = [b.rates[HOSTILE].total.hz for b in result.bins if b.rates]
    assert numbers(rates[1]) == pytest.approx(expected, rel=1e-14)
