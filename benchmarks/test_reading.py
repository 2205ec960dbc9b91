"""From a ROOT file: what the whole run costs beyond uproot's own reading, on one core."""

from __future__ import annotations

import pytest
import uproot
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu

BRANCHES = [
    "genWeight", "event",
    "Jet_pt", "Jet_eta", "Jet_phi", "Photon_pt", "Photon_eta", "Photon_phi",
]  # fmt: skip


@pytest.mark.benchmark(group="primary.toml from ROOT", min_rounds=3)
def test_read_uproot(benchmark: BenchmarkFixture, tree: uproot.TTree) -> None:
    """The branches of the menu, in the same steps, and nothing else."""
    steps = list(zip(tree.common_entry_offsets()[:-1], tree.common_entry_offsets()[1:], strict=True))
    benchmark(
        lambda: [tree.arrays(BRANCHES, entry_start=a, entry_stop=b, library="ak", how=dict) for a, b in steps]
    )
    benchmark.extra_info["million_events_per_s"] = tree.num_entries / benchmark.stats["min"] / 1e6


@pytest.mark.benchmark(group="primary.toml from ROOT", min_rounds=3)
def test_read_trigemu(benchmark: BenchmarkFixture, million: trigemu.Catalogue, primary: trigemu.Menu) -> None:
    """The whole run: reading, checks, decisions, patterns, rates."""
    result = benchmark(lambda: trigemu.run(primary, million))
    assert result.rate.events > 0
    benchmark.extra_info["million_events_per_s"] = 1e6 / benchmark.stats["min"] / 1e6
