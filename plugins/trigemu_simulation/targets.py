"""The target weight of a crossing, by its objects: crossings with rare objects are stored with low weights.

The powers of pT follow the rates of triggers on these objects against their threshold: about the same number
of events then passes each threshold.
"""

from __future__ import annotations

import numpy as np

from .config import Crossings
from .interactions import Array, Objects

# The pT (GeV) at which the configuration's target weights apply, and the power with which they fall.
EM = (10.0, -2.0)
MUON = (4.0, -3.0)
JET = (100.0, -3.0)
MISSING, MISSING_FALL = (60.0, -4.0), 60.0  # above MISSING_FALL GeV as 1 / pT
# Sums and further jets, in multiples of the target of a jet of 100 GeV: HT, the missing part of it, a fourth
# jet.
SEVERAL_MUONS_FACTOR = 0.01  # of several muons, in multiples of the target of one of 4 GeV
HT, HT_FACTOR = (200.0, -4.0), 10.0
MHT, MHT_FACTOR = (80.0, -4.0), 10.0
FOURTH, FOURTH_FACTOR = (35.0, -3.0), 1.0


def target(kind: str, pt: Array, model: Crossings) -> Array:
    """Return the target weights in Hz of crossings with an object of a kind and pT in GeV."""
    scale, (reference, power) = {
        "photon": (model.photon_weight_hz, EM),
        "electron": (model.photon_weight_hz, EM),
        "muon": (model.muon_weight_hz, MUON),
        "jet": (model.jet_weight_hz, JET),
        "tau": (model.jet_weight_hz, JET),
        "missing": (model.missing_weight_hz, MISSING),
    }[kind]
    weight = scale * (np.maximum(pt, 1e-3) / reference) ** power
    if kind == "missing":
        slow = scale * (MISSING_FALL / reference) ** power * (MISSING_FALL / np.maximum(pt, MISSING_FALL))
        weight = np.where(pt > MISSING_FALL, slow, weight)
    return np.asarray(weight)


def lowest_target(objects: dict[str, Objects], met: Array, model: Crossings) -> Array:
    """Return the target weights in Hz of n crossings, the lowest of the targets of their objects,
    float64[n]."""
    n = len(met)
    lowest: Array = np.minimum(np.full(n, model.quiet_weight_hz), target("missing", met, model))
    for kind, group in objects.items():
        some = group.counts > 0
        first = (np.cumsum(group.counts) - group.counts)[some]
        lead = group.columns["pt"][first].astype(np.float64)
        lowest[some] = np.minimum(lowest[some], target(kind, lead, model))
    several = objects["muon"].counts > 1
    lowest[several] = np.minimum(lowest[several], SEVERAL_MUONS_FACTOR * model.muon_weight_hz)
    jets = objects["jet"]
    crossing, pt, phi = jets.event, jets.columns["pt"], jets.columns["phi"]
    ht, x, y = (np.bincount(crossing, part, n) for part in (pt, pt * np.cos(phi), pt * np.sin(phi)))
    for (reference, power), factor, value in (
        (HT, HT_FACTOR, ht),
        (MHT, MHT_FACTOR, np.hypot(x, y)),
        (FOURTH, FOURTH_FACTOR, _fourth(jets)),
    ):
        weight = factor * model.jet_weight_hz * (np.maximum(value, 1.0) / reference) ** power
        lowest = np.minimum(lowest, np.where(value > 0, weight, np.inf))
    return lowest


def _fourth(jets: Objects) -> Array:
    """Return the pT of the fourth jet, 0 if there is none, float64[n]."""
    some = jets.counts > 3
    pt = np.zeros(len(jets.counts))
    pt[some] = jets.columns["pt"][(np.cumsum(jets.counts) - jets.counts)[some] + 3]
    return pt
