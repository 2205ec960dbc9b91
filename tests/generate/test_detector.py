from __future__ import annotations

import numpy as np
import pytest

from trigemu.generate import detector
from trigemu.generate.config import Fakes


def test_jet_resolution_passes_through_the_published_points() -> None:
    """With the pile-up of the data that they are from, 24 interactions."""
    pt = np.array([20.0, 300.0])
    pileup = detector.PILEUP_JET * 24**0.5 / pt
    assert np.hypot(detector.jet_resolution(pt), pileup) == pytest.approx([0.24, 0.06], abs=0.001)
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


def test_resolution_of_jets_in_pileup_is_the_published_one() -> None:
    assert np.hypot(detector.JET_NOISE, detector.PILEUP_JET * 24**0.5) == pytest.approx(2.53, abs=0.01)


def test_path_to_the_calorimeter_is_straight() -> None:
    path = detector.path_to_calorimeter(np.array([0.0, 1.0, -2.5]))
    assert path == pytest.approx([1150, 1150, 3510 / np.sinh(2.5)])


@pytest.mark.parametrize("power", [0.0, -0.8, 1.5])
def test_em_fakes_against_an_integral(power: float) -> None:
    """Probabilities, and the distribution of drawn shares, against sums over a fine grid."""
    fakes = Fakes(probability=0.5, power=power, softness=9.6)
    pt = np.array([12.0, 40.0, 150.0])
    p, upto = detector.em_fakes(pt, np.zeros(3), fakes, 10.0)
    u = (np.arange(4000) + 0.5) / 4000
    for i, x in enumerate(pt):
        z = np.linspace(10 / x, 1, 20_001)
        density = 0.5 * 9.6 * np.exp(-9.6 * z) * (z * x / 20) ** power
        assert p[i] == pytest.approx(np.trapezoid(density, z), rel=5e-3)
        drawn = detector.em_fake_share(np.full(4000, x), np.repeat(upto[i : i + 1], 4000, 0), 10.0, u)
        assert drawn.mean() == pytest.approx(np.average(z, weights=density), rel=5e-3)
        assert drawn.min() > 10 / x
    outside, _ = detector.em_fakes(pt, np.full(3, 1.4), fakes, 10.0)
    assert outside.tolist() == [0, 0, 0]


def test_b_tags_have_the_shares_of_their_working_points() -> None:
    """At a pT between those of b jets in top pairs, over which the working points are defined."""
    u = (np.arange(20_000) + 0.5) / 20_000
    pt = np.full(len(u), 45.0)
    tags = {f: detector.b_tag(pt, np.full(len(u), f), u) for f in (0, 4, 5)}
    for level, share in zip((1, 2, 3, 4), (0.85, 0.77, 0.70, 0.60), strict=True):
        assert (tags[5] >= level).mean() == pytest.approx(share, abs=0.07)
        assert (tags[0] >= level).mean() < (tags[4] >= level).mean() < (tags[5] >= level).mean()
    assert (tags[0] >= 2).mean() == pytest.approx(1 / 134, rel=0.15)


def test_levels_are_nested() -> None:
    at = detector.levels((0.9, 0.5, 0.1), np.array([0.05, 0.3, 0.7, 0.95]))
    assert at.tolist() == [3, 2, 1, 0]


def test_missing_momentum_has_tails() -> None:
    """The variance is that of the widths: of all, of all but the tails, and of the tails alone."""
    rng = np.random.default_rng(1)
    n = 400_000
    sums = {f"{name}_{axis}": np.zeros(n) for name in ("invisible", "mismeasured") for axis in "xy"}
    sums["soft_et"] = np.full(n, 400.0)
    width = 20 * detector.MET_SOFT
    assert sum(share for share, _ in detector.EVERY.widths) == pytest.approx(1.0)
    for part in (detector.EVERY, detector.TAILS):
        widths = part.widths
        pt, phi = detector.missing_vector(sums, rng.random((3, n)), part)
        expected = np.average([f**2 for _, f in widths], weights=[s for s, _ in widths]) * width**2
        assert (pt * np.cos(phi)).var() == pytest.approx(expected, rel=0.02)
        beyond = np.average([np.exp(-0.5 * (12 / f) ** 2) for _, f in widths], weights=[s for s, _ in widths])
        assert (pt > 12 * width).mean() == pytest.approx(beyond, abs=4 * (beyond / n) ** 0.5 + 1e-5)


def test_parts_of_missing_momentum_add_up() -> None:
    """With their shares as weights they have the spectrum of all fluctuations."""
    rng = np.random.default_rng(2)
    n = 400_000
    sums = {f"{name}_{axis}": np.zeros(n) for name in ("invisible", "mismeasured") for axis in "xy"}
    sums["soft_et"] = np.full(n, 400.0)
    width = 20 * detector.MET_SOFT
    parts = (detector.INNER, detector.OUTER, detector.TAILS)
    found = [detector.missing_vector(sums, rng.random((3, n)), part)[0] / width for part in parts]
    shares = [part.share for part in parts]
    assert sum(shares) == pytest.approx(1.0)
    for threshold in (0.5, 1.5, 3.0, 4.0, 6.0, 9.0):
        above = [(pt > threshold).mean() for pt in found]
        exact = sum(share * np.exp(-0.5 * (threshold / f) ** 2) for share, f in detector.EVERY.widths)
        error = np.hypot.reduce([s * np.sqrt(a / n) for s, a in zip(shares, above, strict=True)])
        assert np.dot(shares, above) == pytest.approx(exact, abs=4 * error + 1e-9)
    assert found[1].min() > np.sqrt(-2 * np.log(detector.MET_OUTER)) - 1e-9
