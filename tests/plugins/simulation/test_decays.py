from __future__ import annotations

import numpy as np
import pytest
from trigemu_simulation import Slice, pythia
from trigemu_simulation.pythia import HADRONS, Particles

SETTINGS = ["HardQCD:gg2bbbar = on", "HardQCD:qqbar2bbbar = on", "PhaseSpace:pTHatMin = 20."]


def generated(decays: int, n: int) -> Particles:
    part = Slice(name="b", description="", settings=SETTINGS, blocks=1, decays=decays)
    (particles,) = pythia.Generator(part, 1).batches(n)
    return particles


def muons(particles: Particles, pt_min: float) -> np.ndarray:
    """The number of muons of each interaction."""
    event = np.repeat(np.arange(len(particles.weight)), np.diff(particles.offsets))
    hard = np.hypot(particles.px, particles.py) > pt_min
    return np.bincount(event[hard & (np.abs(particles.id) == 13)], minlength=len(particles.weight))


@pytest.mark.slow
def test_many_decays_have_the_mean_of_one() -> None:
    """Of the same interactions: as many muons, with smaller errors; and no weight is lost."""
    one, many = generated(1, 400), generated(60, 250)
    share = np.bincount(many.origin, many.weight, 250)
    assert share == pytest.approx(np.ones(250))
    assert (np.abs(many.id)[:, None] != np.array(HADRONS)).all()
    for pt_min in (3.0, 6.0):
        plain = muons(one, pt_min) > 0
        drawn = np.bincount(many.origin, many.weight * (muons(many, pt_min) > 0), 250)
        errors = plain.std() / 400**0.5, drawn.std() / 250**0.5
        assert drawn.mean() == pytest.approx(plain.mean(), abs=3.5 * np.hypot(*errors))
        assert errors[1] < 0.6 * errors[0] * (400 / 250) ** 0.5
    assert (muons(many, 3.0) > 1).sum() > 20


def test_momentum_is_conserved() -> None:
    particles = generated(20, 15)
    for column in (particles.px, particles.py):
        assert np.add.reduceat(column, particles.offsets[:-1]) == pytest.approx(0, abs=2e-2)
    assert np.add.reduceat(particles.e, particles.offsets[:-1]) == pytest.approx(13000, rel=1e-5)
    # every interaction has its b hadrons, however often it is there
    assert (np.bincount(particles.heavy.event, minlength=len(particles.weight)) >= 2).mean() > 0.9
