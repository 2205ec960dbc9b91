"""The detector model: acceptance, efficiency, resolution, and jets that are misidentified as photons.

Every function is vectorised and takes pT in GeV. Random numbers are arguments, so that results can be tested
and repeated. docs/explanation/sample.md explains the model as a whole.

Sources. [D]: Delphes 3 (arXiv:1307.6346), its card cards/delphes_card_ATLAS.tcl. [J]: ATLAS, jet energy
scale and resolution at 13 TeV (arXiv:2007.02645). [M]: ATLAS, missing transverse momentum at 7 TeV
(arXiv:1108.5602). A number without a source is chosen here, for the reason given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

JET_RADIUS = 0.4
CALORIMETER_ETA = 4.9  # [D], the edge of its towers
JET_ETA = 4.5  # a jet of R = 0.4 is inside the calorimeter
PHOTON_ETA = 2.37  # ATLAS's own limit for photons, with its crack left out
CRACK = (1.37, 1.52)
ELECTRON_ETA = 2.47  # ATLAS's own limit for electrons
MUON_ETA = 2.5  # [D], the edge of tracking

# Thresholds of the objects of an event, GeV.
FINAL_PT = {"jet": 20.0, "photon": 10.0, "electron": 5.0, "muon": 4.0}
# Thresholds of the objects stored per interaction, GeV: somewhat lower, since a jet of 10 GeV can become a
# photon of 10 GeV, and the objects of a crossing are made from these.
STORED_PT = {"jet": 8.0, "photon": 8.0, "electron": 5.0, "muon": 3.0}
# Thresholds of true particles and jets, GeV: objects that fluctuate above STORED_PT are complete to 1 %.
TRUE_PT = {"jet": 5.0, "photon": 7.0, "electron": 4.0, "muon": 2.8}
HARD_JET_PT = 20.0  # harder jets enter missing momentum one by one, the rest as its soft part

# A photon is isolated where the transverse momentum around it within ISOLATION_RADIUS is below
# ISOLATION_OFFSET + ISOLATION_SLOPE · pT: ATLAS's tight calorimetric isolation (arXiv:1908.00005).
ISOLATION_RADIUS = 0.4
ISOLATION_OFFSET = 2.45  # GeV
ISOLATION_SLOPE = 0.022
# An electron is isolated where that sum within 0.5 is below 0.12 · pT: [D].
ELECTRON_ISOLATION_RADIUS = 0.5
ELECTRON_ISOLATION_SLOPE = 0.12

# σ/pT of a jet = N/pT ⊕ S/√pT ⊕ C through the two published points, 24 % at 20 GeV and 6 % at 300 GeV
# [J], with C = 3 % chosen here; below 20 GeV, where nothing is quoted, it stays at 24 %.
JET_NOISE = 2.53  # GeV
JET_STOCHASTIC = 0.90  # √GeV
JET_CONSTANT = 0.03
JET_RESOLUTION_PT_MIN = 20.0
# σ/E of photons and electrons = 10.1 %/√E ⊕ 0.17 %: [D], |η| ≤ 3.2.
EM_STOCHASTIC = 0.101
EM_CONSTANT = 0.0017
# σ/pT of muons: constant ⊕ slope · pT for |η| up to the edge: [D].
MUON_RESOLUTION = ((0.5, 0.010, 1.0e-4), (1.5, 0.015, 1.5e-4), (2.5, 0.025, 3.5e-4))
# Each component of missing momentum fluctuates by MET_SOFT · √(ΣE_T of the soft part), E_T in GeV; [M]
# finds the resolution of the whole calorimeter proportional to √ΣE_T, with a coefficient near 0.5.
MET_SOFT = 0.5  # √GeV

# Identification for |η| ≤ 1.5 and beyond: [D]; electrons and muons include its tracking. [D] has them from
# 10 GeV only; here the same numbers hold down to FINAL_PT, which low-pT lepton triggers need.
EFFICIENCY_ETA = 1.5
PHOTON_EFFICIENCY = (0.95, 0.85)
ELECTRON_EFFICIENCY = (0.95 * 0.95, 0.85 * 0.83)
MUON_EFFICIENCY = (0.95 * 0.99, 0.85 * 0.98)


def efficiency(values: tuple[float, float], eta: Array) -> Array:
    """Return the probability to identify a particle at eta, from the (central, forward) values."""
    return np.where(np.abs(eta) <= EFFICIENCY_ETA, *values)


def jet_resolution(pt: Array) -> Array:
    """Return σ(pT)/pT of a jet of true pT."""
    x = np.maximum(pt, JET_RESOLUTION_PT_MIN)
    return np.sqrt((JET_NOISE / x) ** 2 + JET_STOCHASTIC**2 / x + JET_CONSTANT**2)


def em_resolution(pt: Array, eta: Array) -> Array:
    """Return σ(E)/E of a photon or electron."""
    return np.sqrt(EM_STOCHASTIC**2 / (pt * np.cosh(eta)) + EM_CONSTANT**2)


def muon_resolution(pt: Array, eta: Array) -> Array:
    """Return σ(pT)/pT of a muon; outside of tracking, the value at its edge."""
    edges, constants, slopes = (np.array(column) for column in zip(*MUON_RESOLUTION, strict=True))
    region = np.minimum(np.searchsorted(edges, np.abs(eta)), len(edges) - 1)
    width: Array = np.hypot(constants[region], slopes[region] * pt)
    return width


def in_photon_acceptance(eta: Array) -> Array:
    """Return whether a photon at eta can be measured: |η| < 2.37 outside the crack."""
    x = np.abs(eta)
    return (x < PHOTON_ETA) & ~((x > CRACK[0]) & (x < CRACK[1]))


def photon_isolated(pt: Array, cone: Array) -> Array:
    """Return whether a photon is isolated, given the scalar pT sum of the other particles in its cone."""
    return cone < ISOLATION_OFFSET + ISOLATION_SLOPE * pt


def fake_probability(pt: Array, eta: Array, at_20: float, slope: float) -> Array:
    """Return the probability that a jet fakes a photon; at_20 is that of a jet of 20 GeV."""
    probability = np.minimum(at_20 * (np.asarray(pt, np.float64) / 20.0) ** slope, 1.0)
    return np.where(in_photon_acceptance(eta), probability, 0.0)


def missing_momentum(invisible: Array, mismeasured: Array, soft_et: Array, normal: Array) -> Array:
    """Return one component of missing momentum, GeV: invisible + mismeasured jets + soft fluctuation."""
    return invisible + mismeasured + MET_SOFT * np.sqrt(soft_et) * normal


def missing_vector(sums: Mapping[str, Array], normal_x: Array, normal_y: Array) -> tuple[Array, Array]:
    """Return magnitude (GeV) and φ of reconstructed missing momentum, float64[n], from the sums stored for
    interactions and two normal numbers per event."""
    x, y = (
        missing_momentum(
            sums[f"invisible_{axis}"].astype(np.float64), sums[f"mismeasured_{axis}"], sums["soft_et"], normal
        )
        for axis, normal in (("x", normal_x), ("y", normal_y))
    )
    return np.hypot(x, y), np.arctan2(y, x)
