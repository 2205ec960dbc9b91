"""Cuts by range in |η|, held against the definition of a range."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st
from trigemu_cms.phase2_expressions import parse_cut
from trigemu_cms.phase2_windows import OfLeg, by_regions, written

from trigemu.api import Window

CUTS = ("{q} == 1", "{q} == 2", "({q} == 1) | ({p} == 1)", "abs({eta}) < 0.9", "abs({eta}) >= 0.83")
edges = st.sampled_from((0.0, 0.5, 0.83, 1.3, 1.479, 2.4))


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.tuples(edges, edges, st.sampled_from(CUTS)).filter(lambda r: r[0] < r[1]),
        min_size=1,
    )
)
def test_what_passes_passes_the_cuts_of_its_ranges(ranges: dict[str, tuple[float, float, str]]) -> None:
    cuts = {name: parse_cut(text) for name, (_, _, text) in ranges.items()}
    output = by_regions(cuts, {name: (low, high) for name, (low, high, _) in ranges.items()})
    near = [np.float32(edge) for edge in (0.0, 0.5, 0.83, 0.9, 1.3, 1.479, 2.4)]
    near += [np.nextafter(eta, np.float32(end)) for eta in near for end in (-9, 9)]
    for eta in (abs(eta) for eta in (*near, np.float32(0.7), np.float32(5))):
        for p in (0, 1):
            for q in (0, 1, 2):
                active = [text for low, high, text in ranges.values() if low < eta < high]
                truth = all(
                    eval(text.replace("{", "").replace("}", ""), {"eta": eta, "p": p, "q": q})
                    for text in active
                )
                values = {OfLeg(0, "eta"): float(eta), OfLeg(0, "p"): p, OfLeg(0, "q"): q}
                result = any(all(_holds(w, values[of]) for of, w in one.items()) for one in output)
                assert result == truth, (eta, p, q)


def _holds(window: Window, value: float) -> bool:
    """In the words of a menu."""
    window = Window(**written(window))
    low, high = window.span()
    abs_low, abs_high = window.span("abs_")
    inside = low <= value <= high and abs_low <= abs(value) <= abs_high
    return inside and (window.any_of is None or value in window.any_of)


def test_an_edge_that_two_ranges_share_is_free_of_both() -> None:
    cut = parse_cut("{q} == 1")
    result = by_regions({"a": cut, "b": cut}, {"a": (0.0, 1.0), "b": (1.0, math.inf)})
    assert result == (
        {OfLeg(0, "eta"): Window(abs_max=0.0)},
        {OfLeg(0, "q"): Window(any_of=(1,)), OfLeg(0, "eta"): Window(abs_below=1.0)},
        {OfLeg(0, "eta"): Window(abs_min=1.0, abs_max=1.0)},
        {OfLeg(0, "q"): Window(any_of=(1,)), OfLeg(0, "eta"): Window(abs_min=1.0)},
    )
