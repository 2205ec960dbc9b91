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
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from trigemu.base.checkpoint import Checkpoint, digest_of_code, keep_result, load_result
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.processes import DaskExecutor, WorkerLostError, WorkerPool, cores, own_pools, transferable

#: Large enough that the cost of starting a chunk is negligible, small enough for the caches of a processor;
#: memory does not grow with the sample.
CHUNK_EVENTS = 262_144
#: Seconds of work left in this process from which worker processes are started, and from which those that run
#: take over. They start, compile triggers and load kernels in some seconds of processor time: jobs of 5 to
#: 12 s on two cores took as long with them or longer.
START_S, READY_S = 15.0, 0.5
#: Longest time before another attempt, in seconds; the time doubles with each attempt.
LONGEST_PAUSE = 60.0
#: Number of workers that is assumed if an executor does not report it.
_DEFAULT_WORKERS = 64

U = TypeVar("U")
R = TypeVar("R")


class Work(Generic[U, R]):
    """A function of units, such as chunks of files, which several threads may call at once; its pickle is
    this work in another process."""

    in_threads = False  # Whether threads of this process gain by that

    def __call__(self, unit: U) -> R:
        """Return the result of a unit."""
        raise NotImplementedError

    def size(self, unit: U) -> int:
        """Return the number of events of a unit."""
        return 1

    def key(self, unit: U) -> str:
        """Return the fingerprint of all that the result of a unit depends on: its name in a checkpoint."""
        raise NotImplementedError

    def pause(self, unit: U) -> float:
        """Return the seconds before another attempt at a unit."""
        return 0.0

    def give_up(self, unit: U, error: Exception, host: str, attempts: int) -> NoReturn:
        """Raise the error of a unit that failed every time."""
        raise error


def no_progress(events: int) -> None:
    """Show no progress."""


@dataclass
class Counts:
    """Counts of an engine and of its copies with other settings."""

    retried: int = 0  #: Repeated tasks
    reused: int = 0  #: Events whose results came from the checkpoint
    planned: int = 0  #: Events of all passes that began


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
    #: Called with the number of events done since the last call, which is 0 when a pass begins
    progress: Callable[[int], None] = no_progress
    counts: Counts = field(default_factory=Counts)  #: What it did

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


@dataclass
class _Run(Generic[U]):
    """A unit on its way."""

    unit: U
    path: Path | None  # The file of its result, with a checkpoint
    result: Any  # That from the file
    future: Any = None  # Of its outcome, if there was no file
    failures: int = 0


def map_chunks(work: Work[U, R], units: Iterable[U], executor: Any = None) -> Generator[R, None, None]:
    """Yield the results of units, in their order; raise the error of a unit that fails each time."""
    engine = engine_of(executor)
    left, runs, checkpoint = deque(units), deque[_Run[U]](), engine.checkpoint
    events, here = sum(map(work.size, left)), engine.executor is None
    number = min(cores(), engine.number or 1) if here and work.in_threads else 1
    threads = ThreadPoolExecutor(number)
    lane = _Lane(threads, 1 if number == 1 else 2 * number, (_do, work))
    if not here:
        lane = _Lane.to(engine.executor, engine.number, pickle.dumps(work))
    successor = _Successor(work, (here and engine.number) or 1)
    engine.counts.planned += events
    try:
        engine.progress(0)
        while True:
            while left and len(runs) < lane.most:
                unit = left.popleft()
                path = checkpoint.file(work.key(unit)) if checkpoint else None
                run = _Run(unit, path, load_result(path, engine.warn) if path else None)
                if run.result is None:
                    run.future = lane.submit(unit)
                runs.append(run)
            if not runs:
                break
            run = runs[0]
            outcome = Outcome(run.result) if run.future is None else _outcome(run.future)
            if outcome.error is not None:
                run.failures += 1
                if isinstance(outcome.error, RetryableError) and run.failures <= engine.retries:
                    engine.counts.retried += 1
                    time.sleep(min(work.pause(run.unit) * 2 ** (run.failures - 1), LONGEST_PAUSE))
                    run.future = lane.submit(run.unit)
                    continue
                work.give_up(run.unit, outcome.error, outcome.host, run.failures)
            size = work.size(run.unit)
            events -= size
            if run.future is None:
                engine.counts.reused += size
            else:
                if run.path:
                    keep_result(run.path, outcome.result)
                lane = successor.after(size, events) or lane
            runs.popleft()
            engine.progress(size)
            yield outcome.result
    except BrokenExecutor as error:
        raise TrigemuError(
            f"the executor lost a worker and cannot continue ({_short(error)}): with a checkpoint, the "
            f"same command does only what is missing; --engine local and dask replace lost workers"
        ) from error
    finally:
        engine.counts.planned -= events  # of a pass that ends early
        for run in runs:
            with suppress(Exception):  # not all futures can be cancelled
                run.future.cancel()
        if runs and isinstance(lane.executor, WorkerPool):
            lane.executor.restart()  # its processes would work on
        threads.shutdown(cancel_futures=True)


@dataclass
class _Lane:
    """Where units are sent, and how many may be on their way."""

    executor: Any
    most: int
    call: tuple[Any, ...]  # A function of a unit, and its first arguments

    @classmethod
    def to(cls, executor: Any, number: int | None, content: bytes) -> _Lane:
        """Return the way to an executor with a number of workers, for the pickle of a work."""
        return cls(executor, 3 * (number or _DEFAULT_WORKERS), (perform, this_program(), content))

    def submit(self, unit: Any) -> Any:
        try:
            return self.executor.submit(*self.call, unit)
        except (TrigemuError, BrokenExecutor):
            raise
        except Exception as error:  # executors have errors of their own
            raise TrigemuError(
                f"the executor accepts no tasks ({_short(error)}): is it shut down, or were its workers lost?"
            ) from error


class _Successor:
    """A number of worker processes, which take over from the threads of this process if the work takes long
    enough for them. They start beside the threads, and nobody waits for them."""

    def __init__(self, work: Work[Any, Any], number: int) -> None:
        self._work, self._number, self._content = work, number, b""
        self._starting: list[Future[None]] = []
        self._begin = time.perf_counter()
        self._done: int | None = None  # Events since the first unit, which loads kernels, or compiles them

    def after(self, size: int, events: int) -> _Lane | None:
        """Return the way to the processes if they are ready. size: of the last unit that was done; events:
        those that are left."""
        now = time.perf_counter()
        rest = now - self._begin
        if self._done is None:
            self._begin, self._done, rest = now, 0, rest if rest > START_S else 0.0
        else:
            self._done += size
            rest *= events / self._done
        pool = own_pools.get(self._number)
        if self._number == 1 or rest <= (READY_S if pool else START_S):
            return None
        pool = own_pools.setdefault(self._number, pool or WorkerPool(self._number))
        try:
            if not self._starting:
                self._content = pickle.dumps(self._work)
                self._starting = [pool.submit(prepare, self._content) for _ in range(self._number)]
            if all(future.done() for future in self._starting):
                for future in self._starting:
                    future.result()
                self._starting, number, self._number = [], self._number, 1
                return _Lane.to(pool, number, self._content)
        except Exception:  # it cannot be sent, or loaded there
            self._number = 1
        return None


def _outcome(future: Any) -> Outcome:
    """Wait for the outcome of a unit."""
    try:
        outcome = future.result()
        if not isinstance(outcome, Outcome):  # some engines return the error
            raise TypeError(f"its result is {outcome!r:.100}")
        return outcome
    except WorkerLostError as error:
        return Outcome(error=error)
    except (ImportError, AttributeError) as error:
        raise TrigemuError(
            f"a worker cannot load trigemu ({_short(error)}): install {this_program()} there too"
        ) from error
    except (TrigemuError, BrokenExecutor):
        raise
    except Exception as error:  # of the executor: a worker or its connection was lost
        return Outcome(error=WorkerLostError(f"a worker was lost ({_short(error)})"))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


# ---- in the process that does a unit


@dataclass(frozen=True)
class Outcome:
    """The result of a unit, or its error."""

    result: Any = None
    error: Exception | None = None
    host: str = ""  # The machine and process; empty for that of the program


@cache
def this_program() -> str:
    """Return the version and the code of this program, with the first two numbers of Python's version, on
    which pickles depend."""
    from trigemu import __version__

    python = ".".join(platform.python_version_tuple()[:2])
    return f"trigemu {__version__} ({digest_of_code()[:8]}) on Python {python}"


#: The last work in this process, by its pickle.
_work = lru_cache(maxsize=1)(pickle.loads)


def prepare(content: bytes) -> None:
    """Make a work ready in this process."""
    _work(content)


def perform(program: str, content: bytes, unit: Any) -> Outcome:
    """Do a unit of a work in this process; raise TrigemuError if that runs another version of the program."""
    host = f"{socket.gethostname()}, process {os.getpid()}"
    if program != this_program():
        runs = f"a worker ({host}) runs {this_program()}, this program is {program}"
        raise TrigemuError(f"{runs}: install the same versions")
    try:
        return Outcome(_work(content)(unit), host=host)
    except Exception as error:
        return Outcome(error=transferable(error), host=host)


def _do(work: Work[U, R], unit: U) -> Outcome:
    try:
        return Outcome(work(unit))
    except Exception as error:
        return Outcome(error=error)
