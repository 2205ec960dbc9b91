"""Decays of b and c hadrons, drawn many times: every interaction with such hadrons then gives muons.

One hadron in ten decays to a muon, and most muons are soft. The hadrons of an interaction are therefore
undecayed at first and decayed many times; decays of one hadron are combined with all decays of the others,
since they are independent. Of the combinations with equal muons (none, a soft one, a hard one) one is
retained, of those with several muons a few, which differ in the mass and charge of the pair. Their total
weight is the fraction of these combinations: the sum over the retained ones is the mean of all decays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MUON = 13
# Hadrons with an open b or c quark that decay weakly.
CHARM = (411, 421, 431, 4122, 4132, 4232, 4332)
BOTTOM = (511, 521, 531, 541, 5122, 5132, 5232, 5332)
HADRONS = CHARM + BOTTOM

MUON_PT = 3.0  # GeV; softer muons are not reconstructed
MUON_ETA = 2.6
HADRON_PT = 4.0  # GeV; softer hadrons rarely give such a muon, and decay once
# Decays are grouped by the pT of the hardest muon (GeV), and by whether there are several.
MUON_BINS = (MUON_PT, 6.0, 12.0)
_SEVERAL = len(MUON_BINS) + 1
MAX_SEVERAL = 4
COMBINATIONS = 20  # for each decay of a hadron, random ones with decays of the others
FIELDS = ("id", "px", "py", "pz", "e")


@dataclass(frozen=True, slots=True)
class Products:
    """Final particles of the decays of one interaction's hadrons: id int32[m], momenta float64[m] in GeV.

    share: the weight, the fraction of the decays with equal muons."""

    share: float
    id: Array
    px: Array
    py: Array
    pz: Array
    e: Array


class Decayer:
    """A Pythia that only decays hadrons; `pythia` is not initialised yet."""

    def __init__(self, pythia: Any, times: int, seed: int) -> None:
        for line in ("ProcessLevel:all = off", f"Random:seed = {seed}"):
            pythia.readString(line)
        pythia.init()
        self._pythia = pythia
        self._times = times
        self._rng = np.random.default_rng(seed)

    def decays(self, hadrons: dict[str, Array]) -> list[Products]:
        """Return the retained decays of the hadrons of an interaction; hadrons: arrays by FIELDS."""
        hard = np.hypot(hadrons["px"], hadrons["py"]) > HADRON_PT
        times = self._times if hard.any() else 1
        ids, final, draw, hadron = self._decayed(hadrons, times)
        drawn = self._combined(times, len(hadrons["id"]))
        group = self._groups(ids, final, draw, hadron, drawn)
        products = []
        for value in np.unique(group):
            equal = np.flatnonzero(group == value)
            # If all have several muons, these are not from the hadrons: more decays add nothing.
            number = min(MAX_SEVERAL, len(equal)) if value == _SEVERAL and len(equal) < len(group) else 1
            for chosen in self._rng.choice(equal, number, replace=False):
                rows = np.flatnonzero(final & (draw == drawn[chosen][hadron])) + 1  # first the event itself
                momenta = [self._pythia.event[int(i)] for i in rows]
                columns = (np.array([getattr(p, name)() for p in momenta]) for name in FIELDS[1:])
                products.append(Products(len(equal) / len(group) / number, ids[rows - 1], *columns))
        return products

    def _combined(self, times: int, hadrons: int) -> Array:
        """Return combinations, int64[m, hadrons]: the number of the draw for each hadron."""
        turns = COMBINATIONS if times > 1 and hadrons > 1 else 1
        numbers = np.tile(np.arange(times), (hadrons * turns, 1))
        return self._rng.permuted(numbers, axis=1).reshape(hadrons, turns * times).T

    def _decayed(self, hadrons: dict[str, Array], times: int) -> tuple[Array, Array, Array, Array]:
        """Decay all in one record; return id, final flag, draw and hadron of each particle in it."""
        event = self._pythia.event
        event.reset()
        e, p2 = hadrons["e"], hadrons["px"] ** 2 + hadrons["py"] ** 2 + hadrons["pz"] ** 2
        mass = np.sqrt(np.maximum(e**2 - p2, 0.0))
        rows = list(zip(*(hadrons[name].tolist() for name in FIELDS), mass.tolist(), strict=True))
        for _ in range(times):
            for pdg, px, py, pz, e, m in rows:
                event.append(pdg, 1, 0, 0, px, py, pz, e, m)
        self._pythia.next()
        particles = [event[i] for i in range(1, event.size())]
        ids = np.array([p.id() for p in particles])
        final = np.array([p.status() > 0 for p in particles])
        ancestor = np.arange(len(ids))
        mother = np.array([p.mother1() for p in particles]) - 1
        own = len(rows) * times
        while (later := np.flatnonzero(ancestor >= own)).size:
            ancestor[later] = mother[ancestor[later]]
        return ids, final, ancestor // len(rows), ancestor % len(rows)

    def _groups(self, ids: Array, final: Array, draw: Array, hadron: Array, drawn: Array) -> Array:
        """Return the group of each combination, int64: 0 without a muon, then by the pT of the hardest muon;
        the last group has several muons."""
        shape, own = (int(drawn.max()) + 1, drawn.shape[1]), np.arange(drawn.shape[1])
        hardest, number = np.zeros(shape), np.zeros(shape, np.int64)
        for i in np.flatnonzero(final & (np.abs(ids) == MUON)):
            p = self._pythia.event[int(i) + 1]
            if p.pT() > MUON_PT and abs(p.eta()) < MUON_ETA:
                at = draw[i], hadron[i]
                hardest[at] = max(hardest[at], p.pT())
                number[at] += 1
        several = number[drawn, own].sum(axis=1) > 1
        return np.where(several, _SEVERAL, np.searchsorted(MUON_BINS, hardest[drawn, own].max(axis=1)))
