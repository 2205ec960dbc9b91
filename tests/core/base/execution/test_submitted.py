"""Work on executors: the same results, in order, whatever executor it is and whatever happens to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from executor_toys import Lazy, LazyThree, OnlyResult, Shuffled, loky_pool, parsl_pool, thread_cluster
from work_toys import Recital, calls, items, numbers

from trigemu.base import engine as submitted, tasks
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.engine import Engine
from trigemu.base.errors import TrigemuError
from trigemu.base.processes import worker_pool
from trigemu.base.tasks import Outcome, Task, this_program


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with worker_pool(2) as pool:
        yield pool


@pytest.fixture(params=["threads", "processes", "loky", "parsl", "dask", "dask executor"])
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
            yield client if request.param == "dask" else client.get_executor()


def test_results_are_the_same_and_in_order_on_any_executor(executor: Any, tmp_path: Path) -> None:
    work = Recital(str(tmp_path), seconds=0.001)
    engine = Engine(executor, task_seconds=0.01)
    seen: list[int] = []
    assert numbers(engine.over(work, items(300), seen.append)) == list(range(300))
    assert sum(seen) == 3000
    assert calls(tmp_path) == 300
    assert engine.tasks <= 300
    failing = Recital(str(tmp_path), {7: "vanish", 12: "vanish twice"})
    with pytest.raises(TrigemuError, match=r"^7: not there: 3 attempts on <.*, process \d+>$"):
        numbers(Engine(executor, retries=2).over(failing, items(20)))


def test_futures_need_nothing_but_a_result(tmp_path: Path) -> None:
    engine = Engine(Lazy(), task_seconds=0)
    assert numbers(engine.over(Recital(str(tmp_path)), items(10))) == list(range(10))
    early = engine.over(Recital(str(tmp_path)), items(10))
    next(early)
    early.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("executor", "most"), [(LazyThree(), 12), (Lazy(), 256)])
def test_the_window_is_bounded(tmp_path: Path, executor: Lazy, most: int) -> None:
    engine = Engine(executor, task_seconds=0)
    assert numbers(engine.over(Recital(str(tmp_path)), items(400))) == list(range(400))
    assert executor.most == most
    assert len(executor.tasks) == 400


class Timed(LazyThree):
    """An executor on which each unit takes a hundredth of a second."""

    def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
        return super().submit(lambda task: replace(function(task), seconds=len(task.units) / 100), task)


def test_tasks_grow_to_the_seconds_that_they_may_take_and_shrink_at_the_end(tmp_path: Path) -> None:
    executor = Timed()
    numbers(Engine(executor, task_seconds=0.2).over(Recital(str(tmp_path)), items(300)))
    sizes = [len(task.units) for task in executor.tasks]
    assert sum(sizes) == 300
    assert sizes[:6] == [1] * 6  # before it is known how long a unit takes
    assert max(sizes) == 20
    assert sizes[6:] == sorted(sizes[6:], reverse=True)
    assert sizes[-1] == 1


def test_tasks_end_where_another_one_loses_nothing(tmp_path: Path) -> None:
    """Up to twice the time that they should take; there and at the start, they end anywhere."""
    executor = Timed()
    units = [replace(unit, continues=unit.number % 8 > 0) for unit in items(400)]
    engine = Engine(executor, task_seconds=0.1)
    assert numbers(engine.over(Recital(str(tmp_path)), units)) == list(range(400))
    first = [task.units[0].number for task in executor.tasks]
    assert first[:7] == list(range(7))  # before it is known how long a unit takes
    later = [number for number in first[7:] if number < 350]
    assert later == list(range(16, 350, 16))
    assert len(executor.tasks[-1].units) < 8


def test_a_task_has_at_most_so_many_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted, "MOST_UNITS", 5)
    executor = Timed()
    numbers(Engine(executor, task_seconds=100).over(Recital(str(tmp_path)), items(100)))
    assert max(len(task.units) for task in executor.tasks) == 5


def test_the_content_is_sent_until_workers_know_it_and_again_where_one_does_not(tmp_path: Path) -> None:
    class Forgetful(LazyThree):
        def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
            def forgets(task: Task) -> Outcome:
                if task.number == 20:
                    tasks._ready.clear()
                return function(task)

            return super().submit(forgets, task)

    executor = Forgetful()
    engine = Engine(executor, task_seconds=0)
    assert numbers(engine.over(Recital(str(tmp_path)), items(30))) == list(range(30))
    assert [task.number for task in executor.tasks if task.content] == [1, 2, 3, 4, 5, 6, 31]
    assert calls(tmp_path, "prepared-*") == 2
    assert engine.retried == 0


def test_a_file_that_comes_back_is_read_in_the_end(tmp_path: Path) -> None:
    work = Recital(str(tmp_path), {3: "vanish twice"})
    with ThreadPoolExecutor(2) as threads:
        engine = Engine(threads, retries=2)
        assert numbers(engine.over(work, items(6))) == list(range(6))
    assert (engine.retried, engine.skipped, calls(tmp_path, "unit-3")) == (2, 0, 3)


def test_the_units_of_a_bad_file_are_left_out_and_the_others_done(tmp_path: Path) -> None:
    units = [replace(unit, file=str(unit.number // 3 % 2)) for unit in items(240)]
    work = Recital(str(tmp_path), {10: "vanish"}, seconds=0.001, skip=True)
    seen: list[int] = []
    with ThreadPoolExecutor(2) as threads:
        engine = Engine(threads, retries=1, task_seconds=0.005)
        found = numbers(engine.over(work, units, seen.append))
    assert work.bad == {"1"}
    good = {unit.number for unit in units if unit.file == "0"}
    assert found == sorted(found)
    assert good <= {*found}
    assert max({*found} - good) < 150  # of the bad file what was on its way, and nothing further
    assert calls(tmp_path, "unit-10") == 2
    assert (engine.retried, engine.skipped, sum(seen)) == (1, 1, 2400)


def test_the_unit_that_ends_its_worker_is_found_and_named(processes: Any, tmp_path: Path) -> None:
    work = Recital(str(tmp_path), {45: "die"}, seconds=0.002)
    engine = Engine(processes, retries=0, task_seconds=0.05)
    found: list[int] = []
    with pytest.raises(
        TrigemuError, match=r"^45: a worker process was ended by signal 9.*: 1 attempts on <>"
    ):
        found.extend(number for result in engine.over(work, items(50)) for number in numbers([result]))
    assert found == list(range(45))
    assert calls(tmp_path, "unit-45") in (1, 2)


def test_a_worker_that_is_lost_once_costs_its_task(processes: Any, tmp_path: Path) -> None:
    work = Recital(str(tmp_path), {30: "die once"}, seconds=0.002)
    engine = Engine(processes, task_seconds=0.05)
    seen: list[int] = []
    assert numbers(engine.over(work, items(50), seen.append)) == list(range(50))
    assert engine.retried == 1
    assert sum(seen) == 500


def test_a_worker_with_another_program_is_refused_once(tmp_path: Path) -> None:
    class Other(LazyThree):
        def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
            program = replace(this_program(), version="0.0.1")
            return super().submit(function, replace(task, program=program))

    executor = Other()
    engine = Engine(executor)
    with pytest.raises(TrigemuError, match=r"^a worker .* runs trigemu .* this program is trigemu 0\.0\.1"):
        numbers(engine.over(Recital(str(tmp_path)), items(50)))
    assert (engine.retried, len(executor.tasks), calls(tmp_path)) == (0, 6, 0)


class Raising(LazyThree):
    """An executor whose futures raise an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
        def result() -> Outcome:
            raise self.error

        self.tasks.append(task)
        return OnlyResult(result)


class Refusing(LazyThree):
    """An executor that takes no task."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (
            Raising(ModuleNotFoundError("No module named 'trigemu'")),
            r"cannot load trigemu .*: install trigemu \d",
        ),
        (Raising(AttributeError("perform")), r"cannot load trigemu .*: install trigemu \d"),
        (Raising(BrokenExecutor("gone")), r"lost a worker and cannot continue \(BrokenExecutor: gone\)"),
        (Refusing(BrokenExecutor("gone")), r"lost a worker and cannot continue \(BrokenExecutor: gone\)"),
        (Refusing(RuntimeError("after shutdown")), "accepts no tasks .*after shutdown.*: is it shut down"),
    ],
    ids=lambda value: repr(getattr(value, "error", "")),
)
def test_an_executor_that_does_not_work_is_told_once(tmp_path: Path, executor: Any, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        numbers(Engine(executor).over(Recital(str(tmp_path)), items(5)))


def test_an_executor_that_never_succeeds_is_given_up(tmp_path: Path) -> None:
    executor = Raising(TimeoutError("gone " * 100))
    with pytest.raises(
        TrigemuError, match=r"^0: a worker was lost \(TimeoutError: gone .*\): 4 attempts"
    ) as error:
        numbers(Engine(executor).over(Recital(str(tmp_path)), items(5)))
    assert len(str(error.value)) < 300
    assert len(executor.tasks) == 5 + 3


@dataclass
class OneProcessEach:
    """An executor whose tasks find nothing of the tasks before. returns: what it does with results."""

    number: int = 2
    returns: Callable[[Any], Any] = lambda outcome: outcome
    sent: list[Task] = field(default_factory=list)

    def submit(self, function: Callable[..., Any], /, task: Task) -> Future[Any]:
        self.sent.append(task)
        tasks._ready.clear()
        done: Future[Any] = Future()
        done.set_result(self.returns(function(task)))
        return done


def test_where_each_task_has_a_process_of_its_own_it_is_soon_sent_with_the_work(tmp_path: Path) -> None:
    executor = OneProcessEach()
    engine = Engine(executor, task_seconds=1e-9)
    parts = engine.over(Recital(str(tmp_path)), items(200))
    assert numbers(parts) == list(range(200))
    without = [task for task in executor.sent if task.content is None]
    assert 0 < len(without) < 50
    assert all(task.content for task in executor.sent[-100:])


def test_an_engine_that_returns_what_went_wrong_has_lost_a_worker(tmp_path: Path) -> None:
    executor = OneProcessEach(returns=lambda outcome: MemoryError("too much"))
    with pytest.raises(TrigemuError, match=r"a worker was lost \(TypeError: its result is MemoryError"):
        list(Engine(executor, retries=1).over(Recital(str(tmp_path)), items(1)))
    assert len(executor.sent) == 2


@pytest.mark.parametrize(
    "ends", [lambda results: results.close(), lambda results: results.throw(KeyboardInterrupt)]
)
def test_what_waits_is_cancelled_when_results_are_left(tmp_path: Path, ends: Callable[[Any], None]) -> None:
    with ThreadPoolExecutor(1) as threads:
        results = Engine(threads, task_seconds=0).over(Recital(str(tmp_path), seconds=0.02), items(100))
        next(results)
        with suppress(KeyboardInterrupt):
            ends(results)
    assert calls(tmp_path) <= 4


def test_what_waits_is_cancelled_after_an_error(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(TrigemuError, match=r"^0: no: 1 attempts"):
        numbers(Engine(threads).over(Recital(str(tmp_path), {0: "refuse"}, seconds=0.02), items(100)))
    assert calls(tmp_path) <= 3


def test_a_task_that_is_awaited_is_cancelled_by_an_interruption(tmp_path: Path) -> None:
    cancelled = threading.Event()

    class Interrupted(Lazy):
        def submit(self, function: Callable[[Task], Outcome], task: Task) -> Any:
            future = OnlyResult(self._interrupt)
            future.cancel = cancelled.set  # type: ignore[attr-defined]
            return future

        def _interrupt(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers(Engine(Interrupted()).over(Recital(str(tmp_path)), items(1)))
    assert cancelled.is_set()


def test_finished_tasks_are_kept_and_found_by_any_executor(tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    checkpoint = Checkpoint(tmp_path / "kept")
    failing = Recital(str(tmp_path / "signs"), {33: "refuse"}, seconds=0.001)
    found: list[int] = []
    with Shuffled(3) as threads:
        results = Engine(threads, checkpoint=checkpoint, task_seconds=0.01).over(failing, items(60))
        with pytest.raises(TrigemuError, match=r"^33: no"):
            found.extend(number for result in results for number in numbers([result]))
    done = calls(tmp_path / "signs")
    work, seen = Recital(str(tmp_path / "signs")), list[int]()
    with Shuffled(3) as threads:
        engine = Engine(threads, checkpoint=checkpoint, warn=pytest.fail)
        assert numbers(engine.over(work, items(60), seen.append)) == list(range(60))
    assert found == list(range(len(found)))
    assert 0 < len(found) <= 33
    assert (engine.reused, sum(seen)) == (10 * len(found), 600)
    assert calls(tmp_path / "signs") - done == 60 - len(found)
    for again in (Engine(None, checkpoint=checkpoint), Engine(LazyThree(), checkpoint=checkpoint)):
        assert numbers(again.over(work, items(60))) == list(range(60))
        assert (again.tasks, again.reused) == (0, 600)
    assert calls(tmp_path / "signs") - done == 60 - len(found)
