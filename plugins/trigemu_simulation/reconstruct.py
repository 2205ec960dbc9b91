"""From final-state particles to reconstructed objects: decays in flight, clustering, isolation, efficiency,
resolution."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import awkward as ak
import numpy as np

from trigemu.base.errors import MissingExtraError

from . import detector
from .interactions import OBJECTS, Array, Interactions, Objects, in_order, ranges
from .pythia import CHARM, Decayed, Particles

# PDG number, mass (GeV), cτ (mm) and branching fraction to µν, as in Pythia 8.317; the muon's mass.
PARTICLES = ((211, 0.13957, 7804.5, 1.0), (321, 0.49368, 3713.0, 0.6355))
MUON_MASS = 0.10566
PROBABILITY_MAX = 0.5  # of one interaction; never reached


def with_flights(
    rows: Interactions, particles: Particles, chosen_rows: Array, rng: np.random.Generator
) -> Interactions:
    """Return the interactions without such a muon, then the interactions with one, each with its probability
    as weight.

    rows: the interactions of the particles for which chosen_rows, bool[n], is true.
    """
    tracks, probability, smallest = _tracks(particles, chosen_rows)
    n = len(rows)
    chosen = _choose(tracks.event, probability, n, rng)
    x = smallest[chosen] + (1.0 - smallest[chosen]) * rng.random(len(chosen))
    taken = tracks.where(chosen)
    pt = taken.pt * x * (1.0 + detector.muon_resolution(taken.pt, taken.eta) * rng.standard_normal(len(x)))
    stored = pt > detector.STORED_PT["muon"]
    taken, pt = taken.where(stored), pt[stored]

    flying = np.bincount(taken.event, minlength=n) > 0
    total = np.minimum(np.bincount(tracks.event, probability, n), PROBABILITY_MAX) * flying
    weight = rows.scalars["weight"]
    without = Interactions({**rows.scalars, "weight": weight * (1.0 - total)}, rows.objects)
    divided = rows.of(flying)
    scalars = {**divided.scalars, "weight": (weight * total)[flying]}
    muon = {
        "pt": pt,
        "eta": taken.eta,
        "phi": taken.phi,
        "charge": np.sign(particles.id[taken.index]),
        "origin": np.full(len(pt), 2),
        "cone": _cone(taken, divided.objects["jet"]),
    }
    objects = {**divided.objects, "muon": _added(divided.objects["muon"], muon)}
    return Interactions.joined([without, Interactions(scalars, objects)])


def _tracks(particles: Particles, chosen_rows: Array) -> tuple[Candidates, Array, Array]:
    """Return charged pions and kaons, the probability that each gives a muon, and the muon's smallest share
    of pT."""
    pdg = np.abs(particles.id)
    tracks = candidates(particles, np.isin(pdg, [p[0] for p in PARTICLES]))
    tracks = tracks.where((tracks.pt > detector.STORED_PT["muon"]) & (np.abs(tracks.eta) < detector.MUON_ETA))
    tracks = tracks.where(chosen_rows[tracks.event])
    tracks = replace(tracks, event=(np.cumsum(chosen_rows) - 1)[tracks.event])
    kind = np.searchsorted([p[0] for p in PARTICLES], pdg[tracks.index])
    mass, ctau, fraction = (np.array(column)[kind] for column in list(zip(*PARTICLES, strict=True))[1:])
    length = detector.path_to_calorimeter(tracks.eta)  # mm, in the transverse plane
    decay = -np.expm1(-length * mass / (tracks.pt * ctau)) * fraction * detector.FLIGHT_EFFICIENCY
    # The muon's share of the momentum is uniform from (m/M)² to 1 for a fast particle.
    least = (MUON_MASS / mass) ** 2
    smallest = np.clip(detector.STORED_PT["muon"] / tracks.pt, least, 1.0)
    return tracks, decay * (1.0 - smallest) / (1.0 - least), smallest


def _choose(event: Array, probability: Array, n: int, rng: np.random.Generator) -> Array:
    """Return one row per interaction that has rows, chosen in proportion to the probabilities."""
    upto = np.cumsum(probability)
    last = np.searchsorted(event, np.arange(n), side="right")
    first = np.searchsorted(event, np.arange(n))
    some = np.flatnonzero(last > first)
    below = np.concatenate([[0.0], upto])
    low, high = below[first[some]], below[last[some]]
    chosen = np.searchsorted(upto, low + rng.random(len(some)) * (high - low), side="right")
    return np.asarray(np.clip(chosen, first[some], last[some] - 1))


def _cone(taken: Candidates, jets: Objects) -> Array:
    """Return the pT of the jet around each particle (one per interaction), minus the particle's pT; 0 outside
    of jets."""
    cone = np.zeros(len(taken.pt))
    jet = jets.event
    dphi = np.abs(jets.columns["phi"] - taken.phi[jet])
    dr2 = (jets.columns["eta"] - taken.eta[jet]) ** 2 + np.minimum(dphi, 2 * np.pi - dphi) ** 2
    inside = dr2 < detector.JET_RADIUS**2
    np.maximum.at(cone, jet[inside], (jets.columns["pt"] - taken.pt[jet])[inside])
    return cone


def _added(muons: Objects, added: dict[str, Array]) -> Objects:
    """Return muons with one added in each interaction, in descending pT."""
    n = len(muons.counts)
    one_each = np.arange(n), {k: added[k].astype(c.dtype) for k, c in muons.columns.items()}
    return in_order([(muons.event, muons.columns), one_each], n)


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
    """Reconstruct the objects of each interaction, except for fakes.

    Random numbers are drawn in a fixed order: equal particles and generators give equal objects.
    """
    n = len(particles.weight)
    truth = candidates(particles, np.ones(len(particles.id), bool))
    calorimeter = ~np.isin(np.abs(particles.id), (*NEUTRINOS, MUON))
    calorimeter &= np.abs(truth.eta) < detector.CALORIMETER_ETA
    visible = truth.where(calorimeter)

    electrons, electron_cone, radiated = _electrons(particles, truth, visible)
    photons, photon_cone = _photons(particles, truth, visible, radiated)
    jets = cluster(particles, calorimeter)
    isolated = electron_cone < detector.ELECTRON_CONE * electrons.pt
    em = near(jets, photons.where(photon_cone < detector.PHOTON_CONE * photons.pt), n)
    em |= near(jets, electrons.where(isolated & particles.prompt[electrons.index]), n)

    scalars: dict[str, Array] = {
        "weight": particles.weight.astype(np.float32).astype(np.float64),
        "origin": particles.origin.astype(np.uint32),
        "pt_hat": particles.pt_hat,
        **_missing(particles, visible, jets),
    }
    flavour = np.where(em, -1, _flavour(particles, jets, n))
    kinds = {
        "jet": _stored("jet", jets, jets.pt, {"flavour": flavour}, n, detector.JET_ETA),
        "photon": _identified_photons(photons, photon_cone, rng, n),
        "electron": _tracked_electrons(electrons, electron_cone, particles, rng, n),
        "muon": _identified_muons(particles, truth, visible, rng, n),
        "tau": _true_taus(particles, rng, n),
    }
    exact = ("weight", "origin")
    columns = {k: c if k in exact else c.astype(np.float32) for k, c in scalars.items()}
    return Interactions(columns, kinds)


def cluster(particles: Particles, keep: Array) -> Candidates:
    """Return anti-kT jets of R = 0.4 from the particles where keep, a bool array over them, is true."""
    fastjet = fastjet_module()
    event = events_of(particles.offsets)
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
    jets = fastjet.ClusterSequence(momenta, definition).inclusive_jets(detector.STORED_PT["jet"])
    flat = ak.flatten(jets)
    pt, eta, phi = polar(ak.to_numpy(flat.px), ak.to_numpy(flat.py), ak.to_numpy(flat.pz))
    jet = np.repeat(np.arange(n), ak.to_numpy(ak.num(jets)))
    return Candidates(jet, np.full(len(jet), -1), pt, eta, phi)


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
    right = ranges(start[first.event], count)
    dphi = np.abs(first.phi[left] - second.phi[right])
    dphi = np.minimum(dphi, 2.0 * np.pi - dphi)
    return left, right, (first.eta[left] - second.eta[right]) ** 2 + dphi**2


def cone_pt(objects: Candidates, visible: Candidates, radius: float, n: int) -> Array:
    """Return the scalar sum of pT around each object, itself excluded, in GeV."""
    left, right, dr2 = pairs(objects, visible, n)
    inside = (dr2 < radius**2) & (objects.index[left] != visible.index[right])
    return np.bincount(left[inside], weights=visible.pt[right[inside]], minlength=len(objects.event))


def near(objects: Candidates, neighbours: Candidates, n: int, radius: float = detector.JET_RADIUS) -> Array:
    """Return whether any of the neighbours is within a radius of each object, bool[m]."""
    left, _, dr2 = pairs(objects, neighbours, n)
    close = left[dr2 < radius**2]
    return np.bincount(close, minlength=len(objects.event)) > 0


def events_of(offsets: Array) -> Array:
    """Return the interaction of each particle, int64, flat."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def candidates(particles: Particles, keep: Array) -> Candidates:
    """Return the particles where keep, a bool array over them, is true."""
    index = np.flatnonzero(keep)
    momentum = polar(particles.px[keep], particles.py[keep], particles.pz[keep])
    return Candidates(events_of(particles.offsets)[keep], index, *momentum)


def _photons(
    particles: Particles, truth: Candidates, visible: Candidates, radiated: Array
) -> tuple[Candidates, Array]:
    """Return the prompt photons that are not lost in a jet, and the pT around them; radiated: whether each
    particle belongs to an electron."""
    keep = (particles.id == PHOTON) & particles.prompt & ~radiated
    keep &= (truth.pt > detector.TRUE_PT["photon"]) & (np.abs(truth.eta) < detector.CALORIMETER_ETA)
    photons = truth.where(keep)
    cone = cone_pt(photons, visible, detector.ISOLATION_RADIUS, len(particles.weight))
    passing = cone < detector.CONE_MAX * photons.pt
    return photons.where(passing), cone[passing]


def _electrons(
    particles: Particles, truth: Candidates, visible: Candidates
) -> tuple[Candidates, Array, Array]:
    """Return the electrons that are not lost in a jet, with the photons that they radiate, the pT around
    them, and whether each particle is such a photon."""
    n = len(particles.weight)
    keep = (np.abs(particles.id) == ELECTRON) & (truth.pt > detector.TRUE_PT["electron"])
    bare = truth.where(keep & (np.abs(truth.eta) < detector.CALORIMETER_ETA))
    photons = truth.where((particles.id == PHOTON) & particles.prompt)
    left, right, dr2 = pairs(bare, photons, n)
    inside = dr2 < detector.CLUSTER_RADIUS**2
    gained = np.bincount(left[inside], weights=photons.pt[right[inside]], minlength=len(bare.pt))
    radiated = np.zeros(len(particles.id), bool)
    radiated[photons.index[right[inside]]] = True
    cone = cone_pt(bare, visible, detector.ISOLATION_RADIUS, n) - gained
    electrons = replace(bare, pt=bare.pt + gained)
    passing = cone < detector.CONE_MAX * electrons.pt
    return electrons.where(passing), cone[passing], radiated


def _identified_photons(photons: Candidates, cone: Array, rng: np.random.Generator, n: int) -> Objects:
    draw, normal = rng.random(len(photons.pt)), rng.standard_normal(len(photons.pt))
    pt = photons.pt * (1.0 + detector.em_resolution(photons.pt, photons.eta) * normal)
    keep = draw < detector.efficiency(detector.PHOTON_EFFICIENCY, photons.eta)
    keep &= detector.in_photon_acceptance(photons.eta)
    return _stored("photon", photons.where(keep), pt[keep], {"cone": cone[keep]}, n, detector.PHOTON_ETA)


def _tracked_electrons(
    electrons: Candidates, cone: Array, particles: Particles, rng: np.random.Generator, n: int
) -> Objects:
    draw, normal = rng.random(len(electrons.pt)), rng.standard_normal(len(electrons.pt))
    pt = electrons.pt * (1.0 + detector.em_resolution(electrons.pt, electrons.eta) * normal)
    keep = draw < detector.efficiency(detector.ELECTRON_EFFICIENCY, electrons.eta)
    chosen = electrons.where(keep)
    columns = {
        "charge": -np.sign(particles.id[chosen.index]),
        "origin": np.where(particles.prompt[chosen.index], 0, 1),
        "cone": cone[keep],
    }
    return _stored("electron", chosen, pt[keep], columns, n, detector.ELECTRON_ETA)


def _identified_muons(
    particles: Particles, truth: Candidates, visible: Candidates, rng: np.random.Generator, n: int
) -> Objects:
    keep = (np.abs(particles.id) == MUON) & (truth.pt > detector.TRUE_PT["muon"])
    muons = truth.where(keep & (np.abs(truth.eta) < detector.MUON_ETA))
    draw, normal = rng.random(len(muons.pt)), rng.standard_normal(len(muons.pt))
    pt = muons.pt * (1.0 + detector.muon_resolution(muons.pt, muons.eta) * normal)
    passing = draw < detector.efficiency(detector.MUON_EFFICIENCY, muons.eta)
    chosen = muons.where(passing)
    columns = {
        "charge": -np.sign(particles.id[chosen.index]),
        "origin": np.where(particles.prompt[chosen.index], 0, 1),
        "cone": cone_pt(chosen, visible, detector.ISOLATION_RADIUS, n),
    }
    return _stored("muon", chosen, pt[passing], columns, n, detector.MUON_ETA)


def _true_taus(particles: Particles, rng: np.random.Generator, n: int) -> Objects:
    taus = _of_decayed(particles.taus)
    pt = taus.pt * np.maximum(1.0 + detector.jet_resolution(taus.pt) * rng.standard_normal(len(taus.pt)), 0.0)
    charge = -np.sign(particles.taus.id)
    return _stored("tau", taus, pt, {"charge": charge}, n, detector.TAU_ETA)


def _flavour(particles: Particles, jets: Candidates, n: int) -> Array:
    """Return 5, 4 or 15 for jets with a b hadron, c hadron or hadronic tau in them, else 0, int64[m]."""
    hadrons, charm = _of_decayed(particles.heavy), np.isin(np.abs(particles.heavy.id), CHARM)
    hard = hadrons.pt > detector.FLAVOUR_PT
    taus = _of_decayed(particles.taus)
    radius = detector.FLAVOUR_RADIUS
    choices = [
        (near(jets, hadrons.where(hard & ~charm), n, radius), 5),
        (near(jets, hadrons.where(hard & charm), n, radius), 4),
        (near(jets, taus.where(taus.pt > detector.FLAVOUR_PT), n, radius), 15),
    ]
    return np.select([match for match, _ in choices], [label for _, label in choices], default=0)


def _of_decayed(decayed: Decayed) -> Candidates:
    return Candidates(decayed.event, np.full(len(decayed.id), -1), *polar(decayed.px, decayed.py, decayed.pz))


def _stored(
    kind: str, objects: Candidates, pt: Array, columns: dict[str, Array], n: int, eta_max: float
) -> Objects:
    """Return objects with a pT above the storage threshold, in descending pT within an interaction."""
    keep = np.flatnonzero((pt > detector.STORED_PT[kind]) & (np.abs(objects.eta) < eta_max))
    keep = keep[np.lexsort((-pt[keep], objects.event[keep]))]
    momenta = {"pt": pt[keep], "eta": objects.eta[keep], "phi": objects.phi[keep]}
    stored = {k: c.astype(np.float32) for k, c in momenta.items()}
    stored |= {k: columns[k][keep].astype(dtype) for k, dtype in OBJECTS[kind].items()}
    return Objects(np.bincount(objects.event[keep], minlength=n), stored)


def _missing(particles: Particles, visible: Candidates, jets: Candidates) -> dict[str, Array]:
    """Return the ingredients of missing momentum that do not depend on the reconstruction of jets."""
    n = len(particles.weight)
    event = events_of(particles.offsets)
    unseen = np.isin(np.abs(particles.id), NEUTRINOS)

    def total(jet: Array, values: Array) -> Array:
        return np.bincount(jet, weights=values, minlength=n)

    def central(objects: Candidates) -> Array:
        inside = objects.where(np.abs(objects.eta) < detector.MET_ETA)
        return total(inside.event, inside.pt)

    hard = jets.where(jets.pt > detector.HARD_JET_PT)
    return {
        "invisible_x": total(event[unseen], particles.px[unseen]),
        "invisible_y": total(event[unseen], particles.py[unseen]),
        "soft_et": np.maximum(central(visible) - central(hard), 0.0),
    }


@cache
def fastjet_module() -> Any:
    """Return the module of FastJet, without its banner. Raises MissingExtraError."""
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
    """Suppress the banner that FastJet's C++ prints to stdout, possibly a user's pipe, when it is first
    used."""
    sys.stdout.flush()
    saved, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(sink)
