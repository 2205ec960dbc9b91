"""Muons from pions and kaons that decay in flight, before the calorimeter stops them.

One in hundreds of charged particles decays so. Each interaction is therefore divided: once without such a
muon, once with one, from a particle chosen in proportion to the probabilities, each with its probability as
weight. Two such muons in one interaction are neglected, and so is the neutrino.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import detector
from .interactions import Interactions, Objects, concatenate
from .pythia import Particles
from .reconstruct import Candidates, candidates

Array = NDArray[Any]

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
    return concatenate([without, Interactions(scalars, objects)])


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
    of = np.repeat(np.arange(len(jets.counts)), jets.counts)
    dphi = np.abs(jets.columns["phi"] - taken.phi[of])
    dr2 = (jets.columns["eta"] - taken.eta[of]) ** 2 + np.minimum(dphi, 2 * np.pi - dphi) ** 2
    inside = dr2 < detector.JET_RADIUS**2
    np.maximum.at(cone, of[inside], (jets.columns["pt"] - taken.pt[of])[inside])
    return cone


def _added(muons: Objects, added: dict[str, Array]) -> Objects:
    """Return muons with one added in each interaction, in descending pT."""
    n = len(muons.counts)
    of = np.concatenate([np.repeat(np.arange(n), muons.counts), np.arange(n)])
    columns = {k: np.concatenate([c, added[k].astype(c.dtype)]) for k, c in muons.columns.items()}
    order = np.lexsort((-columns["pt"], of))
    return Objects(muons.counts + 1, {k: c[order] for k, c in columns.items()})
