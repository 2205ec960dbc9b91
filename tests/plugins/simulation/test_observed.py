from __future__ import annotations

import generate_toys as toys
import numpy as np
import pytest
from trigemu_simulation import Config, detector, overlay
from trigemu_simulation.config import Fakes
from trigemu_simulation.interactions import Interactions, Objects
from trigemu_simulation.observed import observe

NONE = Fakes(probability=0.0)


def config(fakes: Fakes) -> Config:
    pool = toys.pool("a", 0, toys.interactions([[]]))
    return toys.config([pool], 1.0, fakes, fakes_max=1.0)


def crossing(rows: Interactions, interactions: int = 1) -> tuple[overlay.Crossing, np.ndarray]:
    """Crossings of one toy interaction each, and their keys."""
    n = len(rows)
    drawn = overlay.Drawn(toys.pool("a", 0, rows), np.arange(n), np.arange(n), True)
    result = overlay.overlay([drawn], n)
    result.interactions[:] = interactions
    return result, np.arange(n, dtype=np.uint64)


def objects_of(rows: Interactions, fakes: Fakes = NONE) -> dict[str, Objects]:
    return observe(*crossing(rows), config(fakes)).objects


def test_fakes_are_as_frequent_as_configured() -> None:
    """Of jets in acceptance, none that is a true photon; photons and electrons in their proportion."""
    n = 60_000
    rows = toys.interactions([[40.0, 30.0]] * n)
    rows.objects["jet"].columns["flavour"][1::2] = -1
    fakes = Fakes(probability=0.5, electrons=0.5)
    result = objects_of(rows, fakes)
    expected = 0.5 * (np.exp(-9.6 / 4) - np.exp(-9.6))
    photons, electrons = result["photon"], result["electron"]
    for objects, share in ((photons, expected), (electrons, 0.5 * expected)):
        assert objects.counts.mean() == pytest.approx(share, rel=0.05)  # pile-up noise moves a jet's pT
        assert objects.columns["fake"].all()
        assert objects.columns["pt"].min() > 10
    assert abs(electrons.columns["charge"].mean()) < 0.1
    assert (result["jet"].counts == 2).mean() > 0.97
    # what is left of the jet is around the photon
    around = photons.columns["isolation"] * photons.columns["pt"] + photons.columns["pt"]
    assert np.median(around[photons.columns["isolation"] < 1.9]) == pytest.approx(40, rel=0.06)


def test_true_objects_keep_what_they_are() -> None:
    """Levels of identification have their shares, and isolation is the cone over pT."""
    n = 20_000
    rows = toys.interactions(
        [[]] * n, muon=[[20.0]] * n, electron=[[30.0]] * n, photon=[[40.0]] * n, tau=[[50.0]] * n
    )
    rows.objects["muon"].columns["origin"][:] = np.arange(n) % 3
    rows.objects["photon"].columns["cone"][:] = 20.0
    result = objects_of(rows)
    quality = result["muon"].columns["quality"]
    for origin, (share,) in enumerate(detector.MUON_LEVELS.values()):
        assert (quality[origin::3] == 2).mean() == pytest.approx(share, abs=0.02)
    levels = result["electron"].columns["identification"]
    assert [(levels >= k).mean() for k in (1, 2, 3)] == pytest.approx(
        detector.ELECTRON_LEVELS["prompt"], abs=0.02
    )
    assert result["photon"].columns["isolation"].mean() == pytest.approx(0.5, rel=0.02)
    assert result["tau"].columns["fake"].sum() == 0
    assert [(result["tau"].columns["identification"] >= k).mean() for k in (1, 2, 3)] == pytest.approx(
        detector.TAU_LEVELS["true"], abs=0.02
    )
    assert all(set(o.columns) & {"flavour", "origin", "cone"} == set() for o in result.values())


def test_jets_are_taken_for_taus() -> None:
    n = 40_000
    result = objects_of(toys.interactions([[80.0]] * n), Fakes(probability=0.0, taus=0.4))["tau"]
    assert result.counts.mean() == pytest.approx(0.4 * 4**detector.TAU_FAKE_POWER, rel=0.05)
    assert (result.columns["identification"] >= 3).mean() == pytest.approx(
        detector.TAU_LEVELS["fake"][2], abs=0.01
    )
    assert np.median(result.columns["pt"]) == pytest.approx(80 * detector.TAU_SCALE, rel=0.01)


def test_pileup_widens_jets_with_the_number_of_interactions() -> None:
    for number in (1, 25):
        result, keys = crossing(toys.interactions([[60.0]] * 4000), number)
        seen = observe(result, keys, config(NONE), badly=False)
        resolution = 60 * detector.jet_resolution(np.array([60.0]))[0]
        expected = np.hypot(resolution, detector.PILEUP_JET * number**0.5)
        assert seen.objects["jet"].columns["pt"].std() == pytest.approx(expected, rel=0.05)


def test_missing_momentum_follows_jets() -> None:
    """Without a soft part it is what the jet lacks, but for pile-up noise and rounding; soft jets are not
    in it, nor what is measured as a photon."""
    output, keys = crossing(toys.interactions([[150.0]] * 3000))
    for badly in (False, True):
        seen = observe(output, keys, config(NONE), badly=badly)
        jet = seen.objects["jet"]
        result = jet.counts == 1
        lost = 150 - jet.columns["pt"]
        away = np.where(lost > 0, jet.columns["phi"], jet.columns["phi"] + np.pi)
        assert seen.met[result] == pytest.approx(np.abs(lost), abs=6 * detector.PILEUP_JET)
        certain = np.abs(lost) > 10
        turned = np.cos(seen.met_phi[result] - away)[certain]
        assert turned == pytest.approx(1.0)
        assert np.median(np.abs(lost)) > (60 if badly else 5)
    output.objects["jet"].columns["flavour"][:] = -1
    assert observe(output, keys, config(NONE)).met.max() == 0
    soft, keys = crossing(toys.interactions([[19.0]] * 3000))
    assert observe(soft, keys, config(NONE)).met.max() == 0


def test_copies_with_and_without_a_badly_measured_jet_add_up() -> None:
    """To jets that are badly measured by chance; and their weights to one."""
    result, keys = crossing(toys.interactions([[80.0, 50.0, 30.0], [60.0], [15.0]] * 4000))
    parts = [observe(result, keys, config(NONE), badly=badly) for badly in (False, True)]
    assert sum(part.weight for part in parts) == pytest.approx(1.0)
    assert (parts[1].weight[2::3] == 0).all()
    exact = detector.JET_TAIL * np.array([3.0, 1.0, 0.0])
    for i in range(3):
        assert parts[1].weight[i::3].mean() == pytest.approx(exact[i], rel=0.01, abs=1e-12)
    changed = parts[0].met != parts[1].met
    assert changed[0::3].all()
    assert changed[1::3].all()
    assert not changed[2::3].any()
