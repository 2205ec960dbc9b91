"""Tasks, as a worker performs them."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from work_toys import Item, Recital, calls, items, numbers

from trigemu.base import tasks
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.tasks import MAX_READY, Outcome, RefusedError, Task, perform, this_program


def task_of(work: Recital, units: list[Item], with_content: bool = True) -> Task:
    content = work.content()
    return Task(this_program(), sha256(content).hexdigest(), content if with_content else None, units, 1)


def test_a_task_returns_one_result_of_all_its_units(tmp_path: Path) -> None:
    outcome = perform(task_of(Recital(str(tmp_path), seconds=0.002), items(5)))
    assert numbers([outcome.result]) == [0, 1, 2, 3, 4]
    assert outcome.error is None
    assert outcome.known
    assert outcome.host == f"{socket.gethostname()}, process {os.getpid()}"
    assert 0.01 <= outcome.seconds < 5


def test_a_work_is_prepared_once_and_found_without_its_content(tmp_path: Path) -> None:
    work = Recital(str(tmp_path))
    assert perform(task_of(work, items(1), with_content=False)) == Outcome(
        f"{socket.gethostname()}, process {os.getpid()}", known=False
    )
    assert calls(tmp_path) == 0
    for with_content in (True, False, True, False):
        assert numbers([perform(task_of(work, items(2), with_content)).result]) == [0, 1]
    assert calls(tmp_path, "prepared-*") == 1


def test_threads_that_work_at_once_have_a_work_each(tmp_path: Path) -> None:
    work = Recital(str(tmp_path), seconds=0.05)
    gate = threading.Barrier(3)

    def performed(_: int) -> Outcome:
        gate.wait()
        return perform(task_of(work, items(1)))

    with ThreadPoolExecutor(3) as threads:
        for _ in range(2):
            assert all(outcome.error is None for outcome in threads.map(performed, range(3)))
    assert calls(tmp_path, "prepared-*") == 3


def test_only_the_last_works_are_kept(tmp_path: Path) -> None:
    works = [Recital(str(tmp_path), {-1: str(k)}) for k in range(MAX_READY + 1)]
    for work in works:
        perform(task_of(work, items(1)))
    known = [perform(task_of(work, items(1), with_content=False)).known for work in works]
    assert known == [False] + [True] * MAX_READY
    assert len(tasks._ready) == MAX_READY


@pytest.mark.parametrize(("what", "kind"), [("refuse", TrigemuError), ("vanish", RetryableError)])
def test_an_error_names_its_unit_and_its_host(tmp_path: Path, what: str, kind: type) -> None:
    outcome = perform(task_of(Recital(str(tmp_path), {3: what}), items(5)))
    assert type(outcome.error) is kind
    assert outcome.unit == 3
    assert str(os.getpid()) in outcome.host
    assert calls(tmp_path) == 4


def test_a_work_that_cannot_be_prepared_is_an_error(tmp_path: Path) -> None:
    content = pickle.dumps((int, ("no number",)))
    outcome = perform(Task(this_program(), "other", content, items(2), 1))
    assert isinstance(outcome.error, ValueError)
    assert outcome.unit == 0


@pytest.mark.parametrize("other", [{"version": "0.1"}, {"code": "f" * 64}, {"python": "3.9"}])
def test_another_program_is_refused_before_anything_is_loaded(tmp_path: Path, other: dict[str, str]) -> None:
    task = replace(task_of(Recital(str(tmp_path)), items(1)), program=replace(this_program(), **other))
    error = perform(replace(task, content=b"no pickle")).error
    assert isinstance(error, RefusedError)
    assert str(this_program()) in str(error)
    assert str(task.program) in str(error)
    assert str(error).endswith("install the same versions")
