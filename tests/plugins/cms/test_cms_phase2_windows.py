"""Windows as NumPy compares float32 columns, their intersections, and cuts by range in |η|."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st
from phase2_toys import holds
from trigemu_cms.phase2_expressions import parse_cut
from trigemu_cms.phase2_windows import OfLeg, by_regions, joint, written

from trigemu.api import Window

limits = st.floats(-1e3, 1e3)
NAMES = ("min", "max", "above", "below", "abs_min", "abs_max", "abs_above", "abs_below")


@given(st.sampled_from(NAMES), st.one_of(limits, st.integers(-3000, 3000).map(lambda n: n / 1000)), st.data())
def test_what_is_written_does_on_float32_what_numpy_does(
    name: str, limit: float, data: st.DataObject
) -> None:
    limit = abs(limit) if name.startswith("abs_") else limit
    window = Window(**{name: limit})
    result = Window(**written(window))
    near = np.float32(limit)
    for _ in range(data.draw(st.integers(0, 3))):
        near = np.nextafter(near, np.float32(data.draw(st.sampled_from((-math.inf, math.inf)))))
    value = abs(near) if name.startswith("abs_") else near
    truth = {"min": value >= limit, "max": value <= limit, "above": value > limit, "below": value < limit}
    assert holds(result, float(near)) == truth[name.removeprefix("abs_")]


def test_limits_stay_as_they_are_where_they_can() -> None:
    assert written(Window(abs_below=2.4)) == {"abs_below": 2.4}
    assert written(Window(abs_below=0.13)) == {"abs_below": 0.12999999}
    assert written(Window(above=4.4)) == {"above": 4.4000003}
    assert written(Window(min=3.0, above=3.0, below=5.0, max=4.0)) == {"above": 3.0, "max": 4.0}


@given(*[st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES[:4], st.integers(-3, 3)))] * 2)
def test_joint_windows_hold_where_both_do(first: dict[str, float], second: dict[str, float]) -> None:
    one, other = Window(**first, any_of=(0, 1, 2)), Window(**second, any_of=(1, 2, 3), bits=1)
    both = joint(one, other)
    for value in range(-4, 5):
        assert holds(both, value) == (holds(one, value) and holds(other, value))


CUTS = ("{q} == 1", "{q} == 2", "({q} == 1) | ({p} == 1)", "abs({eta}) < 0.9", "abs({eta}) >= 0.83")
EDGES = st.sampled_from((0.0, 0.5, 0.83, 1.3, 1.479, 2.4))


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.tuples(EDGES, EDGES, st.sampled_from(CUTS)).filter(lambda r: r[0] < r[1]),
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
                result = any(
                    all(holds(Window(**written(w)), values[of]) for of, w in one.items()) for one in output
                )
                assert result == truth, (eta, p, q)
