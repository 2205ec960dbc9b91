from __future__ import annotations

import numpy as np
import pytest
from generate_toys import interactions
from trigemu_simulation.config import Crossings
from trigemu_simulation.targets import lowest_target, target

MODEL = Crossings(
    photon_weight_hz=0.5,
    muon_weight_hz=50.0,
    jet_weight_hz=2.0,
    missing_weight_hz=8.0,
    quiet_weight_hz=2000.0,
)


def of(met: float = 0.0, **objects: list[float]) -> float:
    rows = interactions([objects.pop("jet", [])], **{kind: [pt] for kind, pt in objects.items()})
    return float(lowest_target(rows.objects, np.array([met]), MODEL)[0])


def test_the_rarest_object_decides() -> None:
    assert of() == 2000.0
    assert of(jet=[100.0]) == pytest.approx(2.0)
    assert of(jet=[50.0]) == pytest.approx(16.0)
    assert of(jet=[50.0], photon=[40.0]) == pytest.approx(0.03125)
    assert of(jet=[50.0], electron=[10.0]) == pytest.approx(0.5)
    assert of(muon=[8.0]) == pytest.approx(6.25)
    assert of(met=30.0) == pytest.approx(16 * of(met=60.0))
    assert of(met=120.0) == pytest.approx(of(met=60.0) / 2)


def test_several_objects_are_rarer_than_one() -> None:
    assert of(muon=[8.0, 4.5]) == pytest.approx(0.01 * of(muon=[4.0]))
    assert of(jet=[40.0] * 4) == pytest.approx(2.0 * (40 / 35) ** -3)
    assert of(jet=[90.0, 90.0, 90.0, 90.0]) < of(jet=[90.0, 90.0])
    assert of(jet=[79.0]) == pytest.approx(
        2.0 * 0.79**-3
    )  # missing HT of 79 GeV is more frequent than the jet
    assert of(jet=[80.0, 80.0, 80.0]) == pytest.approx(min(20.0 * (240 / 200) ** -4, 2.0 * 0.8**-3))


def test_thresholds_get_equal_numbers_where_rates_fall_as_targets_do() -> None:
    pt = np.geomspace(20, 200, 20)
    for kind in ("jet", "tau", "muon", "photon", "electron", "missing"):
        assert (np.diff(target(kind, pt, MODEL)) < 0).all()
