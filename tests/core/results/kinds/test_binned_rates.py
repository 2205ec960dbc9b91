"""Rates against an observable, written and printed."""

from __future__ import annotations

from pathlib import Path

from pileup_toys import crossing_catalogue, crossings
from printing import text_of
from toys import menu_from

from trigemu.results.bins import BinnedRatesView
from trigemu.studies.bins import BinnedRates, binned_rates

MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = 20\n'


def outcome(tmp_path: Path) -> BinnedRates:
    """With an empty bin, one in which nothing fires, and events outside."""
    events = [e | {"met": 5.0} if e["n_interaction"] == 0 else e for e in crossings(1, 200)]
    catalogue = crossing_catalogue({"a": events})
    return binned_rates(menu_from(tmp_path, MET), "n_interaction", (-2.0, 0.0, 1.0, 4.0), catalogue)


def test_the_table_has_all_bins_of_the_menu_and_of_each_trigger(tmp_path: Path) -> None:
    text = text_of(BinnedRatesView().page(outcome(tmp_path)))
    lines = text.splitlines()
    assert [" ".join(line.split()[:3]) for line in lines[1:7]] == [
        "menu menu -2", "0 to 1", "1 to 4", "MET -2 to", "0 to 1", "1 to 4"
    ]  # fmt: skip
    assert [line.split().count("–") for line in lines[1:7]] == [1, 0, 0, 1, 0, 0]
    assert lines[2].count("<") == 2  # nothing fires: limits
    assert "have no value in the bins" in text
