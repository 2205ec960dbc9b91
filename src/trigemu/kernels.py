"""The numba policy, in one place, and the four-momentum kernels that several modules share.

Kernels are compiled once and cached on disk, release the GIL, and never use fastmath: decisions are
compared bit by bit with brute force and with recorded ones, so IEEE semantics (NaN, rounding) count.
Columns have one of four types (float32, float64, int32, int64), so few signatures serve every menu.
Comparisons and derived quantities are computed in float64 whatever the column's type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function on scalars, flat arrays and ranges of rows."""
    return numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)  # type: ignore[no-any-return]


@kernel
def delta_phi(phi1: float, phi2: float) -> float:
    """φ1 − φ2 in (−π, π], in radians."""
    difference = phi1 - phi2
    if abs(difference) > math.pi:
        difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return difference if difference > -math.pi else difference + 2 * math.pi


@kernel
def delta_r(eta1: float, phi1: float, eta2: float, phi2: float) -> float:
    """Distance in (η, φ)."""
    return math.hypot(eta1 - eta2, delta_phi(phi1, phi2))


@kernel
def pair_mass(pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float) -> float:
    """Invariant mass in GeV of two massless objects: m² = 2 pT1 pT2 (cosh Δη − cos Δφ)."""
    square = 2.0 * pt1 * pt2 * (math.cosh(eta1 - eta2) - math.cos(phi1 - phi2))
    return 0.0 if square < 0.0 else math.sqrt(square)
