"""Decisions and patterns on events in memory, on one core."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu
from trigemu.patterns import count


def run(benchmark: BenchmarkFixture, events: trigemu.Events, menu: trigemu.Menu) -> None:
    plan = trigemu.make_plan([menu])
    table = benchmark(lambda: count(0, trigemu.decide(events, plan), events.weight))
    assert table.n.sum() == len(events)
    benchmark.extra_info["million_events_per_s"] = len(events) / benchmark.stats["min"] / 1e6


@pytest.mark.benchmark(group="primary.toml in memory")
def test_primary_trigemu(benchmark: BenchmarkFixture, events: trigemu.Events, primary: trigemu.Menu) -> None:
    run(benchmark, events, primary)


@pytest.mark.benchmark(group="primary.toml in memory")
def test_primary_awkward(
    benchmark: BenchmarkFixture, arrays: dict[str, ak.Array], events: trigemu.Events, primary: trigemu.Menu
) -> None:
    """The same menu as an analyst would write it, and the rates of its patterns."""

    def expressions() -> np.ndarray:
        photons = arrays["photon"][arrays["photon"].pt >= 10]
        jets = arrays["jet"][arrays["jet"].pt >= 20]
        pairs = ak.cartesian({"j": jets, "p": photons}, nested=True)
        dphi = (pairs.j.phi - pairs.p.phi + np.pi) % (2 * np.pi) - np.pi
        near = ak.any(np.hypot(pairs.j.eta - pairs.p.eta, dphi) < 0.4, axis=-1)
        jets = jets[~near]
        j100 = ak.fill_none(ak.firsts(jets.pt) > 100, False)
        g30 = ak.fill_none(ak.firsts(photons.pt) > 30, False)
        pattern = ak.to_numpy(j100).astype(np.int64) + 2 * ak.to_numpy(g30)
        return np.bincount(pattern, minlength=4)

    counts = benchmark(expressions)
    table = count(0, trigemu.decide(events, trigemu.make_plan([primary])), events.weight)
    assert dict(zip(table.words[:, 0].tolist(), table.n.tolist(), strict=True)) == {
        pattern: n for pattern, n in enumerate(counts.tolist()) if n
    }
    benchmark.extra_info["million_events_per_s"] = len(events) / benchmark.stats["min"] / 1e6


@pytest.mark.benchmark(group="primary.toml in memory")
def test_primary_sum_of_its_columns(benchmark: BenchmarkFixture, events: trigemu.Events) -> None:
    """The limit of memory: NumPy sums the columns that the menu reads."""
    jet, photon = events.collections["jet"], events.collections["photon"]
    columns = [events.weight, jet.offsets, photon.offsets]
    columns += [c.columns[name] for c in (jet, photon) for name in ("pt", "eta", "phi")]
    benchmark(lambda: [column.sum() for column in columns])
    benchmark.extra_info["million_events_per_s"] = len(events) / benchmark.stats["min"] / 1e6


@pytest.mark.benchmark(group="30 combinations in memory")
def test_combinations_trigemu(
    benchmark: BenchmarkFixture, events: trigemu.Events, combinations: trigemu.Menu
) -> None:
    run(benchmark, events, combinations)


@pytest.mark.benchmark(group="patterns")
@pytest.mark.parametrize("distinct", [4, 10_000])
def test_patterns(benchmark: BenchmarkFixture, events: trigemu.Events, distinct: int) -> None:
    words = np.random.default_rng(1).integers(0, distinct, (len(events), 1)).astype(np.uint64)
    table = benchmark(count, 0, words, events.weight)
    assert len(table) == distinct
    benchmark.extra_info["million_events_per_s"] = len(events) / benchmark.stats["min"] / 1e6


@pytest.mark.benchmark(group="rates from a pattern table")
def test_rates(benchmark: BenchmarkFixture, million: trigemu.Catalogue, combinations: trigemu.Menu) -> None:
    emulation = trigemu.emulate([combinations], million)
    assert benchmark(trigemu.rates, emulation).rate.events > 0
