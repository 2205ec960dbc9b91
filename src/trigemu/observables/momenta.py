"""Angles and four-momenta of massless objects, as scalar kernels; `vectors.py` has those of arrays."""

from __future__ import annotations

import math

import numpy as np

from trigemu.base.kernels import kernel

#: Directions that are opposite up to rounding, such as a single object and the missing momentum that it
#: causes, differ by +π. Otherwise rounding could flip the sign of a network's input.
OPPOSITE = math.pi - 1e-12
#: A smaller m² / E² is what rounding leaves of objects in one direction, and is 0.
PARALLEL = 1e-14


@kernel
def delta_phi(phi1: float, phi2: float) -> float:
    """Return φ1 − φ2 in (−π, π]."""
    difference = phi1 - phi2
    if abs(difference) > math.pi:
        difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return math.pi if difference < -OPPOSITE else difference


@kernel
def delta_r(eta1: float, phi1: float, eta2: float, phi2: float) -> float:
    """Return the distance in (η, φ)."""
    return math.hypot(eta1 - eta2, delta_phi(phi1, phi2))


@kernel
def momentum_x(pt: float, phi: float) -> float:
    """Return px."""
    return pt * math.cos(phi)


@kernel
def momentum_y(pt: float, phi: float) -> float:
    """Return py."""
    return pt * math.sin(phi)


@kernel
def momentum_z(pt: float, eta: float) -> float:
    """Return pz."""
    return pt * math.sinh(eta)


@kernel
def energy(pt: float, eta: float) -> float:
    """Return the energy of a massless object."""
    return pt * math.cosh(eta)


@kernel
def pseudorapidity(px: float, py: float, pz: float) -> float:
    """Return the pseudorapidity of a momentum."""
    return math.asinh(pz / math.hypot(px, py))


@kernel
def mass(px: float, py: float, pz: float, e: float) -> float:
    """Return the invariant mass of a four-momentum."""
    square = e * e - px * px - py * py - pz * pz
    return 0.0 if square < PARALLEL * e * e else math.sqrt(square)


@kernel
def pair_mass(pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float) -> float:
    """Return the invariant mass of two massless objects: m² = 2 pT1 pT2 (cosh Δη − cos Δφ)."""
    square = 2.0 * pt1 * pt2 * (math.cosh(eta1 - eta2) - math.cos(phi1 - phi2))
    return 0.0 if square < 0.0 else math.sqrt(square)
