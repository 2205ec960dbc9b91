"""Particles made by hand, for tests of reconstruction."""

from __future__ import annotations

import math

import numpy as np

from trigemu_simulation.pythia import Decayed, Particles

NONE = Decayed(*(np.zeros(0, kept) for kept in (np.int64, np.int32, float, float, float)))


def toy(rng: np.random.Generator, counts: list[int], pdg: int = 211) -> Particles:
    """Massless particles of one kind, clustered enough in η and φ to make jets of several."""
    m = sum(counts)
    pt = rng.exponential(4.0, m) + 0.1
    eta, phi = rng.normal(0, 1.0, m), rng.uniform(-math.pi, math.pi, m)
    return Particles(
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        id=np.full(m, pdg),
        prompt=np.ones(m, bool),
        px=pt * np.cos(phi),
        py=pt * np.sin(phi),
        pz=pt * np.sinh(eta),
        e=pt * np.cosh(eta),
        weight=np.ones(len(counts)),
        pt_hat=np.ones(len(counts)),
        photon=np.zeros(len(counts), bool),
        origin=np.arange(len(counts)),
        heavy=NONE,
        taus=NONE,
    )
