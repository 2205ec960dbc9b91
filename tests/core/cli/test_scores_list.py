"""The thresholds that a score table offers, printed."""

from __future__ import annotations

from pathlib import Path

from printing import text_of
from toys import memory_catalogue, menu_from, toy_events

from trigemu import score_table
from trigemu.cli.scores import _thresholds


def test_triggers_with_a_threshold_are_listed(tmp_path: Path) -> None:
    text = "".join(
        f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{observable}"\nabove = {above}\n'
        for name, observable, above in (("J", "jet[0].pt", 30.0), ("N", "n_jet", 1.5))
    )
    text += '[[trigger]]\nname = "MU"\nkind = "combination"\nlegs = [{ object = "muon" }]\n'
    vary = {"J": (20.0, 1234.5678), "N": (0.5, 3.5)}
    result = score_table(menu_from(tmp_path, text), memory_catalogue({"a": toy_events(1, 90)}), vary=vary)
    assert [line.split() for line in text_of(_thresholds(result), 80).splitlines()] == [
        ["trigger", "unit", "from", "as", "written", "to"],
        ["J", "GeV", "20", "30", "1234.57"],
        ["N", "0.5", "1.5", "3.5"],
    ]
