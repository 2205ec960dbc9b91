from __future__ import annotations

import generate_toys as toys
import numpy as np
import pytest

from trigemu.generate import crossings, detector
from trigemu.generate.config import Config, Fakes
from trigemu.generate.events import EventColumns
from trigemu.generate.interactions import Interactions

NONE = Fakes(probability=0.0)


def config(fakes: Fakes) -> Config:
    pool = toys.pool("a", 0, toys.interactions([[]]))
    return toys.config([pool], 1.0, fakes, fakes_max=1.0)


def events(rows: Interactions, fakes: Fakes = NONE, number: int = 0) -> EventColumns:
    return crossings.single(rows, number, config(fakes))


def test_fakes_are_as_frequent_as_configured() -> None:
    """Of jets in acceptance, none that is a true photon; photons and electrons in their proportion."""
    n = 60_000
    rows = toys.interactions([[40.0, 30.0]] * n)
    rows.objects["jet"].columns["flavour"][1::2] = -1
    fakes = Fakes(probability=0.5, electrons=0.5)
    found = events(rows, fakes)
    expected = 0.5 * (np.exp(-9.6 / 4) - np.exp(-9.6))
    photons, electrons = found.objects["photon"], found.objects["electron"]
    for objects, share in ((photons, expected), (electrons, 0.5 * expected)):
        assert objects.counts.mean() == pytest.approx(share, rel=0.05)  # pile-up noise moves a jet's pT
        assert objects.columns["fake"].all()
        assert objects.columns["pt"].min() > 10
    assert abs(electrons.columns["charge"].mean()) < 0.1
    assert (found.objects["jet"].counts == 2).all()
    # what is left of the jet is around the photon
    around = photons.columns["isolation"] * photons.columns["pt"] + photons.columns["pt"]
    assert np.median(around[photons.columns["isolation"] < 1.9]) == pytest.approx(40, rel=0.06)


def test_events_do_not_depend_on_their_neighbours() -> None:
    rng = np.random.default_rng(1)
    rows = toys.interactions(
        [sorted(rng.uniform(9, 90, rng.integers(0, 5)), reverse=True) for _ in range(300)]
    )
    rows.scalars["soft_et"][:] = 50
    fakes = Fakes(probability=20.0, electrons=1.0, taus=0.5)
    whole = events(rows, fakes)
    head = events(rows.of(np.arange(300) < 100), fakes)
    for name, column in head.scalars.items():
        assert np.array_equal(column, whole.scalars[name][:100])
    for kind, objects in head.objects.items():
        same = whole.objects[kind].of(np.arange(300) < 100)
        assert objects.counts.sum() > 20 or kind == "muon"
        for name, column in objects.columns.items():
            assert np.array_equal(column, same.columns[name]), (kind, name)


def test_true_objects_keep_what_they_are() -> None:
    """Levels of identification have their shares, and isolation is the cone over pT."""
    n = 20_000
    rows = toys.interactions(
        [[]] * n, muon=[[20.0]] * n, electron=[[30.0]] * n, photon=[[40.0]] * n, tau=[[50.0]] * n
    )
    rows.objects["muon"].columns["origin"][:] = np.arange(n) % 3
    rows.objects["photon"].columns["cone"][:] = 20.0
    found = events(rows).objects
    quality = found["muon"].columns["quality"]
    for origin, (share,) in enumerate(detector.MUON_LEVELS.values()):
        assert (quality[origin::3] == 2).mean() == pytest.approx(share, abs=0.02)
    levels = found["electron"].columns["identification"]
    assert [(levels >= k).mean() for k in (1, 2, 3)] == pytest.approx(
        detector.ELECTRON_LEVELS["prompt"], abs=0.02
    )
    assert found["photon"].columns["isolation"].mean() == pytest.approx(0.5, rel=0.02)
    assert found["tau"].columns["fake"].sum() == 0
    assert [(found["tau"].columns["identification"] >= k).mean() for k in (1, 2, 3)] == pytest.approx(
        detector.TAU_LEVELS["true"], abs=0.02
    )
    assert all(set(o.columns) & {"flavour", "origin", "cone", "source"} == set() for o in found.values())


def test_jets_are_taken_for_taus() -> None:
    n = 40_000
    found = events(toys.interactions([[80.0]] * n), Fakes(probability=0.0, taus=0.4)).objects["tau"]
    assert found.counts.mean() == pytest.approx(0.4 * 4**detector.TAU_FAKE_POWER, rel=0.05)
    assert (found.columns["identification"] >= 3).mean() == pytest.approx(
        detector.TAU_LEVELS["fake"][2], abs=0.01
    )
    assert np.median(found.columns["pt"]) == pytest.approx(80 * detector.TAU_SCALE, rel=0.01)


def test_thresholds() -> None:
    found = events(toys.interactions([[60.0, 40.0, 9.0]] * 200))
    assert (found.objects["jet"].counts == 2).all()


def test_pileup_widens_jets_with_the_number_of_interactions() -> None:
    for number in (1, 25):
        rows = toys.interactions([[60.0]] * 4000)
        pool = toys.pool("a", 0, rows)
        made = crossings.overlay.overlay(
            [crossings.Drawn(pool, np.arange(4000), np.arange(4000), True)], 4000
        )
        made.interactions[:] = number
        keys = np.arange(4000, dtype=np.uint64)
        objects, _ = crossings.observe(made, keys, config(NONE), None)
        width = objects["jet"].columns["pt"].std()
        assert width == pytest.approx(detector.PILEUP_JET * number**0.5, rel=0.06)


def test_parents_differ_between_slices() -> None:
    rows = toys.interactions([[]] * 5)
    parents = [events(rows, number=k).scalars["parent"] for k in (0, 1, 254)]
    assert len(np.unique(parents)) == 15
