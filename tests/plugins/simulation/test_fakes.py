from __future__ import annotations

import itertools

import numpy as np
import pytest
from trigemu_simulation import detector
from trigemu_simulation.config import Crossings

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
        proposal = detector.divided(true, fake, BUSY)
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
        proposal = detector.divided(true, fake, Crossings())
        chosen = proposal.choose(np.zeros(2), np.ones(2) * 0.5)
        assert proposal.ratio(true, chosen) == pytest.approx(expected)


def test_crowded_crossings_fake_less() -> None:
    p = detector.crowded(OFFSETS, P, 0.085)
    assert p == pytest.approx([0.025, 0.01, 0.05, 0.08])
