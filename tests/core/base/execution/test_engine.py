"""Engines: this process, what is kept, and what an executor is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from work_toys import Recital, calls, items, numbers

from trigemu.base import engine as engines
from trigemu.base.checkpoint import Checkpoint, listed_tasks
from trigemu.base.engine import Engine
from trigemu.base.errors import TrigemuError


def test_results_come_in_order_one_for_each_unit(tmp_path: Path) -> None:
    seen: list[int] = []
    over = Engine().over(Recital(str(tmp_path)), items(5), seen.append)
    assert calls(tmp_path) == 0  # nothing is done before it is asked for
    results = [*over]
    assert [numbers([result]) for result in results] == [[0], [1], [2], [3], [4]]
    assert sum(seen) == 50
    assert [*Engine().over(Recital(str(tmp_path)), [])] == []


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (2, 3), (5, 3)])
def test_what_cannot_be_read_is_tried_again(tmp_path: Path, retries: int, attempts: int) -> None:
    engine = Engine(retries=retries)
    results = engine.over(Recital(str(tmp_path), {2: "vanish twice"}), items(5))
    if retries < 2:
        with pytest.raises(TrigemuError, match=rf"^2: not there: {attempts} attempts on <>$"):
            numbers(results)
    else:
        assert numbers(results) == [0, 1, 2, 3, 4]
    assert calls(tmp_path, "unit-2") == attempts
    assert engine.retried == attempts - 1
    assert calls(tmp_path, "unit-1") == 1


def test_the_time_between_attempts_doubles_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(engines.time, "sleep", slept.append)
    results = Engine(retries=100).over(Recital(str(tmp_path), {0: "vanish"}), items(1, pause=2.0))
    with pytest.raises(TrigemuError, match="101 attempts"):
        numbers(results)
    waited = [second for second in slept if second]  # the work sleeps too, for no time
    assert waited[:6] == [2, 4, 8, 16, 32, engines.LONGEST_PAUSE]
    assert {*waited[5:]} == {engines.LONGEST_PAUSE}
    assert len(waited) == 100


def test_other_errors_are_not_tried_again(tmp_path: Path) -> None:
    engine = Engine()
    with pytest.raises(TrigemuError, match="2: no: 1 attempts"):
        numbers(engine.over(Recital(str(tmp_path), {2: "refuse"}), items(5)))
    assert (engine.retried, calls(tmp_path, "unit-2")) == (0, 1)


@pytest.mark.parametrize("kept", [False, True])
def test_the_units_of_a_bad_file_are_left_out_and_the_others_done(tmp_path: Path, kept: bool) -> None:
    units = [replace(unit, file=str(unit.number % 2)) for unit in items(10)]
    work, seen = Recital(str(tmp_path), {3: "vanish"}, skip=True), list[int]()
    engine = Engine(retries=1, checkpoint=Checkpoint(tmp_path / "kept") if kept else None)
    assert numbers(engine.over(work, units, seen.append)) == [0, 1, 2, 4, 6, 8]
    assert (sum(seen), engine.skipped, engine.retried) == (100, 1, 1)
    assert calls(tmp_path) == 6 + 2


def test_what_a_checkpoint_has_is_not_done_again(tmp_path: Path) -> None:
    checkpoint, work = Checkpoint(tmp_path / "kept"), Recital(str(tmp_path), seconds=0.001)
    first, seen = Engine(checkpoint=checkpoint, task_seconds=0.01), list[int]()
    results = [*first.over(work, items(30), seen.append)]
    assert numbers(results) == list(range(30))
    assert len(results) == len([*listed_tasks(checkpoint.folder)])
    assert 1 < len(results) < 30  # several units are one result
    again = Engine(checkpoint=checkpoint)
    assert numbers(again.over(work, items(30), seen.append)) == list(range(30))
    assert (first.reused, again.reused, sum(seen), calls(tmp_path)) == (0, 300, 600, 30)
    assert numbers(again.over(work, items(40), seen.append)) == list(range(40))
    assert (again.reused, sum(seen), calls(tmp_path)) == (600, 1000, 40)


PROGRAM = """
import sys
sys.path[:] = {path}
from pathlib import Path
from work_toys import Recital, items
from trigemu.base.checkpoint import Checkpoint
from trigemu.base.engine import Engine
folder = Path({folder!r})
engine = Engine(checkpoint=Checkpoint(folder / "kept"), task_seconds=0)
for result in engine.over(Recital(str(folder), seconds=0.01), items(1000)):
    print(*result.values, flush=True)
"""


def test_a_program_that_is_killed_loses_nothing_that_it_told(tmp_path: Path) -> None:
    program = PROGRAM.format(path=sys.path, folder=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        told = [int(running.stdout.readline()) for _ in range(20)]
        running.send_signal(signal.SIGKILL)
        told += map(int, running.stdout.read().split())
    before, engine = calls(tmp_path), Engine(checkpoint=Checkpoint(tmp_path / "kept"), warn=pytest.fail)
    assert numbers(engine.over(Recital(str(tmp_path)), items(200))) == list(range(200))
    assert told == list(range(len(told)))
    assert engine.reused >= 10 * len(told)
    assert calls(tmp_path) - before == 200 - engine.reused // 10
    left = [file.name for file in (tmp_path / "kept").iterdir() if not file.name.endswith(".task")]
    assert len(left) <= 1  # of the moment in which it was killed


def test_a_damaged_file_is_told_through_the_engine(tmp_path: Path) -> None:
    checkpoint, told = Checkpoint(tmp_path / "kept"), list[str]()
    numbers(Engine(checkpoint=checkpoint).over(Recital(str(tmp_path)), items(3)))
    (kept,) = listed_tasks(checkpoint.folder)
    os.truncate(kept.path, kept.bytes - 1)
    engine = Engine(checkpoint=checkpoint, warn=told.append)
    assert numbers(engine.over(Recital(str(tmp_path)), items(3))) == [0, 1, 2]
    assert told == [f"{kept.path} is damaged or of another program: its part is done again"]
    assert [kept.head is None for kept in listed_tasks(checkpoint.folder)] == [False]


@pytest.mark.parametrize("executor", [3, "dask", object(), map])
def test_what_is_no_executor_is_refused(executor: object) -> None:
    with pytest.raises(TrigemuError, match=r"^executor = .*: expected an object with the method submit"):
        Engine(executor)


class Counting:
    """An executor with a number of workers that changes, and cannot always be asked."""

    def __init__(self, numbers: list[Any]) -> None:
        self.numbers = numbers

    @property
    def number(self) -> Any:
        found = self.numbers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


def test_the_number_of_workers_is_asked_for_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(engines.time, "monotonic", lambda: now[0])
    engine, found = Engine(Counting([2, 5, OSError("gone"), "many", 0])), []
    for now[0] in (1.0, 2.0, 4.0, 8.0, 12.0, 16.0):
        found.append(engine.workers)
    assert found == [2, 2, 5, 5, None, 0]
    assert Engine().workers == 1
    with ThreadPoolExecutor(3) as threads:
        assert Engine(threads).workers == 3
