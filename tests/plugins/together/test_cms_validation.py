"""Menus against the decisions in test vectors of CMS."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_data import real_file
from trigemu_cms import import_cms_l1
from trigemu_validation import Tolerance, Tolerances, gate


@pytest.mark.slow
def test_decisions_are_compared_with_stored_ones(tmp_path: Path) -> None:
    """A threshold of the menu of 2018 that moved disagrees with its test vector."""
    menu = import_cms_l1(real_file("cms_l1", "L1Menu_Collisions2018_v2_1_0_rebuilt.xml.xz")).toml
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(menu)
    new.write_text(menu.replace("{ min = 22.0 }", "{ min = 23.0 }"))
    vector = real_file("cms_l1", "TestVector_L1Menu_Collisions2018_v2_1_0.txt.xz")
    rates = ("rate_hz", "total_hz", "unique_hz", "overlap_hz", "decisions_hz")
    wide = Tolerances(quantities=dict.fromkeys(rates, Tolerance(percent=1e6)))
    result = gate(old, new, wide, vector)
    differ = {drift.what: drift for drift in result.failed if drift.quantity == "differ_from_stored"}
    assert set(differ) == {drift.what for drift in result.failed}
    changed = {d.what for d in result.drifts if d.quantity == "decisions_hz" and d.difference}
    assert set(differ) == changed
    assert all(drift.old == 0 < drift.new for drift in differ.values())
