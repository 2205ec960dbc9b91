"""The range of thresholds that is offered, against a search over all thresholds in plain Python."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import memory_catalogue, menu_from, toy_events

from trigemu import score_table
from trigemu.emulation.tabulate import FACTOR, rounded_down

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


def test_ranges_are_those_of_the_own_seed(tmp_path: Path) -> None:
    """Also where another trigger has the same score, threshold and decision."""
    catalogue, text = memory_catalogue({"a": toy_events(4, 300)}), MENU.format(above=40, keys="")
    seeded = MENU.format(above=40, keys='seed = "G"').split("[[trigger]]")[1].replace('"J"', '"S"')
    both = score_table(menu_from(tmp_path, f"{text}[[trigger]]{seeded}"), catalogue).threshold_ranges
    alone = score_table(menu_from(tmp_path, text), catalogue).threshold_ranges
    assert both["J"] == alone["J"] != both["S"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_rounding_keeps_the_order_of_scores(scores: list[float]) -> None:
    ordered = np.unique(scores)
    rounded = rounded_down(ordered)
    assert (np.diff(rounded) >= 0).all()
    assert (rounded <= ordered).all()
    assert (ordered - rounded <= 0.005 * np.abs(ordered) + 1e-300).all()
