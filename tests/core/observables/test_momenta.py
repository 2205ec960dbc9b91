"""Angles and four-momenta against closed forms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from trigemu.observables import momenta

ANGLES = st.floats(-20, 20)


@given(ANGLES, ANGLES)
def test_delta_phi(phi1: float, phi2: float) -> None:
    value = momenta.delta_phi(phi1, phi2)
    assert -math.pi < value <= math.pi
    turns = (value - (phi1 - phi2)) / (2 * math.pi)
    assert turns == pytest.approx(round(turns), abs=1e-12)


@given(st.floats(0.5, 1e4), st.floats(-3.125, 3.125, width=32))
def test_what_is_opposite_up_to_rounding_is_at_plus_pi(pt: float, phi: float) -> None:
    """As an object and the missing momentum that it leaves when it is alone."""
    px, py = momenta.momentum_x(pt, phi), momenta.momentum_y(pt, phi)
    assert momenta.delta_phi(phi, math.atan2(-py, -px)) == pytest.approx(math.pi, abs=1e-12)
    assert momenta.delta_phi(-math.pi / 2, math.pi / 2 - 1e-9) == -math.pi + 1e-9


@given(st.floats(0.1, 1000), st.floats(-5, 5), ANGLES)
def test_the_momentum_of_a_massless_object(pt: float, eta: float, phi: float) -> None:
    px, py = momenta.momentum_x(pt, phi), momenta.momentum_y(pt, phi)
    pz, energy = momenta.momentum_z(pt, eta), momenta.energy(pt, eta)
    assert math.hypot(px, py) == pytest.approx(pt, rel=1e-12)
    assert energy**2 == pytest.approx(px**2 + py**2 + pz**2, rel=1e-12)
    assert momenta.pseudorapidity(px, py, pz) == pytest.approx(eta, rel=1e-9, abs=1e-12)
    assert momenta.mass(px, py, pz, energy) == 0.0
    assert momenta.mass(px, py, pz, 0.9 * energy) == 0.0
    assert momenta.mass(px, py, pz, math.hypot(energy, pt)) == pytest.approx(pt, rel=1e-5)


def test_no_momentum_points_nowhere() -> None:
    assert math.isnan(momenta.pseudorapidity(0.0, 0.0, 0.0))
    assert momenta.pseudorapidity(0.0, 0.0, -1.0) == -math.inf
    assert math.isnan(momenta.mass(math.nan, 0.0, 0.0, 1.0))
