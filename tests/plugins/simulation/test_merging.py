from __future__ import annotations

import math

import numpy as np
import pytest
from trigemu_simulation.interactions import Objects
from trigemu_simulation.overlay import merge

Jet = tuple[float, float, float, int]


def jets_of(events: list[list[Jet]]) -> Objects:
    flat = np.array([jet for event in events for jet in event])
    columns = dict(zip(("pt", "eta", "phi"), flat.T[:3].astype(np.float32), strict=True))
    return Objects(np.array([len(e) for e in events]), columns | {"source": flat[:, 3].astype(np.uint64)})


def slowly(jets: list[Jet]) -> list[float]:
    """The pT of merged jets, by the definition."""
    left, done = [list(jet) for jet in jets], []
    while left:
        first, *left = left
        remaining = []
        for other in left:
            dphi = math.remainder(other[2] - first[2], 2 * math.pi)
            if other[3] != first[3] and math.hypot(other[1] - first[1], dphi) < 0.4:
                share = other[0] / (first[0] + other[0])
                first[1] += share * (other[1] - first[1])
                first[2] += share * dphi
                first[0] += other[0]
            else:
                remaining.append(other)
        left = remaining
        done.append(first[0])
    return sorted(done, reverse=True)


def test_merged_jets_agree_with_the_definition() -> None:
    rng = np.random.default_rng(1)
    events = []
    for _ in range(300):
        pt = np.sort(rng.exponential(20, 6) + 8)[::-1]
        angles = rng.uniform(-0.6, 0.6, (2, 6))
        angles[1] = np.where(rng.random(6) < 0.5, angles[1], np.pi - np.abs(angles[1]))
        events.append(list(zip(pt, *angles, rng.integers(0, 3, 6), strict=True)))
    merged = merge(jets_of(events))
    assert merged.counts.sum() < 1700
    ends = np.cumsum(merged.counts)
    for event, end, count in zip(events, ends, merged.counts, strict=True):
        assert merged.columns["pt"][end - count : end] == pytest.approx(slowly(event), rel=1e-5)


def test_jets_of_one_interaction_stay_apart() -> None:
    merged = merge(
        jets_of([[(30.0, 0.0, 0.0, 1), (20.0, 0.3, 0.0, 1)], [(30.0, 0.0, 3.1, 1), (20.0, 0.0, -3.1, 2)]])
    )
    assert merged.counts.tolist() == [2, 1]
    assert merged.columns["pt"][2] == pytest.approx(50.0)
    assert abs(merged.columns["phi"][2]) > 3.1
