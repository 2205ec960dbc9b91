"""Pattern tables: merging the tables of chunks, and the rates of 30 triggers, against the number of
patterns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu
from trigemu.counting.patterns import PatternTable, count_patterns, merge_tables

EVENTS, TABLES = 131_072, 16
DISTINCT = [100, 10_000]


def table_of(distinct: int, seed: int, bits: int = 30) -> PatternTable:
    """Return tables of events with so many patterns, all equally frequent."""
    patterns = np.random.default_rng(0).choice(2**bits, distinct, replace=False).astype(np.uint64)
    random = np.random.default_rng(seed)
    words = patterns[random.integers(0, distinct, EVENTS)]
    return count_patterns(0, words[:, None], random.exponential(300.0, EVENTS))


@pytest.mark.parametrize("distinct", DISTINCT)
def test_merge(benchmark: BenchmarkFixture, distinct: int) -> None:
    benchmark.group = f"adding {TABLES} tables of {distinct} patterns"
    tables = [table_of(distinct, seed) for seed in range(TABLES)]
    assert benchmark(merge_tables, tables).n.sum() == TABLES * EVENTS


@pytest.mark.parametrize("distinct", DISTINCT)
def test_merge_dictionaries(benchmark: BenchmarkFixture, distinct: int) -> None:
    """Count the events alone, in plain Python."""
    benchmark.group = f"adding {TABLES} tables of {distinct} patterns"
    tables = [table_of(distinct, seed) for seed in range(TABLES)]
    tables_ = [list(zip(t.words[:, 0].tolist(), t.n.tolist(), strict=True)) for t in tables]

    def add() -> dict[int, int]:
        expected: defaultdict[int, int] = defaultdict(int)
        for entries in tables_:
            for pattern, n in entries:
                expected[pattern] += n
        return expected

    merged = merge_tables(tables)
    assert benchmark(add) == dict(zip(merged.words[:, 0].tolist(), merged.n.tolist(), strict=True))


@pytest.mark.benchmark(group="rates of 30 triggers")
@pytest.mark.parametrize("distinct", DISTINCT)
def test_rates(
    benchmark: BenchmarkFixture, million: trigemu.Catalogue, combinations: trigemu.Menu, distinct: int
) -> None:
    emulation = replace(trigemu.emulate([combinations], million), table=table_of(distinct, 1))
    result = benchmark(trigemu.rates_of, emulation)
    assert result.rate.events == EVENTS
    benchmark.extra_info["ns_per_pattern"] = benchmark.stats["min"] / distinct * 1e9
