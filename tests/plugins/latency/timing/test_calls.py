"""Batches of any size decide as all events at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from stream_toys import events_of
from toys import menu_from

from trigemu import make_plan
from trigemu_latency.timing.calls import Batches

MENU = """
[[trigger]]
name = "NEIGHBOURS"
kind = "combination"
legs = [ { object = "jet", crossing = -1 }, { object = "muon" }, { object = "jet", crossing = 2 } ]
"""


@pytest.mark.parametrize("size", [1, 3, 16, 64])
def test_neighbouring_crossings_are_seen_across_batches(tmp_path: Path, size: int) -> None:
    plan = make_plan([menu_from(tmp_path, MENU)])
    contender = Batches(events_of(11, 64), size).decisions(plan)
    assert contender.calls * size == 64 - 64 % size
