"""Samples in chunks, on one process and on several; what is decompressed, once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, strategies as st
from toys import (
    Decided,
    Killed,
    Memory,
    Seen,
    combination,
    engine,
    even_events,
    memory_catalogue,
    menu_from,
    threshold,
    write_tree,
)

import trigemu
from trigemu import Catalogue, Events, TrigemuError, make_plan
from trigemu.api import Plan, ReadEvents
from trigemu.base.mapping import Engine
from trigemu.base.processes import worker_pool
from trigemu.emulation.engine import Chunk, Job, over_background
from trigemu.samples.root import RootFile
from trigemu.samples.sample import Sample

MENU = threshold("J", "jet[0].pt", 20)


def job(folder: Path, catalogue: Catalogue, text: str = MENU, **more: Any) -> Job:
    menus = (menu_from(folder, text),)
    return Job(menus, make_plan(menus), catalogue, **more)


@pytest.fixture(scope="module")
def job_of_two_hundred(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return job(tmp_path_factory.mktemp("job"), memory_catalogue({"a": even_events(1, 200)}))


@given(st.sets(st.integers(1, 199)), st.integers(1, 250))
def test_chunks_cover_each_event_once_and_end_at_the_last_basket_within_reach(
    job_of_two_hundred: Job, inner: set[int], events: int
) -> None:
    source = job_of_two_hundred.catalogue.samples[0].sources[0]
    assert isinstance(source, Memory)
    source.boundaries = tuple(sorted({0, 200, *inner}))
    done = over_background(job_of_two_hundred, Seen(1.0), Engine(chunk_events=events))
    chunks = [(ids[0], ids[-1] + 1) for part in done for _, ids, _ in part]
    assert [start for start, _ in chunks] + [200] == [0, *(stop for _, stop in chunks)]
    for start, stop in chunks:
        within = [b for b in source.boundaries if start < b <= start + events]
        assert stop == max(within, default=start + events)


def test_a_worker_that_is_ended_each_time_is_reported_with_its_events(tmp_path: Path) -> None:
    work = job(tmp_path, memory_catalogue({"a": even_events(1, 90)}))
    with worker_pool(1) as pool, pytest.raises(TrigemuError, match="ended by signal 9") as error:
        list(over_background(work, Killed(), Engine(pool, retries=1, chunk_events=20)))
    assert str(error.value).splitlines()[1] == "failed after 2 attempts: entries 0 to 49 of memory"


# ---- threads
@dataclass
class Watched:
    """Events of a source that says what becomes of each chunk."""

    source: Memory
    reading: Callable[[int], None]
    path: str = "watched"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def read(self, start: int, stop: int, needs: Iterable[tuple[str, str]]) -> ReadEvents:
        self.reading(start)
        return self.source.read(start, stop, needs)


def watched(catalogue: Catalogue, reading: Callable[[int], None]) -> Catalogue:
    def of(sample: Sample) -> Sample:
        sources = tuple(Watched(source, reading) for source in sample.sources)  # type: ignore[arg-type]
        return replace(sample, sources=sources)

    return replace(catalogue, samples=tuple(map(of, catalogue.samples)))


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """cores(n): as on a machine of n cores, on which threads process small chunks too."""
    monkeypatch.setattr("trigemu.emulation.engine.THREAD_EVENTS", 0)
    return lambda n: monkeypatch.setattr("trigemu.base.mapping.cores", lambda: n)


@pytest.fixture
def threads_end() -> Iterator[Callable[[], None]]:
    """threads_end() waits for those that the test started; at its end too."""
    before = set(threading.enumerate())

    def check() -> None:
        for thread in set(threading.enumerate()) - before:
            thread.join(timeout=10)
            assert not thread.is_alive()

    yield check
    check()


@dataclass
class Waiting:
    """A task that waits until other chunks were read."""

    read: dict[int, threading.Event]
    awaited: Callable[[int], Iterable[int]]
    done: list[int] = field(default_factory=list)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> int:
        start = int(events.id[0])
        for other in self.awaited(start):
            assert self.read[other].wait(timeout=10), f"{other} was not read while {start} was worked on"
        self.done.append(start)
        return start

    def merge(self, parts: Sequence[int]) -> int:
        return sum(parts)


@pytest.mark.usefixtures("threads_end")
def test_two_cores_work_on_two_portions_at_once(tmp_path: Path, cores: Callable[[int], None]) -> None:
    """The portions are 0 to 49, which is done first, 50 to 99 and 100 to 149: a basket each, read at once."""
    cores(2)
    starts = range(0, 150, 10)
    read, begun = {start: threading.Event() for start in (0, 50, 100)}, threading.Event()

    def awaited(start: int) -> list[int]:
        if start == 10:  # the first thread has its plan, which one thread at a time loads
            begun.set()
        return {50: [100], 100: [50]}.get(start, [])

    def reading(start: int) -> None:
        assert start != 50 or begun.wait(timeout=10)
        read[start].set()

    task = Waiting(read, awaited)
    catalogue = watched(memory_catalogue({"a": even_events(1, 150)}), reading)
    given = list(over_background(job(tmp_path, catalogue), task, Engine(chunk_events=10)))
    assert given == [sum(starts[:5]), sum(starts[5:10]), sum(starts[10:])]
    assert sorted(task.done) == [*starts]


@pytest.mark.usefixtures("threads_end")
@pytest.mark.parametrize("n", [1, 2])
def test_what_cannot_be_read_is_told_in_its_turn(
    tmp_path: Path, cores: Callable[[int], None], n: int
) -> None:
    def reading(start: int) -> None:
        if start >= 50:
            time.sleep(0.02 if start == 50 else 0.0)  # the later one fails first
            raise ValueError(f"damaged at {start}")

    cores(n)
    work = job(tmp_path, watched(memory_catalogue({"a": even_events(1, 150)}), reading))
    done = iter(over_background(work, Seen(1.0), Engine(chunk_events=10)))
    assert [one[1][0] for one in next(done)] == [0, 10, 20, 30, 40]
    with pytest.raises(
        TrigemuError, match=r"sample 'a': watched cannot be read \(ValueError: damaged at 50\)"
    ) as error:
        next(done)
    assert str(error.value).endswith("failed after 4 attempts: entries 50 to 99 of watched")


@pytest.mark.usefixtures("threads_end")
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_work_that_fails_or_is_interrupted_ends_the_reading(
    tmp_path: Path, cores: Callable[[int], None], error: type[BaseException]
) -> None:
    @dataclass(frozen=True)
    class Failing(Seen):
        def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Any:
            raise error

    def reading(start: int) -> None:
        begun.append(start)
        time.sleep(0.02)
        ended.append(start)

    cores(2)
    begun: list[int] = []
    ended: list[int] = []
    catalogue = watched(memory_catalogue({"a": even_events(1, 90)}), reading)
    with pytest.raises(error):
        list(over_background(job(tmp_path, catalogue), Failing(1.0), Engine(chunk_events=10)))
    assert sorted(begun) == sorted(ended)
    assert {0} <= {*begun} <= {0, 50}


# ---- neighbouring crossings
MUON = '{ object = "muon", crossing = 1 }'
NEIGHBOURS = (
    combination("JET_BEFORE", '{ object = "jet", crossing = -2 }, { object = "muon" }')
    + combination("PAIR_AFTER", f'{MUON}, {MUON}, {{ object = "photon", crossing = 2 }}')
    + threshold("ALONE", "jet[0].pt", 20)
)


@pytest.mark.parametrize("neighbours", ["line", "orbit"])
@pytest.mark.parametrize("entries", [1, 2, 5, 53])
def test_chunks_and_workers_change_nothing_for_neighbouring_crossings(
    tmp_path: Path, neighbours: str, entries: int
) -> None:
    events = even_events(4, entries)
    catalogue = memory_catalogue({"a": events})
    for source in catalogue.samples[0].sources:
        assert isinstance(source, Memory)
        source.neighbours = neighbours
    work = job(tmp_path, catalogue, NEIGHBOURS)

    def has(number: int, name: str, least: int = 1) -> bool:
        there = neighbours == "orbit" or 0 <= number < entries
        return there and len(events[number % entries][name]) >= least

    expected = [
        [
            has(i - 2, "jet") and has(i, "muon"),
            has(i + 1, "muon", 2) and has(i + 2, "photon"),
            has(i, "jet") and events[i]["jet"][0]["pt"] > 20,
        ]
        for i in range(entries)
    ]
    assert entries < 53 or all(0 < sum(column) < entries for column in zip(*expected, strict=True))
    for chunk_events in (1, 2, 3, 20, 100):
        done = over_background(work, Decided(), Engine(chunk_events=chunk_events))
        assert [row for rows in done for row in rows] == expected
    if entries == 53:
        done = over_background(work, Decided(), engine(20, 2))
        assert [row for rows in done for row in rows] == expected


def test_a_sample_without_neighbours(tmp_path: Path) -> None:
    catalogue = memory_catalogue({"a": even_events(5, 4)})
    plan = make_plan([menu_from(tmp_path, NEIGHBOURS)])
    with pytest.raises(TrigemuError) as error:
        plan.check(catalogue.samples[0])
    place = tmp_path / "menu.toml"
    assert str(error.value) == (
        f"{place}:1: trigger 'JET_BEFORE': it reads neighbouring crossings, but the events of sample 'a' "
        f"(format 'nanoaod') are not consecutive crossings; 'PAIR_AFTER' ({place}:6) needs it too"
    )


N_STORED = 1000
THREE = threshold("J", "jet[0].pt", 0.5) + threshold("E", "jet[1].eta", 0.5) + threshold("M", "met", 0.5)


def stored_columns() -> dict[str, Any]:
    random = np.random.default_rng(1)
    counts = random.integers(0, 4, N_STORED)
    jet = {name: ak.unflatten(random.random(counts.sum()).astype("f4"), counts) for name in ("pt", "eta")}
    return {"Jet": ak.zip({"pt": -np.sort(-jet["pt"]), "eta": jet["eta"]}), "MET_pt": random.random(N_STORED)}


def _tree(path: Path, step: int) -> Path:
    return write_tree(path, stored_columns(), basket=step, compression=uproot.ZSTD(1))


def _rntuple(path: Path, step: int) -> Path:
    written = stored_columns()
    jet = written["Jet"]
    flat = {"nJet": ak.to_numpy(ak.num(jet)).astype("i4"), "Jet_pt": jet.pt, "Jet_eta": jet.eta}
    flat["MET_pt"] = written["MET_pt"]
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        ntuple = file.mkrntuple("Events", {name: c[:step] for name, c in flat.items()})
        for start in range(step, N_STORED, step):
            ntuple.extend({name: c[start : start + step] for name, c in flat.items()})
    return path


@pytest.mark.parametrize("write", [_tree, _rntuple])
@pytest.mark.parametrize("step", [N_STORED, 300, 100])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_pass_decompresses_each_block_once(
    write: Any, step: int, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gives the rates of what was written. uproot calls a hook before each block that it decompresses."""
    path, menu = write(tmp_path / "a.root", step), menu_from(tmp_path, THREE)
    whole = trigemu.run(menu, trigemu.events_from_awkward(ak.zip(stored_columns(), depth_limit=1)))
    samples = trigemu.open_catalogue(path)
    assert samples.samples[0].schema.scalars  # the header and the descriptions of columns are decompressed
    blocks: Counter[int] = Counter()

    def counted(*, cursor: Any, **_: Any) -> None:
        blocks[cursor.index] += 1

    monkeypatch.setattr(uproot.compression.decompress, "hook_before_block", counted)
    result = trigemu.run(menu, samples, executor=Engine(chunk_events=100, workers=workers))
    for name in ("J", "E", "M"):
        assert result[name].total.events == whole[name].total.events > 0
    assert blocks
    assert set(blocks.values()) == {1}


def test_tasks_of_a_basket_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A basket with more events than a task has is decoded again for the next task."""
    samples = trigemu.open_catalogue(_tree(tmp_path / "a.root", N_STORED))
    ranges = list[tuple[int, int]]()
    read = RootFile.read

    def counted(self: Any, start: int, stop: int, needs: Any) -> Any:
        ranges.append((start, stop))
        return read(self, start, stop, needs)

    monkeypatch.setattr(RootFile, "read", counted)
    trigemu.run(menu_from(tmp_path, THREE), samples, executor=Engine(chunk_events=30, workers=1))
    assert ranges == [(0, 480), (480, 960), (960, 1000)]
