"""Angles and masses of massless objects, as scalar kernels; `expressions.py` has those of arrays."""

from __future__ import annotations

import math

import numpy as np

from trigemu.base.kernels import inlined, kernel

#: Directions that are opposite up to rounding, such as a single object and the missing momentum that it
#: causes, differ by +π. Otherwise rounding could flip the sign of a network's input.
OPPOSITE = math.pi - 1e-12
#: Distances in (η, φ) this close to ΔR are computed exactly; rounding is a million times smaller.
_CLOSE_CALL = 1e-9


@kernel
def delta_phi(phi1: float, phi2: float) -> float:
    """Return φ1 − φ2 in (−π, π]."""
    difference = phi1 - phi2
    if abs(difference) > math.pi:
        difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return math.pi if difference < -OPPOSITE else difference


@kernel
def delta_r(eta1: float, phi1: float, eta2: float, phi2: float) -> float:
    return math.hypot(eta1 - eta2, delta_phi(phi1, phi2))


@inlined
def within_dr(d_eta: float, phi1: float, phi2: float, dr: float) -> bool:
    """Whether hypot(Δη, Δφ) < ΔR; computed exactly only if the squares are too close to decide."""
    d_phi = abs(phi1 - phi2)
    nearer = min(d_phi, 2 * math.pi - d_phi)
    square = d_eta * d_eta + nearer * nearer
    low, high = dr - _CLOSE_CALL, dr + _CLOSE_CALL
    within = square < low * abs(low)
    if (square < high * high and not within) or d_phi > 2 * math.pi:
        return math.hypot(d_eta, delta_phi(phi1, phi2)) < dr
    return within


@kernel
def pair_mass(pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float) -> float:
    """Return the invariant mass of two massless objects: m² = 2 pT1 pT2 (cosh Δη − cos Δφ)."""
    square = 2.0 * pt1 * pt2 * (math.cosh(eta1 - eta2) - math.cos(phi1 - phi2))
    return 0.0 if square < 0.0 else math.sqrt(square)
