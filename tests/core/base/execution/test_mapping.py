"""Work on chunks: the same results, in order, wherever it is done and whatever happens there."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from executor_toys import Lazy, LazyThree, OnlyResult, Shuffled, loky_pool, parsl_pool, thread_cluster
from hypothesis import given, strategies as st
from work_toys import Item, Recital, calls, items, numbers

from trigemu.base import mapping
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.errors import MissingExtraError, PluginError, TrigemuError
from trigemu.base.mapping import Engine, map_chunks, perform, this_program
from trigemu.base.processes import WorkerPool, transferable, worker_pool


@pytest.fixture(scope="module")
def processes() -> Iterator[WorkerPool]:
    with worker_pool(2) as pool:
        yield pool


# ---- in this process


def test_results_come_in_order_one_for_each_unit(tmp_path: Path) -> None:
    seen: list[int] = []
    over = map_chunks(Recital(str(tmp_path)), items(5), Engine(progress=seen.append))
    assert calls(tmp_path) == 0  # nothing is done before it is asked for
    assert [numbers([result]) for result in over] == [[0], [1], [2], [3], [4]]
    assert seen == [0] + [10] * 5
    assert [*map_chunks(Recital(str(tmp_path)), [])] == []


@pytest.mark.parametrize(
    ("what", "retries", "attempts"),
    [("vanish twice", 0, 1), ("vanish twice", 1, 2), ("vanish twice", 5, 3), ("refuse", 5, 1)],
)
def test_what_cannot_be_read_is_tried_again(tmp_path: Path, what: str, retries: int, attempts: int) -> None:
    engine = Engine(retries=retries)
    results = map_chunks(Recital(str(tmp_path), {2: what}), items(5), engine)
    if attempts == 3:
        assert numbers(results) == [0, 1, 2, 3, 4]
    else:
        with pytest.raises(TrigemuError, match=rf"^2: (not there|no): {attempts} attempts on <>$"):
            numbers(results)
    assert (calls(tmp_path, "unit-2"), calls(tmp_path, "unit-1")) == (attempts, 1)
    assert engine.counts.retried == attempts - 1


def test_the_time_between_attempts_doubles_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(mapping.time, "sleep", slept.append)
    results = map_chunks(Recital(str(tmp_path), {0: "vanish"}), items(1, pause=2.0), Engine(retries=100))
    with pytest.raises(TrigemuError, match="101 attempts"):
        numbers(results)
    waited = [second for second in slept if second]  # the work sleeps too, for no time
    assert waited[:6] == [2, 4, 8, 16, 32, mapping.LONGEST_PAUSE]
    assert {*waited[5:]} == {mapping.LONGEST_PAUSE}
    assert len(waited) == 100


def test_the_planned_events_are_those_of_all_passes(tmp_path: Path) -> None:
    """They are known when a pass begins; one that ends early leaves what it did. Copies count along."""
    seen: list[tuple[int, int]] = []
    engine = Engine(retries=0)
    shown = replace(engine, progress=lambda events: seen.append((events, engine.counts.planned)))
    assert numbers(map_chunks(Recital(str(tmp_path)), items(2), shown)) == [0, 1]
    assert seen == [(0, 20), (10, 20), (10, 20)]
    for does in ({1: "refuse"}, {}):
        results = map_chunks(Recital(str(tmp_path), does), items(5), shown)
        next(results)
        assert engine.counts.planned == sum(events for events, _ in seen) - 10 + 50
        with pytest.raises(TrigemuError) if does else nullcontext():
            next(results)
        results.close()
        assert engine.counts.planned == sum(events for events, _ in seen)


# ---- workers of this machine


def now(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> None:
    """Start workers for shorter work."""
    monkeypatch.setattr(mapping, "START_S", seconds)
    monkeypatch.setattr(mapping, "READY_S", seconds)


def test_workers_start_beside_this_process_and_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now(monkeypatch, 0.1)
    results = [*map_chunks(Recital(str(tmp_path), seconds=0.01), items(600), Engine(workers=2))]
    assert numbers(results) == list(range(600))
    where = [result.process for result in results]
    first = where.count(os.getpid())
    assert first > 2
    assert {*where[:first]} == {os.getpid()}
    assert len({*where[first:]}) == 2
    again = [*map_chunks(Recital(str(tmp_path), seconds=0.01), items(200), Engine(workers=2))]
    assert {r.process for r in again} & {*where[first:]}  # the same processes


@pytest.mark.parametrize(("workers", "seconds"), [(1, 0.0), (2, 60.0)])
def test_short_work_and_one_worker_need_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, seconds: float
) -> None:
    now(monkeypatch, seconds)
    results = map_chunks(Recital(str(tmp_path), seconds=0.001), items(100), Engine(workers=workers))
    assert {result.process for result in results} == {os.getpid()}


def test_work_that_cannot_be_sent_stays_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rooted(Recital):
        def __reduce__(self) -> Any:
            return Rooted, (self.folder,)

    now(monkeypatch)
    assert numbers(map_chunks(Rooted(str(tmp_path)), items(50), Engine(workers=2))) == list(range(50))


def test_the_unit_that_ends_its_worker_is_found_and_named(processes: WorkerPool, tmp_path: Path) -> None:
    work, found = Recital(str(tmp_path), {25: "die"}, seconds=0.002), list[int]()
    results = (numbers([result]) for result in map_chunks(work, items(50), Engine(processes, retries=1)))
    message = r"^25: a worker process was ended by signal 9.*: 2 attempts on <>"
    with pytest.raises(TrigemuError, match=message):
        found.extend(number for numbers_of in results for number in numbers_of)
    assert found == list(range(25))
    assert calls(tmp_path, "unit-25") == 2


def test_a_worker_that_is_lost_once_costs_its_task(processes: WorkerPool, tmp_path: Path) -> None:
    work, seen = Recital(str(tmp_path), {3: "die once", 30: "die once"}, seconds=0.002), list[int]()
    assert numbers(map_chunks(work, items(50), Engine(processes, progress=seen.append))) == list(range(50))
    assert sum(seen) == 500
    assert calls(tmp_path) == 50 + 2


@given(
    number=st.integers(0, 30),
    does=st.dictionaries(st.integers(0, 30), st.sampled_from(["vanish twice", "vanish"]), max_size=3),
    size=st.integers(1, 50),
)
def test_workers_change_nothing(
    processes: WorkerPool, tmp_path_factory: pytest.TempPathFactory, number: int, does: Any, size: int
) -> None:
    def done(executor: Any) -> tuple[list[int], str, int]:
        folder, seen = tmp_path_factory.mktemp("signs"), list[int]()
        work, result, failure = Recital(str(folder), does), list[int](), ""
        units = [Item(k, size) for k in range(number)]
        try:
            for part in map_chunks(work, units, Engine(executor, retries=2, progress=seen.append)):
                result += numbers([part])
        except TrigemuError as error:
            failure = str(error).partition(" on <")[0]
        return result, failure, sum(seen)

    assert done(processes) == done(None)


# ---- any executor


@pytest.fixture(params=["threads", "processes", "loky", "parsl", "dask"])
def executor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param == "threads":
        with Shuffled(3) as threads:
            yield threads
    elif request.param == "processes":
        yield request.getfixturevalue("processes")
    elif request.param == "loky":
        with loky_pool() as loky:
            yield loky
    elif request.param == "parsl":
        with parsl_pool(tmp_path_factory.mktemp("parsl")) as parsl:
            yield parsl
    else:
        import distributed

        with thread_cluster(2, 1) as cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client.get_executor()


def test_results_are_the_same_and_in_order_on_any_executor(executor: Any, tmp_path: Path) -> None:
    seen: list[int] = []
    work = Recital(str(tmp_path), seconds=0.001)
    assert numbers(map_chunks(work, items(100), Engine(executor, progress=seen.append))) == list(range(100))
    assert (sum(seen), calls(tmp_path)) == (1000, 100)
    failing = Recital(str(tmp_path), {107: "vanish", 112: "vanish twice"})
    with pytest.raises(TrigemuError, match=r"^107: not there: 3 attempts on <.*, process \d+>$"):
        numbers(map_chunks(failing, items(120)[100:], Engine(executor, retries=2)))


@pytest.mark.parametrize(("executor", "most"), [(LazyThree(), 9), (Lazy(), 192)])
def test_the_window_is_bounded(tmp_path: Path, executor: Lazy, most: int) -> None:
    assert numbers(map_chunks(Recital(str(tmp_path)), items(400), executor)) == list(range(400))
    assert (executor.most, executor.submitted) == (most, 400)
    early = map_chunks(Recital(str(tmp_path)), items(10), executor)
    next(early)
    early.close()  # its futures have nothing but a result


class Broken(LazyThree):
    """An executor whose futures, or which itself, raises an error; or which returns it."""

    def __init__(self, error: Exception, where: str = "future") -> None:
        super().__init__()
        self.error, self.where = error, where

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        def result() -> Any:
            if self.where == "future":
                raise self.error
            return self.error

        self.submitted += 1
        if self.where == "submit":
            raise self.error
        return OnlyResult(result)


GONE = BrokenExecutor("gone")


@pytest.mark.parametrize(
    ("executor", "message", "submitted"),
    [
        (Broken(ModuleNotFoundError("no trigemu")), r"cannot load trigemu .*: install trigemu \d", 5),
        (Broken(AttributeError("perform")), r"cannot load trigemu .*: install trigemu \d", 5),
        (Broken(GONE), r"lost a worker and cannot continue \(BrokenExecutor: gone\)", 5),
        (Broken(GONE, "submit"), r"lost a worker and cannot continue \(BrokenExecutor: gone\)", 1),
        (Broken(RuntimeError("after shutdown"), "submit"), "accepts no tasks .*after shutdown.*: is it", 1),
        (
            Broken(TimeoutError("gone " * 100)),
            r"^0: a worker was lost \(TimeoutError: gone .*\): 4 attempts",
            5 + 3,
        ),
        (
            Broken(MemoryError("too much"), "result"),
            r"a worker was lost \(TypeError: its result is MemoryError",
            5 + 3,
        ),
    ],
    ids=lambda value: repr(getattr(value, "error", "")),
)
def test_an_executor_that_does_not_work_is_told_once(
    tmp_path: Path, executor: Broken, message: str, submitted: int
) -> None:
    with pytest.raises(TrigemuError, match=message) as error:
        numbers(map_chunks(Recital(str(tmp_path)), items(5), executor))
    assert len(str(error.value)) < 400
    assert executor.submitted == submitted


@pytest.mark.parametrize("executor", [3, "dask", object(), map])
def test_what_is_no_executor_is_refused(executor: object) -> None:
    with pytest.raises(TrigemuError, match=r"^executor = .*: expected an object with the method submit"):
        Engine(executor)


def test_the_number_of_workers() -> None:
    with ThreadPoolExecutor(3) as threads:
        assert Engine(threads).number == 3
    assert Engine(Lazy()).number is None
    assert Engine(workers=5).number == 5
    assert Engine().number == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("how", ["close", "throw", "fail"])
def test_what_waits_is_cancelled_when_results_are_left(tmp_path: Path, how: str) -> None:
    work = Recital(str(tmp_path), {1: "refuse"} if how == "fail" else {}, seconds=0.02)
    with ThreadPoolExecutor(1) as threads:
        results = map_chunks(work, items(100), threads)
        next(results)
        with suppress(KeyboardInterrupt, TrigemuError):
            if how == "throw":
                results.throw(KeyboardInterrupt)
            elif how == "fail":
                numbers(results)
            results.close()
    assert calls(tmp_path) <= 4


# ---- as a worker does it


def test_a_work_is_prepared_once(tmp_path: Path) -> None:
    work, other = Recital(str(tmp_path)), Recital(str(tmp_path), {0: "refuse"})
    do = partial(perform, this_program())
    for unit in items(3):
        assert numbers([do(pickle.dumps(work), unit).result]) == [unit.number]
    assert calls(tmp_path, "prepared-*") == 1
    assert isinstance(do(pickle.dumps(other), Item(0)).error, TrigemuError)
    assert calls(tmp_path, "prepared-*") == 2


def test_another_program_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(TrigemuError) as refused:
        perform("trigemu 0.0.1 (ffffffff) on Python 3.9", b"no pickle", Item(0))
    assert this_program() in str(refused.value)
    assert str(refused.value).endswith("is trigemu 0.0.1 (ffffffff) on Python 3.9: install the same versions")

    class Other(LazyThree):
        def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
            return super().submit(function, "trigemu 0.0.1", *arguments[1:])

    executor = Other()
    with pytest.raises(TrigemuError, match=r"^a worker .* runs trigemu .* this program is trigemu 0\.0\.1"):
        numbers(map_chunks(Recital("nowhere"), items(50), executor))
    assert executor.submitted == 9


class OfTwoError(Exception):
    """Its pickle cannot be loaded: it is made from one argument."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one)


class HoldingError(Exception):
    """It cannot be pickled."""

    def __init__(self) -> None:
        super().__init__(lambda: 1)


def sent(error: Exception) -> Any:
    try:
        raise error
    except Exception as caught:
        return pickle.loads(pickle.dumps(transferable(caught)))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PluginError("plugin x fails"), "plugin x fails"),
        (MissingExtraError("it", "extra", "package"), "it needs the package"),
        (OfTwoError("this", "that"), "OfTwoError('this')"),
        (HoldingError(), "HoldingError(<function"),
    ],
)
def test_errors_arrive_or_their_messages_do(error: Exception, expected: str) -> None:
    arrived = sent(error)
    assert isinstance(arrived, TrigemuError) == isinstance(error, TrigemuError)
    assert expected in repr(arrived)


def test_errors_arrive_with_their_place_and_others_with_their_lines() -> None:
    error = PluginError("plugin x fails")
    error.place = ("sample", 3)
    assert (type(sent(error)), sent(error).place) == (PluginError, ("sample", 3))
    assert not hasattr(sent(error), "__notes__")
    assert "in sent" in sent(KeyError("x")).__notes__[0]


# ---- with a checkpoint


def test_finished_tasks_are_stored_and_found_by_any_executor(tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    checkpoint = Checkpoint(tmp_path / "kept")
    failing, found = Recital(str(tmp_path / "signs"), {33: "refuse"}, seconds=0.001), list[int]()
    with Shuffled(3) as threads:
        results = map_chunks(failing, items(60), Engine(threads, checkpoint=checkpoint))
        with pytest.raises(TrigemuError, match=r"^33: no"):
            found.extend(number for result in results for number in numbers([result]))
    done = calls(tmp_path / "signs")
    assert found == list(range(33))
    work, seen = Recital(str(tmp_path / "signs")), list[int]()
    for executor, reused in ((LazyThree(), 330), (None, 600)):
        engine = Engine(executor, checkpoint=checkpoint, warn=pytest.fail, progress=seen.append)
        assert numbers(map_chunks(work, items(60), engine)) == list(range(60))
        assert engine.counts.reused == reused
    assert (calls(tmp_path / "signs") - done, sum(seen)) == (27, 1200)
    engine = replace(engine, progress=lambda events: None)
    other = Recital(str(tmp_path / "signs"), name="other")
    assert numbers(map_chunks(other, items(60), engine)) == list(range(60))
    assert engine.counts.reused == 600


PROGRAM = """
import sys
sys.path[:] = {path}
from pathlib import Path
from work_toys import Recital, items
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.files import end_on_signals
from trigemu.base.mapping import Engine, map_chunks
from trigemu.base.processes import worker_pool
end_on_signals()
folder = Path({folder!r})
with worker_pool(2) as pool:
    engine = Engine(pool if {workers} > 1 else None, workers=1, checkpoint=Checkpoint(folder / "kept"))
    for result in map_chunks(Recital(str(folder), seconds=0.01), items(1000), engine):
        print(*result.values, result.process, flush=True)
"""


def killed(tmp_path: Path, workers: int, number: int, results: int) -> None:
    """End a program with a signal: no process is left, and nothing that it gave out is lost."""
    program = PROGRAM.format(path=sys.path, folder=str(tmp_path), workers=workers)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout
        assert running.stderr
        lines = [running.stdout.readline().split() for _ in range(results)]
        running.send_signal(number)
        lines += map(str.split, running.stdout.read().splitlines())
        messages = running.stderr.read()
    told = [int(line[0]) for line in lines if len(line) == 2]
    assert messages == {signal.SIGKILL: "", signal.SIGTERM: "trigemu: terminated\n"}.get(
        signal.Signals(number), "trigemu: interrupted\n"
    )
    for process in {line[1] for line in lines if len(line) == 2}:
        for _ in range(100):
            if not Path(f"/proc/{process}").exists():
                break
            time.sleep(0.05)
        assert not Path(f"/proc/{process}").exists()
    before, engine = calls(tmp_path), Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=pytest.fail)
    assert numbers(map_chunks(Recital(str(tmp_path)), items(200), engine)) == list(range(200))
    assert told == list(range(len(told)))
    assert engine.counts.reused >= 10 * len(told)
    assert calls(tmp_path) - before == 200 - engine.counts.reused // 10
    left = [file.name for file in (tmp_path / "kept").iterdir() if not file.name.endswith(".task")]
    assert len(left) <= 1  # of the moment in which it was killed


@pytest.mark.parametrize(
    ("workers", "number"), [(1, signal.SIGTERM), (2, signal.SIGKILL), (2, signal.SIGTERM), (2, signal.SIGINT)]
)
def test_a_program_that_is_ended_loses_nothing_and_leaves_nothing(
    tmp_path: Path, workers: int, number: int
) -> None:
    killed(tmp_path, workers, number, 20)


@pytest.mark.slow
@pytest.mark.parametrize("results", range(40))
def test_it_does_so_at_any_moment(tmp_path: Path, results: int) -> None:
    killed(tmp_path, 2, (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[results % 3], results)
