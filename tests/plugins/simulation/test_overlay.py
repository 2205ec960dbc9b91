from __future__ import annotations

import generate_toys as toys
import numpy as np
import pytest
from trigemu_simulation import overlay
from trigemu_simulation.overlay import Drawn


def test_objects_and_sums_of_each_crossing() -> None:
    """Random interactions in random crossings, against loops over lists."""
    rng = np.random.default_rng(1)
    a = toys.pool("a", 0, toys.soft_rows(50, rate=2.0))
    b = toys.pool("b", 1, toys.hard_rows(30))
    for pool in (a, b):
        for name in ("invisible_x", "soft_et"):
            pool.rows.scalars[name][:] = rng.uniform(1, 9, len(pool))
    n, drawn = 20, []
    for pool, own in ((a, False), (b, True)):
        counts = rng.integers(0, 5, n)
        rows = rng.integers(0, len(pool), counts.sum())
        drawn.append(Drawn(pool, np.repeat(np.arange(n), counts), rows, own))
    output = overlay.overlay(drawn, n)
    jets = output.objects["jet"]
    ends = np.cumsum(jets.counts)
    for i in range(n):
        expected, invisible, number = [], 0.0, 0
        for d in drawn:
            for row in d.rows[d.crossing == i]:
                number += 1
                invisible += d.pool.rows.scalars["invisible_x"][row]
                first, stop = d.pool.offsets["jet"][row : row + 2]
                for pt in d.pool.rows.objects["jet"].columns["pt"][first:stop]:
                    expected.append((pt, int(d.pool.ids(np.array([row]))[0]), d.own))
        mine = slice(ends[i] - jets.counts[i], ends[i])
        result = list(zip(*(jets.columns[c][mine].tolist() for c in ("pt", "source", "own")), strict=True))
        assert sorted(result) == sorted(expected)
        assert (np.diff(jets.columns["pt"][mine]) <= 0).all()
        assert output.interactions[i] == number
        assert output.sums["invisible_x"][i] == pytest.approx(invisible)
    assert set(output.objects["muon"].columns) >= {"charge", "source"}
