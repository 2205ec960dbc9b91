"""Targets of weights, and the search for a luminosity and fakes that give published rates."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from generate_toys import interactions
from trigemu_simulation import Config, ConfigError, config, tuning
from trigemu_simulation.config import Crossings
from trigemu_simulation.targets import lowest_target, target
from trigemu_simulation.tuning import PHOTON_HZ, POWER_ANY, POWER_HARD, TARGETS, TWO_PHOTON_SHARE, Step

from trigemu.api import Rate


def model(c: Config) -> dict[str, Rate]:
    """A toy detector that answers to luminosity and fakes by the laws the tuning assumes, not quite."""
    assert c.crossings is not None
    jets = 2e-30 * c.luminosity_cm2s
    fakes = c.fakes.probability / 3e-3 * jets
    any_ = 15.0 * fakes * 2.0 ** -(0.9 * c.fakes.power)
    hard = 0.2 * fakes * 2.0 ** (c.fakes.power) + 0.01 * jets
    hz = {"J100": jets, "G30": hard, "photon": any_, "photon_alone": any_ - 0.9 * hard}
    hz["two_photons"] = 0.002 * c.crossings.busy_factor * any_
    return {name: Rate(value, 0.01 * value, 100, 100.0, None) for name, value in hz.items()}


def start(tmp_path: Path) -> Config:
    return msgspec.structs.replace(
        config.load_config("first"),
        luminosity_cm2s=5e33,
        fakes=config.Fakes(probability=1e-3, power=0.0),
        crossings=config.Crossings(busy_fraction=0.05, busy_factor=8.0),
    )


def test_converges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[Path, Config] = {}
    steps: list[Step] = []

    def make(c: Config) -> Path:
        path = tmp_path / str(len(seen))
        seen[path] = c
        return path

    monkeypatch.setattr(tuning, "measure", lambda path: model(seen[path]))
    monkeypatch.setattr(tuning, "STEPS", 8)
    final = tuning.tune(start(tmp_path), make, steps.append)
    rates = model(final)
    assert rates["J100"].hz == pytest.approx(TARGETS["J100"], rel=0.01)
    assert rates["G30"].hz == pytest.approx(TARGETS["G30"], rel=0.02)
    assert rates["photon"].hz == pytest.approx(PHOTON_HZ, rel=0.02)
    assert rates["two_photons"].hz / rates["photon"].hz == pytest.approx(TWO_PHOTON_SHARE, rel=0.02)
    assert len(steps) == 8
    assert POWER_ANY < 0 < POWER_HARD


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    plain = msgspec.structs.replace(start(tmp_path), crossings=None)
    with pytest.raises(ConfigError, match="only a configuration with \\[crossings\\]"):
        tuning.tune(plain, lambda c: tmp_path, lambda step: None)
    nothing = model(start(tmp_path)) | {"G30": Rate(0.0, 0.0, 0, 0.0, 1.0)}
    with pytest.raises(ConfigError, match="no crossing passes 'G30'"):
        tuning.improved(Step(start(tmp_path), nothing))


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
