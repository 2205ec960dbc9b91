"""The range of thresholds that is offered, against a search over all thresholds in plain Python."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import memory_catalogue, menu_from, toy_events

from trigemu import score_table
from trigemu.emulation.score_table import FACTOR, _below, _bin_of

MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = {above}
{keys}

[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 12
"""


def rate(events: list[dict[str, Any]], threshold: float, seeded: bool) -> float:
    return math.fsum(
        e["weight"]
        for e in events
        if e["jet"]
        and e["jet"][0]["pt"] > threshold
        and (not seeded or (e["photon"] and e["photon"][0]["pt"] > 12))
    )


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(6, 90), st.booleans())
def test_rates_at_the_ends_are_some_times_the_present_one(seed: int, above: float, seeded: bool) -> None:
    """At least as loose as asked, and not much looser: within a bin and three digits."""
    events = toy_events(seed, 150)
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), MENU.format(above=above, keys='seed = "G"' if seeded else ""))
    limits = score_table(menu, memory_catalogue({"a": events})).threshold_ranges["J"]
    present = rate(events, above, seeded)
    rounding = 1e-6 * present
    assert limits.low <= above <= limits.high
    if present == 0:
        assert limits == (pytest.approx(above, rel=1e-2),) * 2
        return
    everything = rate(events, -math.inf, seeded)
    assert rate(events, limits.low, seeded) >= min(FACTOR * present, everything) - rounding
    assert rate(events, limits.low + 0.015 * limits.high, seeded) <= FACTOR * present + rounding
    tighter = [e["jet"][0]["pt"] for e in events if e["jet"] and e["jet"][0]["pt"] > limits.high * 1.01]
    assert all(rate(events, threshold, seeded) <= present / FACTOR + rounding for threshold in tighter)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_bins_keep_the_order_of_scores(scores: list[float]) -> None:
    ordered = np.unique(scores)
    bins = _bin_of(ordered)
    assert (np.diff(bins) >= 0).all()
    for score, number in zip(ordered.tolist(), bins.tolist(), strict=True):
        assert _below(number) < score or score <= -sys.float_info.max * 0.99
        assert abs(score - _below(number)) <= 0.005 * abs(score) + 1e-300
