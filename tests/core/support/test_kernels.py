"""Scalar kernels against closed forms; what is compiled is never older than what it is compiled from."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trigemu.support import kernels

ANGLES = st.floats(-20, 20)


@given(ANGLES, ANGLES)
def test_delta_phi(phi1: float, phi2: float) -> None:
    value = kernels.delta_phi(phi1, phi2)
    assert -math.pi < value <= math.pi
    turns = (value - (phi1 - phi2)) / (2 * math.pi)
    assert turns == pytest.approx(round(turns), abs=1e-12)


@given(st.floats(0.5, 1e4), st.floats(-3.125, 3.125, width=32))
def test_what_is_opposite_up_to_rounding_is_at_plus_pi(pt: float, phi: float) -> None:
    """As an object and the missing momentum that it leaves when it is alone."""
    px, py = kernels.momentum_x(pt, phi), kernels.momentum_y(pt, phi)
    assert kernels.delta_phi(phi, math.atan2(-py, -px)) == pytest.approx(math.pi, abs=1e-12)
    assert kernels.delta_phi(-math.pi / 2, math.pi / 2 - 1e-9) == -math.pi + 1e-9


@given(st.floats(0.1, 1000), st.floats(-5, 5), ANGLES)
def test_the_momentum_of_a_massless_object(pt: float, eta: float, phi: float) -> None:
    px, py = kernels.momentum_x(pt, phi), kernels.momentum_y(pt, phi)
    pz, energy = kernels.momentum_z(pt, eta), kernels.energy(pt, eta)
    assert math.hypot(px, py) == pytest.approx(pt, rel=1e-12)
    assert energy**2 == pytest.approx(px**2 + py**2 + pz**2, rel=1e-12)
    assert kernels.pseudorapidity(px, py, pz) == pytest.approx(eta, rel=1e-9, abs=1e-12)
    assert kernels.mass(px, py, pz, energy) < 1e-6 * energy
    assert kernels.mass(px, py, pz, 0.9 * energy) == 0.0
    assert kernels.mass(px, py, pz, math.hypot(energy, pt)) == pytest.approx(pt, rel=1e-5)


def test_no_momentum_points_nowhere() -> None:
    assert math.isnan(kernels.pseudorapidity(0.0, 0.0, 0.0))
    assert kernels.pseudorapidity(0.0, 0.0, -1.0) == -math.inf
    assert math.isnan(kernels.mass(math.nan, 0.0, 0.0, 1.0))


FIRST = """
from trigemu.support.kernels import kernel
FACTOR = {factor}
@kernel
def inner(x):
    return x + {term}
"""
MIDDLE = """
from trigemu.support.kernels import kernel
import first
@kernel
def middle(x):
    return first.inner(x)
"""
LAST = """
from trigemu.support.kernels import kernel
import first
from first import FACTOR
from middle import middle
@kernel
def outer(x):
    return middle(x) * FACTOR + first.FACTOR
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_anew_when_what_it_calls_changes(tmp_path: Path) -> None:
    """From one process to the next, its own file being the same."""

    def run(factor: float, term: float) -> tuple[float, int]:
        (tmp_path / "first.py").write_text(FIRST.format(factor=factor, term=term))
        (tmp_path / "middle.py").write_text(MIDDLE)
        (tmp_path / "last.py").write_text(LAST)
        made = subprocess.run(
            [sys.executable, "last.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        value, hits = made.stdout.split()
        return float(value), int(hits)

    assert run(2.0, 3.0) == (10.0, 0)
    assert run(2.0, 3.0) == (10.0, 1)
    assert run(2.0, 4.0) == (12.0, 0)
    assert run(3.0, 4.0) == (18.0, 0)
