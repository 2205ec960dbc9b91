from __future__ import annotations

import numpy as np
import pytest

from trigemu.generate import detector


def test_jet_resolution_passes_through_the_published_points() -> None:
    at = detector.jet_resolution(np.array([5.0, 20.0, 300.0]))
    assert at == pytest.approx([0.24, 0.24, 0.06], abs=0.001)
    pt = np.geomspace(1, 3000, 50)
    assert (np.diff(detector.jet_resolution(pt)) <= 0).all()


@pytest.mark.parametrize(
    ("pt", "eta", "expected"),
    [(25.0, 0.0, np.hypot(0.101 / 5, 0.0017)), (100.0, 2.0, 0.101 / 19.4)],
)
def test_em_resolution(pt: float, eta: float, expected: float) -> None:
    assert detector.em_resolution(np.array(pt), np.array(eta)) == pytest.approx(expected, rel=0.06)


def test_muon_resolution_by_region() -> None:
    eta = np.array([0.0, -0.4, 1.0, -2.0, 2.6])
    at = detector.muon_resolution(np.full(5, 100.0), eta)
    central, middle, outer = (np.hypot(a, b) for a, b in [(0.01, 0.01), (0.015, 0.015), (0.025, 0.035)])
    assert at == pytest.approx([central, central, middle, outer, outer])


def test_efficiency_by_region() -> None:
    at = detector.efficiency((0.9, 0.8), np.array([0.0, -1.5, 1.6, -2.4]))
    assert at.tolist() == [0.9, 0.9, 0.8, 0.8]


def test_photon_acceptance() -> None:
    eta = np.array([0.0, -1.36, 1.4, -1.5, 1.6, 2.36, -2.38])
    assert detector.in_photon_acceptance(eta).tolist() == [1, 1, 0, 0, 1, 1, 0]


def test_isolation_threshold() -> None:
    pt = np.array([10.0, 10.0, 100.0])
    assert detector.photon_isolated(pt, np.array([2.66, 2.68, 4.6])).tolist() == [True, False, True]


def test_fake_probability() -> None:
    pt = np.array([20.0, 40.0, 1e9, 20.0])
    at = detector.fake_probability(pt, np.array([0, 0, 0, 1.4]), 0.01, 0.5)
    assert at == pytest.approx([0.01, 0.01 * 2**0.5, 1.0, 0.0])


def test_missing_momentum_closure() -> None:
    normal = np.random.default_rng(1).standard_normal(100_000)
    met = detector.missing_momentum(np.array(30.0), np.array(-5.0), np.array(100.0), normal)
    assert met.mean() == pytest.approx(25.0, abs=0.05)
    assert met.std() == pytest.approx(5.0, rel=0.01)
