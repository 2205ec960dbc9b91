"""Rates against an observable, written and printed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from pileup_toys import crossing_catalogue, crossings
from printing import text_of
from toys import menu_from

from trigemu.results.kinds.binned_rates import VIEW
from trigemu.studies import BinnedRates, binned_rates

MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = 20\n'


def outcome(tmp_path: Path) -> BinnedRates:
    """With an empty bin, one in which nothing fires, and events outside."""
    events = [e | {"met": 5.0} if e["n_interaction"] == 0 else e for e in crossings(1, 200)]
    catalogue = crossing_catalogue({"a": events})
    return binned_rates(menu_from(tmp_path, MET), "n_interaction", (-2.0, 0.0, 1.0, 4.0), catalogue)


def test_json_has_all_numbers(tmp_path: Path) -> None:
    result = outcome(tmp_path)
    document = result.to_dict()
    assert document["observable"] == "n_interaction"
    assert [(part["low"], part["high"]) for part in document["bins"]] == [(-2, 0), (0, 1), (1, 4)]
    empty, silent, full = document["bins"]
    assert empty["menu"] is None
    assert empty["triggers"] == []
    assert silent["triggers"][0]["if_all_hz"] == 0.0
    assert silent["triggers"][0]["if_all_upper_limit_hz"] > silent["triggers"][0]["total_upper_limit_hz"] > 0
    (trigger,) = full["triggers"]
    assert trigger["if_all_hz"] == pytest.approx(trigger["total_hz"] / full["fraction"])
    assert trigger["if_all_unseen"] == list(result.bins[2].if_all[0].unseen)
    everything = document["outside_hz"] + sum(part["crossings_hz"] for part in document["bins"])
    assert document["crossings_hz"] == pytest.approx(everything)
    plain = result.whole.to_dict()
    assert document["whole"]["triggers"] == plain["triggers"]
    assert document["provenance"] == plain["provenance"]


def test_csv_has_a_line_for_each_rate_in_each_bin(tmp_path: Path) -> None:
    result = outcome(tmp_path)
    rows = list(csv.DictReader(io.StringIO(VIEW.csv(result))))
    assert [(row["low"], row["kind"]) for row in rows] == [
        ("0.0", "menu"), ("0.0", "trigger"), ("1.0", "menu"), ("1.0", "trigger")
    ]  # fmt: skip
    assert float(rows[-1]["if_all_hz"]) == result.bins[2].if_all[0].hz


def test_the_table_has_all_bins_of_the_menu_and_of_each_trigger(tmp_path: Path) -> None:
    text = text_of(VIEW.page(outcome(tmp_path)))
    lines = text.splitlines()
    assert [" ".join(line.split()[:3]) for line in lines[1:7]] == [
        "menu menu -2", "0 to 1", "1 to 4", "MET -2 to", "0 to 1", "1 to 4"
    ]  # fmt: skip
    assert [line.split().count("–") for line in lines[1:7]] == [1, 0, 0, 1, 0, 0]
    assert lines[2].count("<") == 2  # nothing fires: limits
    assert "have no value in the bins" in text
