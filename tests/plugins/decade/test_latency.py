"""The parts of both kinds of score in `trigemu bench`, alone and in batches."""

from __future__ import annotations

import pytest
from decade_toys import MENU, Models

from trigemu import Catalogue, emulate
from trigemu_latency import text as output_bench
from trigemu_latency.timing import clock as timing
from trigemu_latency.timing.costs import bench

ANOMALY = """
[[trigger]]
name = "AE"
kind = "anomaly"
card = "network.toml"
requires = "n_photon >= 1"
above = 1.0
"""
BARE = {"features", "autoencoder", "bare_onnxruntime"}


def test_scores_are_timed_with_their_parts(
    models: Models, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SECONDS", 0.001)
    menu = models.menu(MENU + ANOMALY)
    found = bench(emulate([menu], catalogue), batches=(1, 16), events=100, threads=2)
    costs = {cost.trigger.name: cost for cost in found.triggers}
    assert set(costs["AE"].parts) == BARE
    assert set(costs["AD"].parts) == BARE | {"bdt", "sequential", "parallel", "bare_bdt"}
    assert not costs["J60"].parts
    for name in ("AD", "AE"):
        assert costs[name].asking
        assert all(tuple(timings) == (1, 16) for timings in costs[name].parts.values())
    for size in (1, 16):
        added = costs["AD"].added(size)
        assert set(added) == {"sequential", "parallel"}
        p50 = {name: timings[size].p50_ns for name, timings in costs["AD"].parts.items()}
        expected = p50["sequential"] - p50["features"] - p50["autoencoder"]
        assert added["sequential"].ns == pytest.approx(expected)
        assert costs["AE"].added(size) == {}
    labels = output_bench.figure_of(found).axes[0].get_yticklabels()
    assert [label.get_text() for label in labels].count("bare ONNX Runtime") == 2
