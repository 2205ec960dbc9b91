"""Angles against closed forms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from trigemu.observables.workspace import delta_phi

ANGLES = st.floats(-20, 20)


@given(ANGLES, ANGLES)
def test_delta_phi(phi1: float, phi2: float) -> None:
    value = delta_phi(phi1, phi2)
    assert -math.pi < value <= math.pi
    turns = (value - (phi1 - phi2)) / (2 * math.pi)
    assert turns == pytest.approx(round(turns), abs=1e-12)


@given(st.floats(0.5, 1e4), st.floats(-3.125, 3.125, width=32))
def test_what_is_opposite_up_to_rounding_is_at_plus_pi(pt: float, phi: float) -> None:
    """As an object and the missing momentum that it leaves when it is alone."""
    px, py = pt * math.cos(phi), pt * math.sin(phi)
    assert delta_phi(phi, math.atan2(-py, -px)) == pytest.approx(math.pi, abs=1e-12)
    assert delta_phi(-math.pi / 2, math.pi / 2 - 1e-9) == -math.pi + 1e-9
