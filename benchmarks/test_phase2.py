"""The step-1 menu of the CMS Phase-2 tools, 42 seeds, on a million synthetic events in files like theirs.

The tools decide 15 000 of these events a second. The menu is not part of the project: TRIGEMU_TEST_DATA
names the folder that has it.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from phase2 import EVENTS, Share, decide_own, prepare, write_events
from pytest_benchmark.fixture import BenchmarkFixture
from trigemu_cms import import_cms_phase2

import trigemu
from trigemu.samples.opening import catalogue_of

Record = Callable[[BenchmarkFixture, int], None]


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> trigemu.Menu:
    data = os.environ.get("TRIGEMU_TEST_DATA")
    if not data:
        pytest.skip("TRIGEMU_TEST_DATA names no folder with files of experiments")
    folder = Path(data, "cms_phase2")
    file = tmp_path_factory.mktemp("phase2") / "menu.toml"
    file.write_text(import_cms_phase2(folder / "step1_menu_cfg.yml", folder / "objects").toml)
    return trigemu.read_menu(file)


@pytest.fixture(scope="module")
def folder(menu: trigemu.Menu) -> Path:
    return write_events(menu.path.parent / "events")


def test_in_memory(benchmark: BenchmarkFixture, record: Record, menu: trigemu.Menu, folder: Path) -> None:
    benchmark.group = "42 seeds of Phase 2"
    share = Share(menu.path, folder, 0, 1)
    assert benchmark.pedantic(share.decide, rounds=7, warmup_rounds=1) == EVENTS
    record(benchmark, EVENTS)


def test_in_memory_of_two_processes(
    benchmark: BenchmarkFixture, record: Record, menu: trigemu.Menu, folder: Path
) -> None:
    benchmark.group = "42 seeds of Phase 2"
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        numbers, together = manager.Queue(), manager.Barrier(2)
        for number in range(2):
            numbers.put(number)
        with context.Pool(2, prepare, (menu.path, folder, numbers, 2)) as pool:

            def decide_all() -> int:
                return sum(pool.map(decide_own, [together] * 2, chunksize=1))

            assert benchmark.pedantic(decide_all, rounds=7, warmup_rounds=2) == EVENTS
    record(benchmark, EVENTS)


def test_from_files(benchmark: BenchmarkFixture, record: Record, menu: trigemu.Menu, folder: Path) -> None:
    """Include reading; the next chunks are read while one is decided."""
    benchmark.group = "42 seeds of Phase 2"
    emulation = benchmark.pedantic(
        lambda: trigemu.emulate([menu], catalogue_of(folder)), rounds=3, warmup_rounds=1
    )
    assert int(emulation.table.n.sum()) == EVENTS
    record(benchmark, EVENTS)
