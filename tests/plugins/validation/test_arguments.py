"""Decisions of an array are checked as they are."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
from toys import toy_events
from trigemu_validation import check_decisions

EVENTS = toy_events(11, 150)
TRIGGER = '[[trigger]]\nname = "{}"\nkind = "threshold"\nobservable = "met"\nabove = {}\n'


def test_stored_decisions_of_an_array(tmp_path: Path) -> None:
    menu = tmp_path / "menu.toml"
    menu.write_text(TRIGGER.format("M", 20.0) + TRIGGER.format("J", 30.0))
    array = ak.with_field(ak.Array(EVENTS), np.array([e["met"] > 20 for e in EVENTS]), "M")
    checked = check_decisions(str(menu), array)
    assert (checked["M"].agree, checked["M"].differ) == (150, 0)
    assert checked["J"].skipped
    other = ak.with_field(array, np.arange(150) == 3, "M")
    differing = check_decisions(menu, other)["M"].differ
    assert differing == sum((e["met"] > 20) != (i == 3) for i, e in enumerate(EVENTS))
