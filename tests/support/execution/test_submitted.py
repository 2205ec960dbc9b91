"""Work on executors of several kinds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from trigemu import TrigemuError
from trigemu.support import Engine
from trigemu.support.execution import tasks


@dataclass(frozen=True)
class Number:
    value: int
    size: int = 1
    pause: float = 0.0

    @property
    def key(self) -> str:
        return str(self.value)


class Squares:
    """The work of squaring numbers."""

    about = "squares"
    classes: tuple[type, ...] = ()
    key = "squares"

    def each(self, units: Sequence[Number]) -> Iterator[list[int]]:
        yield from ([unit.value**2] for unit in units)

    def merge(self, parts: Sequence[list[int]]) -> list[int]:
        return [value for part in parts for value in part]

    def content(self) -> bytes:
        return pickle.dumps((Squares, ()))

    def give_up(self, unit: Number, error: Exception, host: str, attempts: int) -> None:
        raise error

    def skips(self, unit: Number) -> bool:
        return False


@dataclass
class OneProcessEach:
    """An executor whose tasks find nothing of the tasks before. returns: what it does with results."""

    number: int = 2
    returns: Callable[[Any], Any] = lambda outcome: outcome
    sent: list[tasks.Task] = field(default_factory=list)

    def submit(self, function: Callable[..., Any], /, task: tasks.Task) -> Future[Any]:
        self.sent.append(task)
        tasks._ready.clear()
        done: Future[Any] = Future()
        done.set_result(self.returns(function(task)))
        return done


def test_where_each_task_has_a_process_of_its_own_it_is_soon_sent_with_the_work() -> None:
    executor = OneProcessEach()
    engine = Engine(executor, task_seconds=1e-9)
    parts = engine.over(Squares(), [Number(n) for n in range(200)])
    assert [value for part in parts for value in part] == [n**2 for n in range(200)]
    without = [task for task in executor.sent if task.content is None]
    assert 0 < len(without) < 50
    assert all(task.content for task in executor.sent[-100:])


def test_an_engine_that_returns_what_went_wrong_has_lost_a_worker() -> None:
    executor = OneProcessEach(returns=lambda outcome: MemoryError("too much"))
    with pytest.raises(TrigemuError, match=r"a worker was lost \(TypeError: its result is MemoryError"):
        list(Engine(executor, retries=1).over(Squares(), [Number(1)]))
    assert len(executor.sent) == 2
