"""Work over chunks: in this process, in worker processes or on any executor, with the results in the order of
the chunks.

An executor is anything with the method `submit` of `concurrent.futures`, whose futures have `result`: a pool
of processes or threads, loky, parsl, MPI, TaskVine; or a client of dask.distributed. Which process computes a
result, and when, changes nothing: units are given, and each has one result.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from trigemu.base.checkpoint import Checkpoint, digest_of_code, keep_result, load_result, path_of
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.processes import (
    DaskExecutor,
    WorkerLostError,
    WorkerPool,
    cores,
    own_pool,
    transferable,
)

#: Large enough that the cost of starting a chunk is negligible, small enough for the caches of a processor;
#: memory does not grow with the sample.
CHUNK_EVENTS = 262_144
#: Seconds of work left in this process from which worker processes are started, and from which those that run
#: take over. They start, compile triggers and load kernels in some seconds of processor time: jobs of 5 to
#: 12 s on two cores took as long with them or longer.
START_S, READY_S = 15.0, 0.5
#: Longest time before another attempt, in seconds; the time doubles with each attempt.
LONGEST_PAUSE = 60.0
#: Seconds between checks that an executor is still there, while its result is awaited.
_CHECK_S = 2.0
#: Number of workers that is assumed if an executor does not report it.
_DEFAULT_WORKERS = 64


class Unit(Protocol):
    """A part of a work, such as a chunk of a file; picklable."""

    @property
    def size(self) -> int: ...  # Its number of events

    @property
    def key(self) -> str: ...  # Fingerprint of what its result depends on besides the work

    @property
    def pause(self) -> float: ...  # Seconds before another attempt after a failure


U = TypeVar("U", bound=Unit)
R = TypeVar("R")


class Work(Generic[U, R]):
    """A function of units; its pickle is this work in another process."""

    key = ""  # Fingerprint of all that results depend on besides the units; only with a checkpoint

    def __call__(self, unit: U) -> R:
        """Return the result of a unit."""
        raise NotImplementedError

    def threads(self, units: Sequence[U], most: int) -> int:
        """Return how many threads of this process, at most `most`, units are shared among."""
        return 1

    def copy(self) -> Work[U, R]:
        """Return the same work for another thread."""
        return self

    def give_up(self, unit: U, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of a unit that failed every time; or return if it is left out."""
        raise error

    def remaining(self, unit: U) -> U | None:
        """Return a unit without what is left out, because it failed before; None if nothing remains."""
        return unit


@dataclass
class Engine:
    """Where work is done, and what happens after a failure. Raises TrigemuError for an object that is no
    executor."""

    #: An executor, or a client of dask.distributed, that runs the work; None: this machine
    executor: Any = None
    _: KW_ONLY
    #: Without an executor, the number of threads, at most one for each core, and of processes, which work if
    #: it takes long enough to start them; None: all cores; 1: only this process and one thread
    workers: int | None = None
    #: How often a task is repeated if another attempt may succeed: a file cannot be read, or a worker is lost
    retries: int = 3
    checkpoint: Checkpoint | None = None  #: Stores the results of finished tasks for later runs
    chunk_events: int = CHUNK_EVENTS  #: The largest number of events that are processed at a time
    warn: Callable[[str], None] = warnings.warn  #: Called with a message for the user
    retried: int = 0  #: The number of repeated tasks
    skipped: int = 0  #: The number of tasks with parts of files that were left out
    reused: int = 0  #: The number of events whose results came from the checkpoint

    def __post_init__(self) -> None:
        executor = self.executor
        if type(executor).__module__.partition(".")[0] == "distributed" and hasattr(executor, "nthreads"):
            self.executor = DaskExecutor(executor)
        elif executor is not None and not callable(getattr(executor, "submit", None)):
            raise TrigemuError(
                f"executor = {executor!r:.100}: expected an object with the method submit, such as a "
                f"concurrent.futures.ProcessPoolExecutor, or a client of dask.distributed"
            )

    @property
    def number(self) -> int | None:
        """The present number of workers; None if the executor does not report it."""
        if self.executor is None:
            return self.workers or cores()
        with suppress(Exception):  # a cluster that does not answer at the moment
            for name in ("number", "_max_workers", "num_workers"):
                if isinstance(number := getattr(self.executor, name, None), int):
                    return number
        return None


def engine_of(executor: Any) -> Engine:
    """Return an engine unchanged; for an executor, an engine with default settings."""
    return executor if isinstance(executor, Engine) else Engine(executor)


def map_chunks(
    work: Work[U, R], units: Iterable[U], executor: Any = None, progress: Callable[[int], None] | None = None
) -> Generator[R, None, None]:
    """Yield the results of units, in their order; only those of units that are left out are missing.

    progress: called with the number of events done since the last call. Raises the error of a unit that fails
    each time and is not left out.
    """
    yield from _Map(work, [*units], engine_of(executor), progress or (lambda events: None)).results()


@dataclass
class _Run(Generic[U]):
    """A unit on its way."""

    unit: U
    path: Path | None = None  # Where its result is stored
    stored: Outcome | None = None  # The outcome, if it was
    future: Any = None  # Of its outcome; None until it is sent
    failures: int = 0


class _Map(Generic[U, R]):
    """Units on their way through an executor, a bounded number at a time."""

    def __init__(
        self, work: Work[U, R], units: Sequence[U], engine: Engine, progress: Callable[[int], None]
    ) -> None:
        self._work, self._engine, self._progress = work, engine, progress
        self._left, self._events = deque(units), sum(unit.size for unit in units)
        self._runs: deque[_Run[U]] = deque()
        self._most = 3 * (engine.number or _DEFAULT_WORKERS)
        self._executor = _Here(work, units, engine) if engine.executor is None else engine.executor

    def results(self) -> Iterator[R]:
        try:
            while self._send():
                run = self._runs[0]
                outcome = run.stored or self._outcome(run.future)
                if outcome.error is not None:
                    if self._gives_up(run, outcome.error, outcome.host):
                        self._runs.popleft()
                    continue
                if run.stored:
                    self._engine.reused += run.unit.size
                elif run.path:
                    keep_result(run.path, outcome.result)
                self._runs.popleft()
                self._events -= run.unit.size
                if isinstance(self._executor, _Here) and not run.stored:
                    self._executor = self._executor.after(run.unit, self._events)
                self._progress(run.unit.size)
                yield outcome.result
            self._progress(self._events)  # what was left out
        except BrokenExecutor as error:
            raise TrigemuError(
                f"the executor lost a worker and cannot continue ({_short(error)}): with a checkpoint, the "
                f"same command does only what is missing; --engine local and dask replace lost workers"
            ) from error
        finally:
            for run in self._runs:
                with suppress(Exception):  # not all futures can be cancelled
                    run.future.cancel()
            if self._runs and isinstance(self._executor, WorkerPool):
                self._executor.restart()  # they would work on
            if isinstance(self._executor, _Here):
                self._executor.threads.shutdown(cancel_futures=True)

    def _send(self) -> bool:
        """Send units, as many as may be on their way; return whether any is."""
        most = self._executor.most if isinstance(self._executor, _Here) else self._most
        while self._left and len(self._runs) < most:
            if (unit := self._work.remaining(self._left.popleft())) is not None:
                run = _Run(unit)
                if checkpoint := self._engine.checkpoint:
                    run.path = path_of(checkpoint, self._work.key, unit.key)
                    result = load_result(run.path, self._engine.warn) if run.path.exists() else None
                    run.stored = None if result is None else Outcome("", result)
                self._runs.append(run)
        for run in self._runs:
            if run.future is None and run.stored is None:
                run.future = self._submitted(run.unit)
        return bool(self._runs)

    @cached_property
    def _content(self) -> bytes:
        return pickle.dumps(self._work)

    def _submitted(self, unit: U) -> Any:
        if isinstance(self._executor, _Here):
            return self._executor.submit(unit)
        try:
            return self._executor.submit(perform, this_program(), self._content, unit)
        except (TrigemuError, BrokenExecutor):
            raise
        except Exception as error:  # executors have errors of their own
            raise TrigemuError(
                f"the executor accepts no tasks ({_short(error)}): is it shut down, or were its workers lost?"
            ) from error

    def _outcome(self, future: Any) -> Outcome:
        try:
            outcome = _result(future, getattr(self._executor, "check", None))
            if not isinstance(outcome, Outcome):  # some engines return the error
                raise TypeError(f"its result is {outcome!r:.100}")
        except WorkerLostError as error:
            return Outcome("", error=error)
        except (ImportError, AttributeError) as error:
            raise TrigemuError(
                f"a worker cannot load trigemu ({_short(error)}): install {this_program()} there too"
            ) from error
        except (TrigemuError, BrokenExecutor):
            raise
        except Exception as error:  # of the executor: a worker or its connection was lost
            return Outcome("", error=WorkerLostError(f"a worker was lost ({_short(error)})"))
        return outcome

    def _gives_up(self, run: _Run[U], error: Exception, host: str) -> bool:
        """Wait before another attempt at a unit, and return False; or return True if it is left out. Raises
        the error of the unit if it may neither be repeated nor left out."""
        run.failures += 1
        if isinstance(error, RetryableError) and run.failures <= self._engine.retries:
            self._engine.retried += 1
            time.sleep(min(run.unit.pause * 2 ** (run.failures - 1), LONGEST_PAUSE))
            run.future = None
            return False
        self._work.give_up(run.unit, error, host, run.failures)
        self._engine.skipped += 1
        return True


def _result(future: Any, check: Callable[[], None] | None) -> Any:
    """Wait for a future; an executor that can be checked is asked at intervals whether it is still there."""
    while check:
        try:
            return future.result(timeout=_CHECK_S)
        except TimeoutError:
            check()
    return future.result()


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


class _Here(Generic[U, R]):
    """Threads of this process, until worker processes are ready, if the work takes long enough for them.
    Processes start beside the threads, and nobody waits for them."""

    def __init__(self, work: Work[U, R], units: Sequence[U], engine: Engine) -> None:
        number = engine.number or 1
        self._workers = own_pool(number) if number > 1 else None
        self._starting: list[Future[None]] = []
        self._number = work.threads(units, min(cores(), number))
        self.threads = ThreadPoolExecutor(self._number)
        self._work, self._idle = work, [work]
        self._begin = time.perf_counter()
        self._done: int | None = None  # Events since the first unit, which loads kernels, or compiles them

    @property
    def most(self) -> int:
        """How many units may be on their way."""
        return 1 if self._number == 1 else 2 * self._number

    def submit(self, unit: U) -> Future[Outcome]:
        return self.threads.submit(self._perform, unit)

    def _perform(self, unit: U) -> Outcome:
        try:
            work = self._idle.pop()
        except IndexError:
            work = self._work.copy()
        try:
            return Outcome("", work(unit))
        except Exception as error:
            return Outcome("", error=error)
        finally:
            self._idle.append(work)

    def after(self, unit: U, events: int) -> WorkerPool | _Here[U, R]:
        """Return what does further units. unit: the last that was done; events: those that are left."""
        seconds = time.perf_counter() - self._begin
        if self._done is None:
            self._done, self._begin = 0, time.perf_counter()
            rest = seconds if seconds > START_S else 0.0
        else:
            self._done += unit.size
            rest = events * seconds / self._done
        pool = self._workers
        if pool and rest > (READY_S if pool.started else START_S) and not self._starting:
            try:
                content = pickle.dumps(self._work)
                self._starting = [pool.submit(prepare, content) for _ in range(pool.number)]
            except Exception:  # it cannot be sent
                self._workers = None
        if pool and self._starting and rest > READY_S and all(future.done() for future in self._starting):
            if not any(future.exception() for future in self._starting):
                self.threads.shutdown(wait=False)  # they finish what they have
                return pool
            pool.restart()
            self._workers = None
        return self


# ---- in the process of a worker


@dataclass(frozen=True)
class Outcome:
    """The result of a unit, or its error."""

    host: str  # The machine and process; empty for this one
    result: Any = None
    error: Exception | None = None


@cache
def this_program() -> str:
    """Return the version and the code of this program, with the first two numbers of Python's version, on
    which pickles depend."""
    from trigemu import __version__

    python = ".".join(platform.python_version_tuple()[:2])
    return f"trigemu {__version__} ({digest_of_code()[:8]}) on Python {python}"


#: The last work of each thread, with its content: compiled triggers have scratch memory.
_last = threading.local()


def prepare(content: bytes) -> None:
    """Make a work ready in this process."""
    if getattr(_last, "content", None) != content:
        _last.content = None
        _last.work, _last.content = pickle.loads(content), content


def perform(program: str, content: bytes, unit: Any) -> Outcome:
    """Do a unit of a work in this process; raise TrigemuError if that runs another version of the program."""
    host = f"{socket.gethostname()}, process {os.getpid()}"
    if program != this_program():
        runs = f"a worker ({host}) runs {this_program()}, this program is {program}"
        raise TrigemuError(f"{runs}: install the same versions")
    try:
        prepare(content)
        return Outcome(host, _last.work(unit))
    except Exception as error:
        return Outcome(host, error=transferable(error))
