"""The factors of events in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting import Scales

factors = st.lists(st.one_of(st.just(0.0), st.floats(1.0, 1e4)), min_size=1, max_size=6)
fraction = st.floats(0.0, 1.0)


@given(factors, st.data())
def test_what_events_count(unseen: list[float], data: st.DataObject) -> None:
    """f₀ + s (f − f₀), of menus and of their differences, is at most `unit`."""
    scales = Scales(np.array(unseen), everything=0.5)
    f, without = (np.array([data.draw(fraction) for _ in unseen]) for _ in range(2))
    judged = scales.judged(slice(None), f, without)
    for g, s, one, other in zip(judged, unseen, f, without, strict=True):
        assert g == pytest.approx(other + s * (one - other), rel=1e-12, abs=1e-12)
    assert (scales.judged(slice(None), without, without) == without).all()
    assert math.frexp(scales.unit)[0] == 0.5  # a power of two
    assert np.abs(scales.judged(slice(None), f, 0 * f)).max() <= scales.unit
    one = np.ones_like(f)
    assert np.abs(scales.judged(slice(None), one, -one)).max() <= scales.unit
    assert scales.hz == 0.5 * scales.unit


@given(factors)
def test_pairs_of_which_one_is_fitted_count_in_the_unseen_half(unseen: list[float]) -> None:
    scales = Scales(np.array(unseen))
    rows = np.arange(len(unseen))[::-1]
    assert (scales.of_pairs(rows) * scales.unit).tolist() == [[1.0, unseen[row]] for row in rows]
