from __future__ import annotations

import numpy as np
import pytest

from trigemu.generate import detector, events
from trigemu.generate.config import Fakes
from trigemu.generate.interactions import OBJECTS, SCALARS, Interactions, Objects

NONE = Fakes(probability=0.0)


def of(counts: list[int] | np.ndarray, **columns: object) -> Objects:
    made = {k: np.asarray(c, np.float32) for k, c in columns.items()}
    return Objects(np.asarray(counts), made)


def jets_only(counts: np.ndarray, pt: np.ndarray, eta: np.ndarray, hadronic: np.ndarray) -> Interactions:
    n = len(counts)
    scalars = {k: np.zeros(n, np.float32) for k in SCALARS} | {"weight": np.ones(n)}
    empty = {"pt": [], "eta": [], "phi": []}
    objects = {
        kind: of(np.zeros(n, int), **empty, **{key: [] for key in extra}) for kind, extra in OBJECTS.items()
    }
    objects["jet"] = of(counts, pt=pt, eta=eta, phi=np.zeros(len(pt)), hadronic=hadronic)
    return Interactions(scalars, objects)


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


def test_fake_probability_closure() -> None:
    """Of jets in acceptance the configured fraction fakes, of others and of true photons none."""
    n = 40_000
    pt, eta = np.tile([30.0, 25.0, 24.0, 23.0], n), np.tile([1.0, 1.0, 1.45, 3.0], n)
    rows = jets_only(np.full(n, 4), pt, eta, np.tile([1, 0, 1, 1], n))
    fakes = Fakes(probability=0.04, slope=1.0, energy_fraction=(0.8, 1.0))
    made = events.make(rows, 0, 3, 11, fakes)
    photons = made.objects["photon"]
    assert photons.counts.max() == 1
    expected = 0.06
    assert photons.counts.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / n))
    assert photons.columns["fake"].all()
    fraction = photons.columns["pt"] / 30
    assert fraction.min() == pytest.approx(0.8, abs=0.01)
    assert fraction.max() == pytest.approx(1.0, abs=0.01)
    assert fraction.mean() == pytest.approx(0.9, abs=0.01)
    assert (made.objects["jet"].counts == 4).all()


def test_fakes_and_photons_are_merged_in_order() -> None:
    rows = jets_only(np.array([1, 1]), np.array([40.0, 12.0]), np.zeros(2), np.ones(2))
    rows.objects["photon"] = of([2, 1], pt=[60, 15, 50], eta=[0, 1, 2], phi=[1, 1, 1])
    sure = Fakes(probability=1.0, energy_fraction=(1.0, 1.0))
    photons = events.make(rows, 0, 0, 1, sure).objects["photon"]
    assert photons.counts.tolist() == [3, 2]
    assert photons.columns["pt"].tolist() == pytest.approx([60, 40, 15, 50, 12], rel=2.0**-12)
    assert photons.columns["fake"].tolist() == [0, 1, 0, 0, 1]
    assert photons.columns["fake"].dtype == np.int32


def test_events_do_not_depend_on_their_neighbours() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, 300)
    pt = -np.sort(-rng.uniform(8, 90, counts.sum()))
    rows = jets_only(counts, pt, rng.uniform(-3, 3, len(pt)), np.ones(len(pt)))
    rows.scalars["soft_et"][:] = 50
    fakes = Fakes(probability=0.3)
    whole = events.make(rows, 0, 2, 5, fakes)
    tail = events.make(rows.of(np.arange(300) >= 100), 100, 2, 5, fakes)
    for name, column in tail.scalars.items():
        assert np.array_equal(column, whole.scalars[name][100:])
    last = whole.objects["photon"].of(np.arange(300) >= 100)
    assert np.array_equal(last.columns["pt"], tail.objects["photon"].columns["pt"])
    assert last.counts.sum() > 20


def test_parents_differ_between_slices() -> None:
    rows = jets_only(np.zeros(5, int), np.zeros(0), np.zeros(0), np.zeros(0))
    parents = [events.make(rows, 0, k, 1, NONE).scalars["parent"] for k in (0, 1, 255)]
    assert len(np.unique(parents)) == 15
    assert np.array_equal(events.make(rows, 7, 1, 1, NONE).scalars["event"], np.arange(7, 12))


def test_thresholds() -> None:
    rows = jets_only(np.array([3]), np.array([30.0, 20.5, 19.0]), np.zeros(3), np.ones(3))
    made = events.make(rows, 0, 0, 1, NONE)
    assert made.objects["jet"].columns["pt"].tolist() == pytest.approx([30.0, 20.5], rel=2.0**-12)
    assert "hadronic" not in made.objects["jet"].columns


def test_missing_momentum_closure() -> None:
    n = 50_000
    rows = jets_only(np.zeros(n, int), np.zeros(0), np.zeros(0), np.zeros(0))
    rows.scalars["invisible_x"][:] = 30.0
    rows.scalars["soft_et"][:] = 400.0
    met, phi = events.missing_momentum(rows, np.arange(n, dtype=np.uint64), 1)
    x, y = met * np.cos(phi), met * np.sin(phi)
    width = detector.MET_SOFT * 20
    assert x.mean() == pytest.approx(30, abs=5 * width / np.sqrt(n))
    assert y.mean() == pytest.approx(0, abs=5 * width / np.sqrt(n))
    assert [x.std(), y.std()] == pytest.approx([width, width], rel=0.02)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.02


def test_rounding() -> None:
    values = np.random.default_rng(1).lognormal(3, 2, 10_000).astype(np.float32)
    rounded = events.round_mantissa(values)
    assert np.abs(rounded / values - 1).max() <= 2.0**-13
    assert np.array_equal(events.round_mantissa(rounded), rounded)
    assert (rounded.view(np.uint32) & 0x7FF == 0).all()
    assert events.round_mantissa(np.array([0.0], np.float32)) == 0


@pytest.mark.parametrize("kept", [6, 8, 9, 12])
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
