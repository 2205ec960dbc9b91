"""The CMS Level-1 menu of 2016, 257 algorithms, on its repeated test vector: decisions and patterns on one
core, and the time for reading the text compared with reading its bytes alone."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from real_data import real_file
from trigemu_cms import CMSVector, import_cms_l1

import trigemu
from trigemu.counting.patterns import PatternTable, count_patterns
from trigemu.samples.opening import catalogue_of

Record = Callable[[BenchmarkFixture, int], None]
VECTOR = "TestVector_L1Menu_Collisions2016_v8.txt.xz"
#: Number of copies of the vector, one after the other.
ORBITS = 36


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> trigemu.Menu:
    file = tmp_path_factory.mktemp("menu") / "menu.toml"
    file.write_text(import_cms_l1(real_file("cms_l1", "L1Menu_Collisions2016_v8_m2.xml.xz")).toml)
    return trigemu.read_menu(file)


@pytest.fixture(scope="module")
def vector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("vector") / "vector.txt"
    packed = real_file("cms_l1", VECTOR).read_bytes()
    file.write_bytes(lzma.decompress(packed) * ORBITS)
    return file


@pytest.mark.benchmark(group="CMS Level-1 menu in memory")
def test_decisions(benchmark: BenchmarkFixture, record: Record, menu: trigemu.Menu, vector: Path) -> None:
    plan = trigemu.make_plan([menu])
    sample = catalogue_of(vector).samples[0]
    events = sample.read(0, 0, sample.entries, plan.needs, plan.margin)
    weight = events.weight[events.core]

    def counted() -> PatternTable:
        return count_patterns(0, trigemu.decide(events, plan)[events.core], weight)

    assert counted().n.sum() == sample.entries  # and warm
    benchmark(counted)
    record(benchmark, sample.entries)


@pytest.mark.benchmark(group="CMS Level-1 vector from disk", warmup=True, warmup_iterations=1)
def test_reading_bytes(benchmark: BenchmarkFixture, record: Record, vector: Path) -> None:
    """Read only the bytes of the text."""
    assert benchmark(vector.read_bytes)
    record(benchmark, 3564 * ORBITS)


@pytest.mark.benchmark(group="CMS Level-1 vector from disk", warmup=True, warmup_iterations=1)
def test_reading(benchmark: BenchmarkFixture, record: Record, vector: Path) -> None:
    assert benchmark(lambda: CMSVector(str(vector)).entries) == 3564 * ORBITS
    record(benchmark, 3564 * ORBITS)


@pytest.mark.benchmark(group="CMS Level-1 vector, one orbit in xz", warmup=True, warmup_iterations=1)
def test_decompressing(benchmark: BenchmarkFixture, record: Record) -> None:
    """Run only the decompression, which any reader needs."""
    packed = real_file("cms_l1", VECTOR).read_bytes()
    assert benchmark(lambda: lzma.decompress(packed))
    record(benchmark, 3564)


@pytest.mark.benchmark(group="CMS Level-1 vector, one orbit in xz", warmup=True, warmup_iterations=1)
def test_reading_xz(benchmark: BenchmarkFixture, record: Record) -> None:
    file = str(real_file("cms_l1", VECTOR))
    assert benchmark(lambda: CMSVector(file).entries) == 3564
    record(benchmark, 3564)
