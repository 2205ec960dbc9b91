"""Small pools of interactions, and particles, made by hand."""

from __future__ import annotations

import math

import numpy as np
from trigemu_simulation import Config, Slice
from trigemu_simulation.config import Crossings, Fakes
from trigemu_simulation.interactions import OBJECTS, SCALARS, Interactions, Objects
from trigemu_simulation.pools import Pool, make_pool
from trigemu_simulation.pythia import Decayed, Particles

CM2_PER_PB = 1e-36
WEIGHTS = ("photon_weight_hz", "muon_weight_hz", "jet_weight_hz", "missing_weight_hz")
NONE = Decayed(*(np.zeros(0, kept) for kept in (np.int64, np.int32, float, float, float)))


def interactions(jets: list[list[float]], weight: np.ndarray | None = None, **others: object) -> Interactions:
    """One interaction per list of jet pT (descending, GeV), central; others: photon, muon … likewise."""
    n = len(jets)
    scalars = {k: np.zeros(n, np.float32) for k in SCALARS}
    scalars["weight"] = np.ones(n) if weight is None else weight
    scalars["origin"] = np.arange(n, dtype=np.uint32)
    scalars["pt_hat"] = np.full(n, 1000, np.float32)
    lists = {"jet": jets, **others}
    return Interactions(scalars, {kind: _objects(lists.get(kind, [[]] * n), kind) for kind in OBJECTS})


def pool(
    name: str, number: int, rows: Interactions, cross_section_pb: float = 1e10, **fields: object
) -> Pool:
    """A pool of a slice with these fields."""
    part = Slice(name=name, description="", settings=["x"], blocks=1, **fields)
    return make_pool(part, number, rows, cross_section_pb)


def config(pools: list[Pool], mu: float, fakes: Fakes | None = None, **model: object) -> Config:
    """A configuration whose first pool has µ = mu."""
    luminosity = mu * 40e6 / (pools[0].cross_section_pb * CM2_PER_PB)
    return Config(
        name="toy",
        seed=3,
        luminosity_cm2s=luminosity,
        fakes=fakes or Fakes(probability=0.0),
        slices=[p.part for p in pools],
        crossings=Crossings(**dict.fromkeys(WEIGHTS, 1e-9) | model),
    )


def soft_rows(n: int, seed: int = 1, rate: float = 0.5) -> Interactions:
    """Poisson many jets of 10 to 30 GeV each, falling steeply."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate, n)
    return interactions([sorted(8 + rng.exponential(5, c), reverse=True) for c in counts])


def hard_rows(n: int, seed: int = 2, *, muons: bool = False) -> Interactions:
    """Two jets each, of 30 to 200 GeV with a spectrum of pT^−5, generated flat in log pT and weighted.

    muons: with a muon of the same pT."""
    pt = np.exp(np.random.default_rng(seed).uniform(np.log(30), np.log(200), n))
    return interactions(
        [[p, 0.8 * p] for p in pt], pt**-4.0, **({"muon": [[p] for p in pt]} if muons else {})
    )


def _objects(lists: list[list[float]], kind: str) -> Objects:
    pt = np.concatenate([np.asarray(x, np.float32) for x in lists])
    # Spread out, so that few jets are merged.
    golden = np.arange(len(pt)) * 0.6180339887 % 1
    phi = np.arange(len(pt)) * 0.7548776662 % 1 * 2 * np.pi - np.pi
    columns = {"pt": pt, "eta": (2.4 * golden - 1.2).astype(np.float32), "phi": phi.astype(np.float32)}
    columns |= {name: np.full(len(pt), name == "charge", kept) for name, kept in OBJECTS[kind].items()}
    return Objects(np.array([len(x) for x in lists]), columns)


def particles(rng: np.random.Generator, counts: list[int], pdg: int = 211) -> Particles:
    """Massless particles of one kind, clustered enough in η and φ to make jets of several."""
    m = sum(counts)
    pt = rng.exponential(4.0, m) + 0.1
    eta, phi = rng.normal(0, 1.0, m), rng.uniform(-math.pi, math.pi, m)
    return of_momenta(np.concatenate([[0], np.cumsum(counts)]), np.full(m, pdg), pt, eta, phi)


def of_momenta(
    offsets: np.ndarray,
    pdg: np.ndarray,
    pt: np.ndarray,
    eta: np.ndarray,
    phi: np.ndarray,
    photon: bool = False,
) -> Particles:
    """Massless prompt particles. photon: whether one is in the hard scattering of each interaction."""
    n = len(offsets) - 1
    return Particles(
        offsets=offsets,
        id=pdg,
        prompt=np.ones(len(pt), bool),
        px=pt * np.cos(phi),
        py=pt * np.sin(phi),
        pz=pt * np.sinh(eta),
        e=pt * np.cosh(eta),
        weight=np.ones(n),
        pt_hat=np.ones(n),
        photon=np.full(n, photon),
        origin=np.arange(n),
        heavy=NONE,
        taus=NONE,
    )
