"""The overlay of the interactions of a crossing: objects are collected, near jets merged, momenta summed.

The detector effects of the overlap, merged jets and pile-up under objects, follow in `observed.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trigemu.base.kernels import kernel

from . import detector
from .interactions import OBJECTS, SUMS, Array, Objects, in_order, ranges
from .pools import Pool


def merge(jets: Objects) -> Objects:
    """Add each jet to a harder jet of another interaction within a jet radius, and return the jets.

    jets: in descending pT, with `source`. A sum has the pT-weighted direction, and all other columns of the
    harder jet."""
    offsets = np.concatenate([[0], np.cumsum(jets.counts)])
    pt, eta, phi = (jets.columns[name].astype(np.float64) for name in ("pt", "eta", "phi"))
    keep = _merge(offsets, pt, eta, phi, jets.columns["source"], detector.JET_RADIUS)
    columns = {**jets.columns, "pt": pt, "eta": eta, "phi": phi}
    columns = {k: c.astype(jets.columns[k].dtype)[keep] for k, c in columns.items()}
    return in_order([(jets.event[keep], columns)], len(jets.counts))


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


@dataclass(frozen=True, slots=True)
class Drawn:
    """Interactions of one pool in n crossings: crossing int64[m] ascending, rows int64[m] of the pool.

    own: whether it is the pool of the class of the crossings."""

    pool: Pool
    crossing: Array
    rows: Array
    own: bool


@dataclass(frozen=True, slots=True)
class Crossing:
    """n crossings before fakes. interactions: int64[n]. sums: of each scalar of the interactions.

    objects: by kind; in addition to pt, eta, phi and the columns of its kind, each has `source`, the number
    of its interaction (uint64), and `own`, whether this is an interaction of the crossing's class."""

    interactions: Array
    sums: dict[str, Array]
    objects: dict[str, Objects]


def overlay(drawn: list[Drawn], n: int) -> Crossing:
    """Combine the interactions of n crossings."""
    return Crossing(
        np.sum([np.bincount(d.crossing, minlength=n) for d in drawn], axis=0),
        {
            name: np.sum(
                [np.bincount(d.crossing, d.pool.rows.scalars[name][d.rows], n) for d in drawn], axis=0
            )
            for name in SUMS
        },
        {kind: in_order([_of_pool(d, kind) for d in drawn], n) for kind in OBJECTS},
    )


def _of_pool(drawn: Drawn, kind: str) -> tuple[Array, dict[str, Array]]:
    objects, offsets = drawn.pool.rows.objects[kind], drawn.pool.offsets[kind]
    counts = objects.counts[drawn.rows]
    index = ranges(offsets[drawn.rows], counts)
    columns = {name: column[index] for name, column in objects.columns.items()}
    columns["source"] = np.repeat(drawn.pool.ids(drawn.rows), counts)
    columns["own"] = np.full(len(index), drawn.own)
    return np.repeat(drawn.crossing, counts), columns
