from __future__ import annotations

import math

import numpy as np
import pytest
from generate_toys import particles as toy
from trigemu_simulation import detector
from trigemu_simulation.reconstruct import reconstruct, with_flights


@pytest.mark.parametrize(
    ("pdg", "mass", "ctau", "fraction"), [(211, 0.13957, 7804.5, 1.0), (-321, 0.49368, 3713.0, 0.6355)]
)
def test_probability_and_spectrum_of_muons(pdg: int, mass: float, ctau: float, fraction: float) -> None:
    """Against the decay of one particle at a time, in its rest frame."""
    rng = np.random.default_rng(1)
    n = 4000
    particles = toy(rng, [1] * n, pdg)
    scale = 12.0 / np.hypot(particles.px, particles.py)
    for column in (particles.px, particles.py, particles.pz, particles.e):
        column *= scale
    rows = reconstruct(particles, rng)
    result = with_flights(rows, particles, np.ones(n, bool), rng)
    assert result.scalars["weight"].sum() == pytest.approx(n)
    muon = result.objects["muon"]
    flying = result.scalars["weight"][n:]
    assert (muon.counts[:n] == 0).all()
    assert (muon.counts[n:] == 1).all()

    # the muon's energy is uniform between the ends that its direction in the rest frame gives
    least = (0.10566 / mass) ** 2
    passing = min((1 - 3.0 / 12.0) / (1 - least), 1.0)
    eta = np.arcsinh(particles.pz / 12.0)
    inside = np.abs(eta) < detector.MUON_ETA
    length = np.minimum(1150.0, 3510.0 / np.abs(np.sinh(eta)))
    expected = (1 - np.exp(-length * mass / (12.0 * ctau))) * fraction * detector.FLIGHT_EFFICIENCY * passing
    assert flying.sum() == pytest.approx(expected[inside].sum(), rel=0.03)
    low = max(3.0, 12.0 * least)
    assert muon.columns["pt"].mean() == pytest.approx((low + 12.0) / 2, rel=0.03)
    assert set(muon.columns["charge"]) == {math.copysign(1, pdg)}
    assert set(muon.columns["origin"]) == {2}


def test_one_muon_of_several_tracks() -> None:
    rng = np.random.default_rng(2)
    particles = toy(rng, [30, 0, 25])
    rows = reconstruct(particles, rng)
    result = with_flights(rows, particles, np.array([True, True, True]), rng)
    assert result.scalars["origin"].tolist()[:3] == [0, 1, 2]
    assert set(result.scalars["origin"].tolist()[3:]) <= {0, 2}
    some = with_flights(rows.of(np.array([False, True, True])), particles, np.array([False, True, True]), rng)
    assert set(some.scalars["origin"].tolist()) == {1, 2}
    weight = np.bincount(some.scalars["origin"].astype(int), some.scalars["weight"], 3)
    assert weight == pytest.approx([0, 1, 1])
