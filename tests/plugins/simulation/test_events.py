from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rounding_twin import rounded
from trigemu_simulation import events


def test_uniform_numbers_are_uniform_and_independent() -> None:
    parent = np.arange(100_000, dtype=np.uint64)
    draws = [events.uniform(seed, parent, stream) for seed in (1, 2) for stream in (1, 2, 1 << 32)]
    for u in draws:
        assert u.min() >= 0
        assert u.max() < 1
        counts = np.histogram(u, 100, (0, 1))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() == pytest.approx(99, abs=60)
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.015
    assert np.abs(np.corrcoef(draws) - np.eye(6)).max() < 0.015


@pytest.mark.parametrize("kept", [6, 9])
def test_a_threshold_decides_as_if_values_were_not_rounded(kept: int) -> None:
    """At the ends of steps, of which every whole GeV is one here; on none of them lies a value."""
    values = np.random.default_rng(1).uniform(1, 2.0 ** min(kept, 7), 20_000).astype(np.float32)
    values[:100] = np.arange(100, dtype=np.float32) % 60 + 1
    stored = events.centred(values, kept)
    assert np.abs(stored / values - 1).max() <= 2.0 ** -(kept + 1)
    for threshold in range(1, int(2.0 ** min(kept, 7)), 3):
        assert np.array_equal(stored > threshold, values >= threshold)
        assert not (stored == threshold).any()


def test_values_in_the_middle_of_steps() -> None:
    values = -np.sort(-np.random.default_rng(2).lognormal(3, 2, 5000).astype(np.float32))
    stored = events.centred(values, 8)
    assert (np.diff(stored) <= 0).all()
    assert np.array_equal(events.centred(stored, 8), stored)
    assert (stored.view(np.uint32) & 0x7FFF == 0x4000).all()
    assert events.centred(np.array([0.0, 100.0]), 8).tolist() == [0.0, 100.125]


def test_angles() -> None:
    phi = events.round_angle(np.array([np.pi, -np.pi, 1.0]))
    assert np.abs(phi).max() < np.pi
    assert phi[2] == pytest.approx(1.0, abs=3e-4)


@given(st.floats(2.0**-6, 5000, width=32), st.integers(3, 12), st.booleans())
def test_rounding_agrees_with_that_of_catalogues(value: float, bits: int, middle: bool) -> None:
    makes = events.centred if middle else events.round_mantissa
    assert float(makes(np.array([value], np.float32), bits)[0]) == rounded(value, bits, middle)
