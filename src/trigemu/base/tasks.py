"""Tasks: what a worker receives, does and returns, wherever it runs, and the protocols of engines, workers
and works.

A task carries everything that it needs. Many tasks share their work, which a worker prepares once and caches
by its digest. If a task arrives without its work at a worker that does not have it, its outcome reports this,
and the task is sent again with the work.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Protocol, TypeVar, runtime_checkable

from trigemu.base.errors import TrigemuError
from trigemu.base.fingerprint import digest_of_code
from trigemu.base.worker import transferable


class Unit(Protocol):
    """A part of a work, such as a chunk of a file; picklable.

    size: its number of events. key: fingerprint of what its result depends on besides the work. pause:
    seconds before another attempt after a failure. continues: whether it is faster directly after the
    previous unit in the same process.
    """

    @property
    def size(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def pause(self) -> float: ...

    @property
    def continues(self) -> bool: ...


U = TypeVar("U", bound=Unit)
R = TypeVar("R")
_U = TypeVar("_U", bound=Unit, contravariant=True)


class Prepared(Protocol[_U, R]):
    """Work that is ready in a process."""

    def each(self, units: Sequence[_U]) -> Iterator[R]:
        """Yield the result of each unit, in their order."""

    def merge(self, parts: Sequence[R]) -> R:
        """Return the results of consecutive units as one."""


class Work(Prepared[_U, R], Protocol[_U, R]):
    """Work on units: ready in this process, and as content for others.

    about: a description for the user. classes: the classes that results consist of, besides arrays, numbers
    and tuples.
    """

    @property
    def about(self) -> str: ...

    @property
    def classes(self) -> tuple[type, ...]: ...

    @property
    def key(self) -> str:
        """Fingerprint of everything that results depend on besides the units."""

    def check(self, units: Sequence[_U], part: R) -> None:
        """Raise TrigemuError if a stored result cannot belong to these units."""

    def content(self) -> bytes:
        """Pickle a function and its arguments; calling it in another process returns this work."""

    def give_up(self, unit: _U, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of a unit that failed every time; or return if the unit is left out."""

    def skips(self, unit: _U) -> bool:
        """Return whether a unit is left out because it, or another unit of its file, failed every time."""


class SubmittingEngine(Protocol):
    """The members of an `Engine` that `Submitted` uses: its executor, its counts, and how it handles results
    and failures."""

    executor: Any
    task_seconds: float
    tasks: int
    retried: int
    reused: int

    @property
    def workers(self) -> int | None: ...

    def gives_up(self, work: Work[U, R], unit: U, error: Exception, host: str, failures: int) -> bool: ...

    def merged(self, work: Work[U, R], units: Sequence[U], results: Sequence[R]) -> R: ...


@runtime_checkable
class Executor(Protocol):
    """An object that runs tasks, such as the executors of `concurrent.futures`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Start a call of a function; return an object whose method `result` waits for its result."""


#: Works that a process caches.
MAX_READY = 4


class RefusedError(TrigemuError):
    """A worker runs another version of the program."""


@dataclass(frozen=True)
class Program:
    """The program of a process. version: of trigemu. code: digest of its source. python: its version."""

    version: str
    code: str
    python: str

    def __str__(self) -> str:
        return f"trigemu {self.version} ({self.code[:8]}) on Python {self.python}"


@cache
def this_program() -> Program:
    """Return the program of this process, with the first two numbers of Python's version, on which pickles
    depend."""
    from trigemu import __version__

    return Program(__version__, digest_of_code(), ".".join(platform.python_version_tuple()[:2]))


@dataclass(frozen=True)
class Task:
    """Units of a work. content: the pickle of a function and its arguments that prepare the work; None if the
    worker probably has it. number: different for each attempt, because some engines merge equal calls."""

    program: Program
    digest: str
    content: bytes | None
    units: Sequence[Any]
    number: int


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task: its result; or an error and the unit that failed; or neither, if the worker does
    not have the work. seconds: the time that the units took."""

    host: str
    result: Any = None
    error: Exception | None = None
    unit: int | None = None
    known: bool = True
    seconds: float = 0.0


_ready: OrderedDict[str, list[Prepared[Any, Any]]] = OrderedDict()
_lock = Lock()


def perform(task: Task) -> Outcome:
    """Perform a task in this process. Several threads may do so at once: each has its own work, because
    compiled triggers have scratch memory."""
    host = f"{socket.gethostname()}, process {os.getpid()}"
    if task.program != this_program():
        runs = f"a worker ({host}) runs {this_program()}, this program is {task.program}"
        return Outcome(host, error=RefusedError(f"{runs}: install the same versions"))
    done = 0
    try:
        work = _taken(task)
        if work is None:
            return Outcome(host, known=False)
        start, parts = time.perf_counter(), []
        for part in work.each(task.units):
            parts.append(part)
            done += 1
        result = work.merge(parts) if len(parts) > 1 else parts[0]
        seconds = time.perf_counter() - start
    except Exception as error:
        return Outcome(host, error=transferable(error), unit=min(done, len(task.units) - 1))
    _returned(task.digest, work)
    return Outcome(host, result=result, seconds=seconds)


def _taken(task: Task) -> Prepared[Any, Any] | None:
    with _lock:
        if idle := _ready.get(task.digest):
            _ready.move_to_end(task.digest)
            return idle.pop()
        if task.content is None:
            return None
    prepare: Callable[..., Prepared[Any, Any]]
    prepare, arguments = pickle.loads(task.content)
    return prepare(*arguments)


def _returned(digest: str, work: Prepared[Any, Any]) -> None:
    with _lock:
        _ready.setdefault(digest, []).append(work)
        _ready.move_to_end(digest)
        while len(_ready) > MAX_READY:
            _ready.popitem(last=False)
