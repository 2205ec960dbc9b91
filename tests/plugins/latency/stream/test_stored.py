"""Stored decisions in streams, against batches."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
from toys import menu_from

from trigemu import decide, make_plan
from trigemu.api import samples_of
from trigemu_latency import Stream


def test_single_events_have_the_decisions_of_batches(tmp_path: Path) -> None:
    array = ak.Array({"L1_A": [True, False, True], "n": [0, 2, 1], "met": [1.0, 2.0, 3.0]})
    triggers = (f"[[trigger]]\nname = '{n}'\nkind = 'stored'\ndecision = '{n}'\n" for n in ("L1_A", "n"))
    plan = make_plan([menu_from(tmp_path, "".join(triggers))])
    events = samples_of(array).samples[0].read(0, 0, 3, plan.needs, plan.margin)
    words = Stream(plan, events).decide_many(0, 3)
    assert words[:, 0].tolist() == [0b01, 0b10, 0b11]
    np.testing.assert_array_equal(words, decide(events, plan))
