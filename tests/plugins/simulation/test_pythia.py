from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from trigemu_simulation import Slice, pythia
from trigemu_simulation.pythia import HADRONS, Particles

FAST = "PartonLevel:all = off"  # the hard scattering alone: no particles, but weight and p̂T


def part(*settings: str) -> Slice:
    return Slice(name="test", description="", settings=list(settings), blocks=1)


def test_equal_seeds_give_equal_particles_which_are_final_and_conserve_momentum() -> None:
    def generated(seed: int) -> pythia.Particles:
        generator = pythia.Generator(part("SoftQCD:nonDiffractive = on"), seed)
        (particles,) = generator.batches(20)
        return particles

    particles = generated(3)
    assert np.array_equal(particles.px, generated(3).px)
    assert not np.array_equal(particles.px[:50], generated(4).px[:50])
    energy = np.add.reduceat(particles.e, particles.offsets[:-1])
    assert energy == pytest.approx(np.full(20, 13000.0), rel=1e-6)
    assert np.add.reduceat(particles.px, particles.offsets[:-1]) == pytest.approx(0, abs=1e-3)
    assert 111 in particles.id
    assert not particles.prompt[np.isin(particles.id, [11, -11, 12, -12])].all()


@pytest.mark.slow
def test_biased_cross_section_agrees_with_unbiased() -> None:
    """σ(p̂T > 60 GeV) from generation biased and started at 20 GeV, and from unbiased one at 60."""
    bias = [f"PhaseSpace:bias2Selection{s}" for s in (" = on", "Pow = 3.", "Ref = 20.")]
    biased = pythia.Generator(part("HardQCD:all = on", "PhaseSpace:pTHatMin = 20.", FAST, *bias), 1)
    batches = list(biased.batches(10_000))
    weight = np.concatenate([p.weight for p in batches])
    hard = np.concatenate([p.pt_hat for p in batches]) > 60
    sigma = biased.cross_section()
    value = sigma * weight[hard].sum() / weight.sum()
    error = np.hypot(sigma * np.sqrt((weight[hard] ** 2).sum()) / weight.sum(), 0.01 * value)

    direct = pythia.Generator(part("HardQCD:all = on", "PhaseSpace:pTHatMin = 60.", FAST), 2)
    assert sum(len(p.weight) for p in direct.batches(5000)) == 5000
    truth = direct.cross_section()
    assert value == pytest.approx(truth, abs=3 * np.hypot(error, 0.01 * truth))
    assert error < 0.05 * value


@pytest.mark.slow
def test_cross_section_of_radiated_photons_agrees_with_that_of_all_interactions() -> None:
    """Interactions that end early are counted with their weights: the bias prefers those that radiate."""
    bias = [f"PhaseSpace:bias2Selection{s}" for s in (" = on", "Pow = 3.", "Ref = 40.")]
    bare = ["PartonLevel:MPI = off", "HadronLevel:all = off"]
    everything = part("HardQCD:all = on", "PhaseSpace:pTHatMin = 40.", *bare, *bias)
    result = {}
    for radiated, n in (("keep", 6_000), ("only", 800)):
        generator = pythia.Generator(replace(everything, radiated=radiated, radiation_factor=20.0), 1)
        batches = list(generator.batches(n))
        weight = np.concatenate([p.weight for p in batches])
        remaining = weight * np.concatenate([pythia.radiates(p) for p in batches])
        scale = generator.cross_section() / weight.sum()
        result[radiated] = scale * remaining.sum(), scale * np.sqrt((remaining**2).sum())
    (value, error), (truth, spread) = result["only"], result["keep"]
    assert value == pytest.approx(truth, abs=3 * np.hypot(error, spread))
    assert np.hypot(error, spread) < 0.2 * truth


def test_photon_in_the_hard_scattering_is_marked() -> None:
    bare = ["PartonLevel:MPI = off", "HadronLevel:all = off", "PhaseSpace:pTHatMin = 20."]
    photons = pythia.Generator(part("PromptPhoton:all = on", *bare), 1)
    jets = pythia.Generator(part("HardQCD:all = on", *bare), 1)
    assert all(p.photon.all() for p in photons.batches(50))
    assert not any(p.photon.any() for p in jets.batches(50))


def test_unknown_setting_and_no_process_are_named() -> None:
    with pytest.raises(pythia.GeneratorError, match="does not know the setting 'HardQCD:al = on'"):
        pythia.check(part("HardQCD:al = on"))
    with pytest.raises(pythia.GeneratorError, match="switch a process on"):
        pythia.Generator(part("PhaseSpace:pTHatMin = 20."), 1)


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
