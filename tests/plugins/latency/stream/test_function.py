"""Functions of one event in streams, against batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from function_toys import text, toy_kind as toy_kind, toy_menu
from hypothesis import given, settings, strategies as st
from stream_toys import events_of, streamed
from trigemu_latency import Stream

from trigemu import decide, make_plan
from trigemu.api import PluginError

pytestmark = pytest.mark.usefixtures("toy_kind")


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0.1, 30.0), st.floats(-1.0, 20.0))
def test_single_events_are_those_of_batches(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, scale: float, cut: float
) -> None:
    triggers = (text("A", "curved", scale, cut), text("B", "is_close", scale))
    plan = make_plan([toy_menu(tmp_path_factory.mktemp("menu"), *triggers)])
    events = events_of(seed, n)
    assert Stream(plan, events)._unsupported == []
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


def test_an_error_is_that_of_python(tmp_path: Path) -> None:
    plan = make_plan([toy_menu(tmp_path, text("A", "fussy", 2.0, 1.0))])
    stream = Stream(plan, events_of(1, 50))
    with pytest.raises(PluginError, match=r"'A' .*failed.*ValueError: too hard"):
        stream.decide_many(0, 50)
