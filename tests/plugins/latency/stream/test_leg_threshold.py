"""Thresholds on a leg in streams, against batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from stream_toys import events_of, streamed
from toys import menu_from

from trigemu import decide, make_plan

MENU = """
[[trigger]]
name = "D"
kind = "leg_threshold"
legs = [{ object = "jet", eta = { abs_max = 2.0 } }, { object = "jet", pt = { min = 10 } }]
pairs = [{ legs = [0, 1], dr = { min = 0.5 } }]
above = 20
"""


def test_single_events_agree_with_batches(tmp_path: Path) -> None:
    events, plan = events_of(3, 300), make_plan([menu_from(tmp_path, MENU)])
    words = decide(events, plan)
    assert 0 < np.count_nonzero(words & np.uint64(1)) < len(words)
    np.testing.assert_array_equal(streamed(plan, events), words)
