"""Efficiencies of weights of both signs; the others are in test_efficiency.py."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.studies.intervals import Curve, Profile, Sums


def signed_curve(passes: BoolArray, weight: FloatArray, fraction: float = 1.0) -> Curve:
    """Of some toys with as many events each; each toy is a bin. fraction: of an event that passes."""
    toys, n = weight.shape
    words = np.stack([passes.ravel(), weight.ravel() < 0], axis=1).astype(np.uint64)
    table = count_patterns(0, words, weight.ravel(), Keys(bin=np.repeat(np.arange(toys), n)))
    accepted = table.words[:, 0] * fraction
    sums = Sums(table, Profile("x", tuple(range(toys + 1))))
    return sums.curve("toy", None, accepted, np.zeros(len(table)))


@pytest.mark.parametrize("negative", [0.05, 0.2])
def test_intervals_of_weights_of_both_signs_cover_two_thirds(negative: float) -> None:
    """And hold the value, which is outside of 0 to 1 in some toys."""
    rng = np.random.default_rng(3)
    outside, covered = [], []
    for truth in (0.02, 0.1, 0.5, 0.95):
        passes = rng.random((800, 200)) < truth
        signs = np.where(rng.random((800, 200)) < negative, -1.0, 1.0)
        curve = signed_curve(passes, signs * rng.lognormal(0, 0.3, (800, 200)))
        assert ((curve.low <= curve.value) & (curve.value <= curve.high)).all()
        outside.append(((curve.value < 0) | (curve.value > 1)).mean())
        covered.append(((curve.low <= truth) & (truth <= curve.high)).mean())
    assert outside[0] > 0
    assert 0.63 < min(covered) < max(covered) < 0.73


@pytest.mark.parametrize(
    ("weights", "value", "variance"),
    [
        ((1.0, -0.5, 2.0), 0.5 / 2.5, (0.8**2 * 1.25 + 0.2**2 * 4) / 2.5**2),
        ((3.0, 1.0, -1.0), 4 / 3, ((1 / 3) ** 2 * 10 + (4 / 3) ** 2) / 9),
        ((-1.0, 0.0, 2.0), -1.0, 4 * 1.0 + 1 * 4),
        ((1.0, -1.0, 2.0), 0.0, 2 / 4),
    ],
)
def test_an_interval_outside_of_0_to_1_is_one_standard_deviation(
    weights: tuple[float, ...], value: float, variance: float
) -> None:
    """The first two of three events pass."""
    curve = signed_curve(np.array([[True, True, False]]), np.array([weights]))
    assert curve.value[0] == pytest.approx(value)
    assert curve.low[0] == pytest.approx(value - math.sqrt(variance))
    assert curve.high[0] == pytest.approx(value + math.sqrt(variance))


@pytest.mark.parametrize("weights", [(-1.0, -1.0, -1.0), (-1.0, -3.0, -2.0)])
def test_negative_weights_alone_are_like_positive_ones(weights: tuple[float, ...]) -> None:
    passes = np.array([[True, True, False]])
    curve, other = signed_curve(passes, np.array([weights])), signed_curve(passes, -np.array([weights]))
    assert (curve.value, curve.low, curve.high) == (other.value, other.low, other.high)
    assert curve.gain_error == other.gain_error > 0


def test_weights_that_add_up_to_nothing_have_no_efficiency() -> None:
    curve = signed_curve(np.array([[True, False, False]]), np.array([[1.0, -3.0, 2.0]]))
    assert all(math.isnan(number[0]) for number in (curve.value, curve.low, curve.high, curve.gain))


def test_a_fraction_that_is_1_but_for_rounding_is_1() -> None:
    passes, weight = np.array([[True, True]]), np.array([[12.3, 130.5]])
    exact, rounded = (signed_curve(passes, weight, one) for one in (1.0, float(np.nextafter(1.0, 0.0))))
    assert (rounded.value, rounded.low, rounded.high) == (exact.value, exact.low, exact.high)
    assert 0.5 < exact.low[0] < 0.6
