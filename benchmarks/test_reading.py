"""From a ROOT file: what the whole run costs beyond uproot's own reading, with one worker on two cores."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import uproot
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu

BRANCHES = [
    "genWeight", "event",
    "Jet_pt", "Jet_eta", "Jet_phi", "Photon_pt", "Photon_eta", "Photon_phi",
]  # fmt: skip
Record = Callable[[BenchmarkFixture, int], None]
#: Seconds of uproot alone, for the ratio.
_uproot: list[float] = []


@pytest.mark.benchmark(group="primary.toml from ROOT", min_rounds=5, warmup=True, warmup_iterations=1)
def test_read_uproot(benchmark: BenchmarkFixture, tree: uproot.TTree, record: Record) -> None:
    """The branches of the menu, in the same steps, with uproot's defaults, and nothing else."""
    steps = list(zip(tree.common_entry_offsets()[:-1], tree.common_entry_offsets()[1:], strict=True))
    benchmark(
        lambda: [tree.arrays(BRANCHES, entry_start=a, entry_stop=b, library="ak", how=dict) for a, b in steps]
    )
    record(benchmark, tree.num_entries)
    if not benchmark.disabled:
        _uproot.append(benchmark.stats["min"])


@pytest.mark.benchmark(group="primary.toml from ROOT", min_rounds=5, warmup=True, warmup_iterations=1)
def test_read_trigemu(
    benchmark: BenchmarkFixture, million: trigemu.Catalogue, primary: trigemu.Menu, record: Record
) -> None:
    """The whole run: reading, checks, decisions, patterns, rates."""
    result = benchmark(lambda: trigemu.run(primary, million))
    assert result.rate.events > 0
    record(benchmark, million.samples[0].entries)
    if _uproot and not benchmark.disabled:
        benchmark.extra_info["times_uproot"] = benchmark.stats["min"] / _uproot[0]
