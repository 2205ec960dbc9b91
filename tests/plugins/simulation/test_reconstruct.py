from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from generate_toys import of_momenta, particles as toy
from trigemu_simulation import Slice, detector, pythia, reconstruct
from trigemu_simulation.pythia import Particles


def slow_anti_kt(momenta: list[tuple[float, ...]], radius: float) -> list[tuple[float, ...]]:
    """Anti-kT by its definition, E-scheme: merge or finish whatever has the smallest distance."""

    def kinematics(p: tuple[float, ...]) -> tuple[float, float, float]:
        x, y, z, e = p
        return math.hypot(x, y), 0.5 * math.log((e + z) / (e - z)), math.atan2(y, x)

    jets, left = [], list(momenta)
    while left:
        names = [kinematics(p) for p in left]
        best = (math.inf, 0, 0)
        for i, (pt, rapidity, phi) in enumerate(names):
            best = min(best, (pt**-2, i, i))
            for j in range(i):
                dphi = math.remainder(phi - names[j][2], 2 * math.pi)
                dr2 = (rapidity - names[j][1]) ** 2 + dphi**2
                best = min(best, (min(pt**-2, names[j][0] ** -2) * dr2 / radius**2, i, j))
        _, i, j = best
        first = left.pop(i)
        if i == j:
            jets.append(first)
        else:
            second = left.pop(j)
            left.append(tuple(a + b for a, b in zip(first, second, strict=True)))
    return jets


def test_jets_agree_with_the_definition_of_anti_kt() -> None:
    particles = toy(np.random.default_rng(1), [35, 1, 40, 30, 25])
    jets = reconstruct.cluster(particles, np.ones(len(particles.id), bool))
    result = 0
    for event in range(5):
        rows = slice(*particles.offsets[event : event + 2])
        momenta = list(
            zip(*(getattr(particles, c)[rows].tolist() for c in ("px", "py", "pz", "e")), strict=True)
        )
        expected = slow_anti_kt(momenta, detector.JET_RADIUS)
        truth = sorted(j for j in expected if math.hypot(j[0], j[1]) > detector.STORED_PT["jet"])
        mine = jets.where(jets.event == event)
        x, y = mine.pt * np.cos(mine.phi), mine.pt * np.sin(mine.phi)
        z = mine.pt * np.sinh(mine.eta)
        ours = sorted(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))
        assert len(ours) == len(truth)
        assert np.array(ours) == pytest.approx(np.array(truth)[:, :3])
        result += len(truth)
    assert result > 20


def test_cone_sums_agree_with_brute_force() -> None:
    particles = toy(np.random.default_rng(2), [30, 0, 45, 60])
    everything = reconstruct.candidates(particles, np.ones(len(particles.id), bool))
    chosen = everything.where(everything.pt > 8)
    sums = reconstruct.cone_pt(chosen, everything, 0.8, 4)
    close = reconstruct.near(chosen, everything.where(everything.pt < 2), 4)
    for k in range(len(chosen.pt)):
        total, any_close = 0.0, False
        for i in range(len(everything.pt)):
            if everything.event[i] != chosen.event[k] or i == chosen.index[k]:
                continue
            dphi = math.remainder(everything.phi[i] - chosen.phi[k], 2 * math.pi)
            dr = math.hypot(everything.eta[i] - chosen.eta[k], dphi)
            total += everything.pt[i] if dr < 0.8 else 0.0
            any_close |= dr < detector.JET_RADIUS and everything.pt[i] < 2
        assert sums[k] == pytest.approx(total)
        assert close[k] == any_close
    assert sums.max() > 5
    assert 0 < close.sum() < len(close)


def test_polar_keeps_phi_in_its_interval() -> None:
    pt, eta, phi = reconstruct.polar(
        np.array([-1.0, -1.0, 0.0, 3.0]), np.array([-0.0, 0.0, 0.0, 4.0]), np.array([0, 0, 5.0, 0])
    )
    assert phi[:2].tolist() == [math.pi, math.pi]
    assert np.isfinite(eta).all()
    assert pt[3] == 5


def test_isolated_photon_and_its_jet() -> None:
    """A lone photon's jet is marked, that of one in a spray of pions is not; the pT around both is known."""
    eta, phi = np.full(7, 0.5), np.full(7, 1.0)
    pt = np.array([50.0, 50.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    phi[2:] += np.linspace(-0.2, 0.2, 5)
    equal = of_momenta(np.array([0, 1, 7]), np.array([22, 22, *[211] * 5]), pt, eta, phi, photon=True)
    result = [reconstruct.reconstruct(equal, np.random.default_rng(seed)) for seed in range(80)]
    jets = [f.objects["jet"].columns["flavour"].tolist() for f in result]
    assert all(h == [-1, 0] for h in jets)
    counts = np.array([f.objects["photon"].counts for f in result])
    assert counts.mean(axis=0) == pytest.approx([0.95, 0.95], abs=0.08)
    cones = np.concatenate([f.objects["photon"].columns["cone"] for f in result])
    assert set(np.round(cones)) == {0, 45}
    assert np.allclose([f.scalars["invisible_x"] for f in result], 0)


def test_electrons_have_the_photons_that_they_radiate() -> None:
    """One inside of the cluster is part of the electron and not around it, another is a photon."""
    n = 400
    pt = np.tile([40.0, 10.0, 20.0], n)
    phi = np.tile([1.0, 1.05, 2.0], n)
    offsets, pdg = np.arange(0, 3 * n + 1, 3), np.tile([11, 22, 22], n)
    particles = of_momenta(offsets, pdg, pt, np.zeros(3 * n), phi)
    result = reconstruct.reconstruct(particles, np.random.default_rng(1)).objects
    electrons, photons = result["electron"].columns, result["photon"].columns
    assert len(electrons["pt"]) > 0.8 * n
    assert electrons["pt"].mean() == pytest.approx(50, rel=0.01)
    assert electrons["cone"] == pytest.approx(0, abs=1e-6)
    assert photons["pt"].mean() == pytest.approx(20, rel=0.01)
    assert photons["pt"].max() < 30


@pytest.fixture(scope="module")
def hard() -> Particles:
    settings = ["HardQCD:all = on", "PhaseSpace:pTHatMin = 40."]
    part = Slice(name="t", description="", settings=settings, blocks=1)
    (particles,) = pythia.Generator(part, 1).batches(60)
    return particles


def test_objects_are_ordered_and_inside_acceptance(hard: Particles) -> None:
    result = reconstruct.reconstruct(hard, np.random.default_rng(1))
    for kind, objects in result.objects.items():
        event = np.repeat(np.arange(len(result)), objects.counts)
        pt, phi = objects.columns["pt"], objects.columns["phi"].astype(float)
        same = event[1:] == event[:-1]
        assert (np.diff(pt)[same] <= 0).all()
        assert (pt > detector.STORED_PT[kind]).all()
        assert (np.abs(phi) <= np.float32(np.pi)).all()
    assert result.objects["jet"].counts.mean() > 2
    assert set(np.unique(result.objects["muon"].columns["charge"])) <= {-1, 1}
    assert set(np.unique(result.objects["jet"].columns["flavour"])) <= {-1, 0, 4, 5, 15}


def test_momentum_balance(hard: Particles) -> None:
    """True jets are nearly balanced, so is the invisible momentum, and the soft part is not negative."""
    result = reconstruct.reconstruct(hard, np.random.default_rng(1))
    jets = result.objects["jet"]
    of, pt = np.repeat(np.arange(len(result)), jets.counts), jets.columns["pt"]
    x = np.bincount(of, pt * np.cos(jets.columns["phi"]), len(result)) + result.scalars["invisible_x"]
    assert np.median(np.abs(x)) < 0.3 * np.median(np.bincount(of, pt, len(result)))
    assert np.median(np.abs(result.scalars["invisible_x"])) < 5
    assert (result.scalars["soft_et"] >= 0).all()
    again = reconstruct.reconstruct(hard, np.random.default_rng(1))
    assert np.array_equal(result.objects["jet"].columns["pt"], again.objects["jet"].columns["pt"])


def test_no_banner_on_stdout() -> None:
    code = "from trigemu_simulation import reconstruct; reconstruct.fastjet_module(); print('mine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "mine\n"


@pytest.mark.parametrize(
    ("pdg", "mass", "ctau", "fraction"), [(211, 0.13957, 7804.5, 1.0), (-321, 0.49368, 3713.0, 0.6355)]
)
def test_probability_and_spectrum_of_muons(pdg: int, mass: float, ctau: float, fraction: float) -> None:
    """Against the decay of one particle at a time, in its rest frame."""
    rng = np.random.default_rng(1)
    n = 4000
    particles = toy(rng, [1] * n, pdg)
    scale = 12.0 / np.hypot(particles.px, particles.py)
    for column in (particles.px, particles.py, particles.pz, particles.e):
        column *= scale
    rows = reconstruct.reconstruct(particles, rng)
    result = reconstruct.with_flights(rows, particles, np.ones(n, bool), rng)
    assert result.scalars["weight"].sum() == pytest.approx(n)
    muon = result.objects["muon"]
    flying = result.scalars["weight"][n:]
    assert (muon.counts[:n] == 0).all()
    assert (muon.counts[n:] == 1).all()

    # the muon's energy is uniform between the ends that its direction in the rest frame gives
    least = (0.10566 / mass) ** 2
    passing = min((1 - 3.0 / 12.0) / (1 - least), 1.0)
    eta = np.arcsinh(particles.pz / 12.0)
    inside = np.abs(eta) < detector.MUON_ETA
    length = np.minimum(1150.0, 3510.0 / np.abs(np.sinh(eta)))
    expected = (1 - np.exp(-length * mass / (12.0 * ctau))) * fraction * detector.FLIGHT_EFFICIENCY * passing
    assert flying.sum() == pytest.approx(expected[inside].sum(), rel=0.03)
    low = max(3.0, 12.0 * least)
    assert muon.columns["pt"].mean() == pytest.approx((low + 12.0) / 2, rel=0.03)
    assert set(muon.columns["charge"]) == {math.copysign(1, pdg)}
    assert set(muon.columns["origin"]) == {2}


def test_one_muon_of_several_tracks() -> None:
    rng = np.random.default_rng(2)
    particles = toy(rng, [30, 0, 25])
    rows = reconstruct.reconstruct(particles, rng)
    result = reconstruct.with_flights(rows, particles, np.array([True, True, True]), rng)
    assert result.scalars["origin"].tolist()[:3] == [0, 1, 2]
    assert set(result.scalars["origin"].tolist()[3:]) <= {0, 2}
    some = reconstruct.with_flights(
        rows.of(np.array([False, True, True])), particles, np.array([False, True, True]), rng
    )
    assert set(some.scalars["origin"].tolist()) == {1, 2}
    weight = np.bincount(some.scalars["origin"].astype(int), some.scalars["weight"], 3)
    assert weight == pytest.approx([0, 1, 1])
