"""Reading from files: the cost of the run in addition to uproot's own reading, and with large baskets, on two
cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import awkward as ak
import pytest
import uproot
from pytest_benchmark.fixture import BenchmarkFixture
from repeat import NEEDS, repeated, write_repeated

import trigemu

BRANCHES = [
    "genWeight", "event",
    "Jet_pt", "Jet_eta", "Jet_phi", "Photon_pt", "Photon_eta", "Photon_phi",
]  # fmt: skip
Record = Callable[[BenchmarkFixture, int], None]
Write = Callable[[Path, int], trigemu.Catalogue]
LARGE = 1_000_000
#: Seconds of uproot alone, for the ratio.
_uproot: list[float] = []


@pytest.mark.benchmark(group="primary.toml from ROOT", min_rounds=5, warmup=True, warmup_iterations=1)
def test_read_uproot(benchmark: BenchmarkFixture, tree: uproot.TTree, record: Record) -> None:
    """Read only the branches of the menu, in the same steps, with uproot's defaults."""
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


def _tree(folder: Path, step: int) -> trigemu.Catalogue:
    return write_repeated(folder, LARGE, step, LARGE)


def _rntuple(folder: Path, step: int) -> trigemu.Catalogue:
    with uproot.open(_tree(folder, LARGE).samples[0].sources[0].path) as file:
        columns, sums = file["Events"].arrays(how=dict), file["Runs"].arrays(library="np")
    with uproot.recreate(folder / "repeated.root", compression=uproot.ZSTD(5)) as file:
        ntuple = file.mkrntuple("Events", {name: column[:step] for name, column in columns.items()})
        for start in range(step, LARGE, step):
            ntuple.extend({name: column[start : start + step] for name, column in columns.items()})
        file.mktree("Runs", sums)
    return trigemu.open_catalogue(folder / "catalogue.toml")


def _parquet(folder: Path, step: int) -> trigemu.Catalogue:
    folder.mkdir()
    events = repeated(trigemu.open_catalogue(), NEEDS, LARGE).to_awkward()
    remaining = events[[name for name in ak.fields(events) if name != "weight"]]
    ak.to_parquet(remaining, folder / "a.parquet", row_group_size=step, compression="zstd")
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "large"\nconvention = "crossing"\n'
        '[[sample]]\nname = "large"\nrole = "background"\nfiles = ["a.parquet"]\nformat = "parquet"\n'
        "rate_hz = 40e6\n"
    )
    return trigemu.open_catalogue(folder / "catalogue.toml")


@pytest.mark.parametrize("write", [_tree, _rntuple, _parquet], ids=["TTree", "RNTuple", "Parquet"])
@pytest.mark.benchmark(group="one basket, cluster or row group")
def test_read_what_is_compressed_as_a_whole(
    benchmark: BenchmarkFixture, primary: trigemu.Menu, tmp_path: Path, record: Record, write: Write
) -> None:
    """Compare with the same events in parts of 100 000, in turn."""
    full, parts = write(tmp_path / "whole", LARGE), write(tmp_path / "parts", 100_000)
    hz, of_parts = ([t.total.hz for t in trigemu.run(primary, of).triggers] for of in (full, parts))
    assert hz == pytest.approx(of_parts, rel=1e-12)  # their sums are in another order
    ratios = []
    for _ in range(0 if benchmark.disabled else 7):
        start = time.perf_counter()
        trigemu.run(primary, full)
        middle = time.perf_counter()
        trigemu.run(primary, parts)
        ratios.append((time.perf_counter() - middle) / (middle - start))
    benchmark(lambda: trigemu.run(primary, full))
    record(benchmark, LARGE)
    if ratios:
        benchmark.extra_info["times_parts"] = median(ratios)
