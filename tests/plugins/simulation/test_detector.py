from __future__ import annotations

import itertools

import numpy as np
import pytest
from trigemu_simulation import detector
from trigemu_simulation.config import Crossings, Fakes


def test_jet_resolution_passes_through_the_published_points() -> None:
    """With the pile-up of the data that they are from, 24 interactions."""
    pt = np.array([20.0, 300.0])
    pileup = detector.PILEUP_JET * 24**0.5 / pt
    assert np.hypot(detector.jet_resolution(pt), pileup) == pytest.approx([0.24, 0.06], abs=0.001)
    pt = np.geomspace(1, 3000, 50)
    assert (np.diff(detector.jet_resolution(pt)) <= 0).all()


@pytest.mark.parametrize(
    ("pt", "eta", "expected"), [(25.0, 0.0, np.hypot(0.101 / 5, 0.0017)), (100.0, 2.0, 0.101 / 19.4)]
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
    p = detector.em_fakes(pt, np.zeros(3), fakes, 10.0)
    u = (np.arange(4000) + 0.5) / 4000
    for i, x in enumerate(pt):
        z = np.linspace(10 / x, 1, 20_001)
        density = 0.5 * 9.6 * np.exp(-9.6 * z) * (z * x / 20) ** power
        assert p[i] == pytest.approx(np.trapezoid(density, z), rel=1e-3)
        drawn = detector.em_fake_share(np.full(4000, x), fakes, 10.0, u)
        assert drawn.mean() == pytest.approx(np.average(z, weights=density), rel=1e-3)
        assert drawn.min() > 10 / x
    outside = detector.em_fakes(pt, np.full(3, 1.4), fakes, 10.0)
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


def test_jets_are_measured_with_their_resolution_or_badly() -> None:
    """Mean and width of the Gaussian part; of the tail, half below with equal shares, half above."""
    n = 200_000
    rng = np.random.default_rng(1)
    pt, flavour, eta = np.full(n, 60.0), np.zeros(n, np.int8), np.zeros(n)
    flavour[::2] = -1
    normal, u = rng.standard_normal(n), rng.random(n)
    usual = detector.jet_response(pt, flavour, eta, normal, np.zeros(n, bool), u)
    for kind, width in ((0, detector.jet_resolution(pt[:1])), (-1, detector.em_resolution(pt[:1], eta[:1]))):
        mine = usual[flavour == kind]
        assert mine.mean() == pytest.approx(1.0, abs=4 * width[0] / (n / 2) ** 0.5)
        assert mine.std() == pytest.approx(width[0], rel=0.01)
    badly = detector.jet_response(pt, flavour, eta, normal, np.ones(n, bool), u)
    low, high = badly[badly < 1], badly[badly >= 1]
    assert len(low) == pytest.approx(n / 2, abs=4 * n**0.5 / 2)
    assert (low.mean(), low.std()) == pytest.approx((1 / 2, 12**-0.5), rel=0.01)
    assert (high.mean() - 1, high.std()) == pytest.approx((detector.JET_GAIN, detector.JET_GAIN), rel=0.02)


def test_missing_momentum_is_a_vector_sum() -> None:
    """Of neutrinos and of what jets lack, with a soft part that fluctuates by the root of its energy."""
    sums = {
        "invisible_x": np.array([20.0]),
        "invisible_y": np.zeros(1),
        "mismeasured_x": np.zeros(1),
        "mismeasured_y": np.array([15.0]),
        "soft_et": np.array([100.0]),
    }
    for first, second in ((0.0, 0.0), (1.0, -2.0)):
        pt, phi = detector.missing_vector(sums, np.array([first]), np.array([second]))
        expected = 20 + first * 10 * detector.MET_SOFT, 15 + second * 10 * detector.MET_SOFT
        assert (pt[0] * np.cos(phi[0]), pt[0] * np.sin(phi[0])) == pytest.approx(expected)


BUSY = Crossings(busy_fraction=0.1, busy_factor=6.0, photon_weight_hz=0.5, multiple_boost=4.0)
P = np.array([0.05, 0.02, 0.1, 0.08])
OFFSETS = np.array([0, 3, 3, 4])


def subsets(p: np.ndarray, model: Crossings) -> dict[tuple[int, ...], float]:
    """The probability of each set of jets that fake, from the definition."""
    result = {}
    for chosen in itertools.product((0, 1), repeat=len(p)):
        total = 0.0
        for z, share in zip(*detector.busy_modes(model), strict=True):
            x = np.minimum(z * p, 1.0)
            total += share * float(np.prod(np.where(chosen, x, 1 - x)))
        result[chosen] = total
    return result


def test_the_factor_is_one_on_average() -> None:
    z, share = detector.busy_modes(BUSY)
    assert share.sum() == pytest.approx(1.0)
    assert (z * share).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("model", [Crossings(), BUSY])
def test_probabilities_agree_with_enumeration(model: Crossings) -> None:
    result = detector.multiplicity(OFFSETS, P, model)
    for i in range(3):
        everything = subsets(P[OFFSETS[i] : OFFSETS[i + 1]], model)
        for k, mine in enumerate((result.none[i], result.one[i])):
            assert mine == pytest.approx(sum(v for s, v in everything.items() if sum(s) == k))
        several = sum(v for s, v in everything.items() if sum(s) >= 2)
        assert result.several[i] == pytest.approx(several, abs=1e-15)


def test_a_jet_that_surely_fakes() -> None:
    result = detector.multiplicity(np.array([0, 2]), np.array([1.0, 0.5]), Crossings())
    assert (result.none[0], result.one[0], result.several[0]) == pytest.approx((0.0, 0.5, 0.5))


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_which_jets_fake_follows_the_truth(chosen: int) -> None:
    n, rng = 200_000, np.random.default_rng(1)
    p = P[:3]
    offsets = np.arange(n + 1) * 3
    taken = detector.choose_jets(
        offsets, np.tile(p, n), np.full(n, chosen), rng.random(n), rng.random(3 * n), BUSY
    ).reshape(n, 3)
    counts = taken.sum(axis=1)
    assert (counts >= 2).all() if chosen == 2 else (counts == chosen).all()
    everything = {s: v for s, v in subsets(p, BUSY).items() if min(sum(s), 2) == chosen}
    total = sum(everything.values())
    for s, v in everything.items():
        expected = v / total
        error = np.sqrt(expected * (1 - expected) / n)
        assert (taken == s).all(axis=1).mean() == pytest.approx(expected, abs=4 * error + 1e-12)


def test_both_copies_of_a_crossing_are_the_truth() -> None:
    """Weighted probabilities of any set of jets faking agree with plain simulation, and cost less."""
    n, rng = 50_000, np.random.default_rng(2)
    p = np.tile(P[:3] / 5, n)
    offsets = np.arange(n + 1) * 3
    true = detector.multiplicity(offsets, p, BUSY)
    result: dict[tuple[bool, ...], tuple[float, float]] = {}
    for fake in (False, True):
        proposal = detector.proposed(true, fake, BUSY)
        chosen = proposal.choose(rng.random(n), rng.random(n))
        assert ((chosen > 0) == fake).all()
        weight = proposal.ratio(true, chosen)
        taken = detector.choose_jets(offsets, p, chosen, rng.random(n), rng.random(3 * n), BUSY).reshape(n, 3)
        for s in subsets(P[:3] / 5, BUSY):
            mine = weight * (taken == s).all(axis=1)
            mean, variance = result.get(s, (0.0, 0.0))
            result[s] = mean + mine.mean(), variance + mine.var() / n
    for s, expected in subsets(P[:3] / 5, BUSY).items():
        mean, variance = result[s]
        assert mean == pytest.approx(expected, abs=4 * variance**0.5 + 1e-12)
    assert sum(mean for mean, _ in result.values()) == pytest.approx(1.0, abs=0.01)


def test_a_crossing_whose_jets_cannot_fake_has_one_copy() -> None:
    true = detector.multiplicity(np.array([0, 0, 1]), np.array([0.2]), Crossings())
    for fake, expected in ((False, [1.0, 0.8]), (True, [0.0, 0.2])):
        proposal = detector.proposed(true, fake, Crossings())
        chosen = proposal.choose(np.zeros(2), np.ones(2) * 0.5)
        assert proposal.ratio(true, chosen) == pytest.approx(expected)


def test_crowded_crossings_fake_less() -> None:
    p = detector.crowded(OFFSETS, P, 0.085)
    assert p == pytest.approx([0.025, 0.01, 0.05, 0.08])
