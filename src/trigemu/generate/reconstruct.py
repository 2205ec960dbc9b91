"""From final-state particles to reconstructed objects: clustering, isolation, efficiency, resolution."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

from trigemu.generate import detector
from trigemu.generate.interactions import Interactions, Objects
from trigemu.generate.pythia import Particles
from trigemu.support import MissingExtraError

Array = NDArray[Any]

NEUTRINOS = (12, 14, 16)
PHOTON, ELECTRON, MUON = 22, 11, 13


@dataclass(frozen=True, slots=True)
class Candidates:
    """m objects of n interactions: event int64[m] ascending, index int64[m] into the particles (-1: none).

    pt (GeV), eta and phi in (−π, π], float64[m]."""

    event: Array
    index: Array
    pt: Array
    eta: Array
    phi: Array

    def where(self, keep: Array) -> Candidates:
        """Return the objects where keep is true."""
        return Candidates(*(getattr(self, name)[keep] for name in Candidates.__slots__))


def reconstruct(particles: Particles, rng: np.random.Generator) -> Interactions:
    """Reconstruct the objects of each interaction, except for photons faked by jets.

    Random numbers are drawn in a fixed order, so equal particles and generators give equal objects.
    """
    n = len(particles.weight)
    seen = _candidates(particles, np.ones(len(particles.id), bool))
    calorimeter = ~np.isin(np.abs(particles.id), (*NEUTRINOS, MUON))
    calorimeter &= np.abs(seen.eta) < detector.CALORIMETER_ETA
    visible = seen.where(calorimeter)

    photons = _isolated_photons(particles, seen, visible)
    electrons = _isolated_electrons(particles, seen, visible)
    jets = cluster(particles, calorimeter)
    em = (near(jets, photons, n) | near(jets, electrons, n)).astype(bool)
    width = detector.jet_resolution(jets.pt)
    jet_pt = jets.pt * np.maximum(1.0 + width * rng.standard_normal(len(width)), 0.0)
    hard = jet_pt > detector.HARD_JET_PT

    scalars = {
        "weight": particles.weight.astype(np.float32).astype(np.float64),
        "pt_hat": particles.pt_hat,
        **_missing(particles, visible, calorimeter, jets, jet_pt, hard, em),
    }
    kinds = {
        "jet": _stored("jet", jets, jet_pt, ~em, "hadronic", n, detector.JET_ETA),
        "photon": _identified_photons(photons, rng, n),
        "electron": _identified_electrons(electrons, particles, rng, n),
        "muon": _identified_muons(particles, seen, rng, n),
    }
    columns = {k: c if k == "weight" else c.astype(np.float32) for k, c in scalars.items()}
    return Interactions(columns, kinds)


def cluster(particles: Particles, keep: Array) -> Candidates:
    """Return anti-kT jets of R = 0.4 from the particles where keep, a bool array over them, is true."""
    fastjet = fastjet_module()
    event = _events(particles.offsets)
    momenta = ak.zip(
        {
            "px": particles.px[keep],
            "py": particles.py[keep],
            "pz": particles.pz[keep],
            "E": particles.e[keep],
        }
    )
    n = len(particles.offsets) - 1
    momenta = ak.unflatten(momenta, np.bincount(event[keep], minlength=n))
    definition = fastjet.JetDefinition(fastjet.antikt_algorithm, detector.JET_RADIUS)
    jets = fastjet.ClusterSequence(momenta, definition).inclusive_jets(detector.TRUE_PT["jet"])
    flat = ak.flatten(jets)
    pt, eta, phi = polar(ak.to_numpy(flat.px), ak.to_numpy(flat.py), ak.to_numpy(flat.pz))
    of = np.repeat(np.arange(n), ak.to_numpy(ak.num(jets)))
    return Candidates(of, np.full(len(of), -1), pt, eta, phi)


def polar(px: Array, py: Array, pz: Array) -> tuple[Array, Array, Array]:
    """Return pT, η and φ in (−π, π] of momenta; η is finite also along the beam."""
    pt = np.hypot(px, py)
    eta = np.arcsinh(pz / np.maximum(pt, 1e-12))
    phi = np.arctan2(py, px)
    return pt, eta, np.where(phi <= -np.pi, np.pi, phi)


def pairs(first: Candidates, second: Candidates, n: int) -> tuple[Array, Array, Array]:
    """Return all pairs within an interaction: rows of first, rows of second, and their ΔR²."""
    start = np.searchsorted(second.event, np.arange(n + 1))
    count = np.diff(start)[first.event]
    left = np.repeat(np.arange(len(count)), count)
    right = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    right += np.repeat(start[first.event], count)
    dphi = np.abs(first.phi[left] - second.phi[right])
    dphi = np.minimum(dphi, 2.0 * np.pi - dphi)
    return left, right, (first.eta[left] - second.eta[right]) ** 2 + dphi**2


def cone_pt(objects: Candidates, visible: Candidates, radius: float, n: int) -> Array:
    """Return the scalar sum of pT around each object, itself excluded, in GeV."""
    left, right, dr2 = pairs(objects, visible, n)
    inside = (dr2 < radius**2) & (objects.index[left] != visible.index[right])
    return np.bincount(left[inside], weights=visible.pt[right[inside]], minlength=len(objects.event))


def near(objects: Candidates, others: Candidates, n: int) -> Array:
    """Return whether any of the others is within a jet radius of each object, bool[m]."""
    left, _, dr2 = pairs(objects, others, n)
    close = left[dr2 < detector.JET_RADIUS**2]
    return np.bincount(close, minlength=len(objects.event)) > 0


def _events(offsets: Array) -> Array:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _candidates(particles: Particles, keep: Array) -> Candidates:
    index = np.flatnonzero(keep)
    momentum = polar(particles.px[keep], particles.py[keep], particles.pz[keep])
    return Candidates(_events(particles.offsets)[keep], index, *momentum)


def _isolated_photons(particles: Particles, seen: Candidates, visible: Candidates) -> Candidates:
    keep = (particles.id == PHOTON) & particles.prompt
    keep &= (seen.pt > detector.TRUE_PT["photon"]) & (np.abs(seen.eta) < detector.CALORIMETER_ETA)
    photons = seen.where(keep)
    cone = cone_pt(photons, visible, detector.ISOLATION_RADIUS, len(particles.weight))
    return photons.where(detector.photon_isolated(photons.pt, cone))


def _isolated_electrons(particles: Particles, seen: Candidates, visible: Candidates) -> Candidates:
    keep = (np.abs(particles.id) == ELECTRON) & (seen.pt > detector.TRUE_PT["electron"])
    electrons = seen.where(keep & (np.abs(seen.eta) < detector.CALORIMETER_ETA))
    radius = detector.ELECTRON_ISOLATION_RADIUS
    cone = cone_pt(electrons, visible, radius, len(particles.weight))
    return electrons.where(cone < detector.ELECTRON_ISOLATION_SLOPE * electrons.pt)


def _identified_photons(photons: Candidates, rng: np.random.Generator, n: int) -> Objects:
    draw, normal = rng.random(len(photons.pt)), rng.standard_normal(len(photons.pt))
    pt = photons.pt * (1.0 + detector.em_resolution(photons.pt, photons.eta) * normal)
    keep = draw < detector.efficiency(detector.PHOTON_EFFICIENCY, photons.eta)
    keep &= detector.in_photon_acceptance(photons.eta)
    return _stored("photon", photons.where(keep), pt[keep], None, None, n, detector.PHOTON_ETA)


def _identified_electrons(
    electrons: Candidates, particles: Particles, rng: np.random.Generator, n: int
) -> Objects:
    draw, normal = rng.random(len(electrons.pt)), rng.standard_normal(len(electrons.pt))
    pt = electrons.pt * (1.0 + detector.em_resolution(electrons.pt, electrons.eta) * normal)
    keep = draw < detector.efficiency(detector.ELECTRON_EFFICIENCY, electrons.eta)
    charge = -np.sign(particles.id[electrons.index[keep]])
    chosen = electrons.where(keep)
    return _stored("electron", chosen, pt[keep], charge, "charge", n, detector.ELECTRON_ETA)


def _identified_muons(particles: Particles, seen: Candidates, rng: np.random.Generator, n: int) -> Objects:
    keep = (np.abs(particles.id) == MUON) & (seen.pt > detector.TRUE_PT["muon"])
    muons = seen.where(keep & (np.abs(seen.eta) < detector.MUON_ETA))
    draw, normal = rng.random(len(muons.pt)), rng.standard_normal(len(muons.pt))
    pt = muons.pt * (1.0 + detector.muon_resolution(muons.pt, muons.eta) * normal)
    found = draw < detector.efficiency(detector.MUON_EFFICIENCY, muons.eta)
    charge = -np.sign(particles.id[muons.index[found]])
    return _stored("muon", muons.where(found), pt[found], charge, "charge", n, detector.MUON_ETA)


def _stored(
    kind: str,
    objects: Candidates,
    pt: Array,
    extra: Array | None,
    name: str | None,
    n: int,
    eta_max: float,
) -> Objects:
    """Return objects above the storage threshold, in descending reconstructed pT within an interaction."""
    keep = np.flatnonzero((pt > detector.STORED_PT[kind]) & (np.abs(objects.eta) < eta_max))
    keep = keep[np.lexsort((-pt[keep], objects.event[keep]))]
    columns = {"pt": pt[keep], "eta": objects.eta[keep], "phi": objects.phi[keep]}
    columns = {k: c.astype(np.float32) for k, c in columns.items()}
    if name is not None and extra is not None:
        columns[name] = extra[keep].astype(np.int8)
    return Objects(np.bincount(objects.event[keep], minlength=n), columns)


def _missing(
    particles: Particles,
    visible: Candidates,
    calorimeter: Array,
    jets: Candidates,
    jet_pt: Array,
    hard: Array,
    em: Array,
) -> dict[str, Array]:
    """Return the ingredients of missing momentum; jets that are photons or electrons are taken as exact."""
    n = len(particles.weight)
    event = _events(particles.offsets)
    unseen = ~calorimeter & (np.abs(particles.id) != MUON)
    poor = hard & ~em
    lost = (jets.pt - jet_pt)[poor]

    def total(of: Array, values: Array) -> Array:
        return np.bincount(of, weights=values, minlength=n)

    soft = total(visible.event, visible.pt) - total(jets.event[hard], jets.pt[hard])
    return {
        "invisible_x": total(event[unseen], particles.px[unseen]),
        "invisible_y": total(event[unseen], particles.py[unseen]),
        "mismeasured_x": total(jets.event[poor], lost * np.cos(jets.phi[poor])),
        "mismeasured_y": total(jets.event[poor], lost * np.sin(jets.phi[poor])),
        "soft_et": np.maximum(soft, 0.0),
    }


@cache
def fastjet_module() -> Any:
    """Return the module of FastJet, after its banner. Raises MissingExtraError."""
    try:
        import fastjet
    except ImportError:
        raise MissingExtraError("trigemu generate", "generate", "fastjet") from None
    with _silent_stdout():
        particle = ak.Array([[{"px": 1.0, "py": 0.0, "pz": 0.0, "E": 1.0}]])
        definition = fastjet.JetDefinition(fastjet.antikt_algorithm, detector.JET_RADIUS)
        fastjet.ClusterSequence(particle, definition).inclusive_jets()
    return fastjet


@contextmanager
def _silent_stdout() -> Iterator[None]:
    """Suppress the banner that FastJet's C++ prints to stdout, maybe a user's pipe, when it is first used."""
    sys.stdout.flush()
    saved, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(sink)
