"""Merge jets of different interactions that are one jet in the calorimeter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.api import kernel

from . import detector
from .interactions import Objects

Array = NDArray[Any]


def merge(jets: Objects) -> Objects:
    """Add each jet to a harder jet of another interaction within a jet radius, and return the jets.

    jets: in descending pT, with `source`. A sum has the pT-weighted direction, and all other columns of the
    harder jet."""
    offsets = np.concatenate([[0], np.cumsum(jets.counts)])
    pt, eta, phi = (jets.columns[name].astype(np.float64) for name in ("pt", "eta", "phi"))
    keep = _merge(offsets, pt, eta, phi, jets.columns["source"], detector.JET_RADIUS)
    columns = {**jets.columns, "pt": pt, "eta": eta, "phi": phi}
    columns = {k: c.astype(jets.columns[k].dtype)[keep] for k, c in columns.items()}
    event = np.repeat(np.arange(len(jets.counts)), jets.counts)[keep]
    order = np.lexsort((-columns["pt"], event))
    return Objects(np.bincount(event, minlength=len(jets.counts)), {k: c[order] for k, c in columns.items()})


@kernel
def _merge(offsets: Array, pt: Array, eta: Array, phi: Array, source: Array, radius: float) -> Array:
    keep = np.ones(len(pt), np.bool_)
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            if not keep[j]:
                continue
            for k in range(j + 1, offsets[i + 1]):
                if not keep[k] or source[k] == source[j]:
                    continue
                dphi = phi[k] - phi[j]
                dphi -= 2.0 * math.pi * np.round(dphi / (2.0 * math.pi))
                if (eta[k] - eta[j]) ** 2 + dphi**2 < radius**2:
                    share = pt[k] / (pt[j] + pt[k])
                    eta[j] += share * (eta[k] - eta[j])
                    phi[j] += share * dphi
                    phi[j] -= 2.0 * math.pi * np.round(phi[j] / (2.0 * math.pi))
                    pt[j] += pt[k]
                    keep[k] = False
    return keep
