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
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cache
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from trigemu.base.checkpoint import Checkpoint, keep_result, load_result, path_of
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.fingerprint import digest_of_code
from trigemu.base.processes import WorkerLostError, WorkerPool, cores, own_pool

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
    """A part of a work, such as a chunk of a file; picklable.

    size: its number of events. key: fingerprint of what its result depends on besides the work. pause:
    seconds before another attempt after a failure.
    """

    @property
    def size(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def pause(self) -> float: ...


U = TypeVar("U", bound=Unit)
R = TypeVar("R")


class Work(Generic[U, R]):
    """A function of units, and how it is done elsewhere. key: fingerprint of all that results depend on
    besides the units; only with a checkpoint."""

    key = ""

    def __call__(self, unit: U) -> R:
        """Return the result of a unit."""
        raise NotImplementedError

    def each(self, units: Sequence[U], threads: int) -> Iterator[R]:
        """Yield the results of units in this process, with at most this number of threads."""
        return map(self, units)

    def content(self) -> bytes:
        """Pickle a function and its arguments; calling it in another process returns this work."""
        return pickle.dumps((_itself, (self,)))

    def give_up(self, unit: U, error: Exception, host: str, attempts: int) -> None:
        """Raise the error of a unit that failed every time; or return if it is left out."""
        raise error

    def remaining(self, unit: U) -> U | None:
        """Return a unit without what is left out, because it failed before; None if nothing remains."""
        return unit


def _itself(work: Any) -> Any:
    return work


@dataclass
class Engine:
    """Where work is done, and what happens after a failure.

    Attributes
    ----------
    executor : Executor, distributed.Client or None
        Runs the work; None: this machine.
    workers : int or None
        Without an executor, the number of threads, at most one for each core, and of processes, which work
        if it takes long enough to start them; None: all cores; 1: only this process and one thread.
    retries : int
        How often a task is repeated if another attempt may succeed: if a file cannot be read, or a worker is
        lost.
    checkpoint : Checkpoint or None
        Stores the results of finished tasks for later runs.
    chunk_events : int
        The largest number of events that are processed at a time.
    warn : callable
        Called with a message for the user.
    retried, skipped, reused : int
        The number of repeated tasks, of tasks with parts of files that were left out, and of events whose
        results came from the checkpoint.

    Raises
    ------
    TrigemuError
        If the executor is not an executor.
    """

    executor: Any = None
    _: KW_ONLY
    workers: int | None = None
    retries: int = 3
    checkpoint: Checkpoint | None = None
    chunk_events: int = CHUNK_EVENTS
    warn: Callable[[str], None] = warnings.warn
    retried: int = 0
    skipped: int = 0
    reused: int = 0

    def __post_init__(self) -> None:
        executor = self.executor
        if type(executor).__module__.partition(".")[0] == "distributed" and hasattr(executor, "nthreads"):
            from trigemu.base.dask import DaskExecutor

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
    engine, advance = engine_of(executor), progress or (lambda events: None)
    checkpoint = engine.checkpoint

    def computed(units: list[U]) -> Iterator[R]:
        left = sum(unit.size for unit in units)
        for unit, result in _results(work, units, engine):
            if checkpoint:
                keep_result(path_of(checkpoint, work.key, unit.key), result)
            left -= unit.size
            advance(unit.size)
            yield result
        advance(left)  # what was left out

    if not checkpoint:
        yield from computed([*units])
        return
    for stored, group in groupby(units, lambda unit: path_of(checkpoint, work.key, unit.key).exists()):
        if not stored:
            yield from computed([*group])
            continue
        for unit in group:
            result = load_result(path_of(checkpoint, work.key, unit.key), engine.warn)
            if result is None:
                yield from computed([unit])
                continue
            engine.reused += unit.size
            advance(unit.size)
            yield result


def _results(work: Work[U, R], units: list[U], engine: Engine) -> Iterator[tuple[U, R]]:
    executor, left = engine.executor, deque(units)
    if executor is None:
        executor = yield from _here(work, left, engine)
    if left:
        yield from _Elsewhere(work, engine, executor).over(left)


def _here(
    work: Work[U, R], left: deque[U], engine: Engine
) -> Generator[tuple[U, R], None, WorkerPool | None]:
    """Work in this process, and return worker processes for the rest, once they are ready, if that takes long
    enough. They start beside this process, and nobody waits for them."""
    pool, prepared = own_pool(engine.number or 1), list[Future[None]]()
    begin, done, to_do = time.perf_counter(), 0, sum(unit.size for unit in left)
    first, alone, failures = True, pool.number == 1, 0
    while left:
        results = work.each(tuple(left), min(cores(), pool.number))
        try:
            for result in results:
                unit, failures = left.popleft(), 0
                yield unit, result
                seconds, to_do = time.perf_counter() - begin, to_do - unit.size
                if first:  # it loads kernels, or compiles them
                    first, begin = False, time.perf_counter()
                    rest = seconds if seconds > START_S else 0.0
                else:
                    done += unit.size
                    rest = to_do * seconds / done
                pays = rest > (READY_S if pool.started else START_S)
                if pays and not (alone or prepared) and pool.can_start():
                    prepared = _prepared_in(pool, work)
                    alone = not prepared
                if prepared and rest > READY_S and all(future.done() for future in prepared):
                    if not any(future.exception() for future in prepared):
                        return pool
                    pool.restart()
                    prepared, alone = [], True
        except Exception as error:
            failures += 1
            if _gives_up(engine, work, left[0], error, "", failures):
                remaining = [unit for unit in map(work.remaining, left) if unit is not None]
                left.clear()
                left.extend(remaining)
                failures = 0
        finally:
            if isinstance(results, Generator):
                results.close()
    return None


def _prepared_in(pool: WorkerPool, work: Work[Any, Any]) -> list[Future[None]]:
    """Start the processes of a pool, and prepare work in them; do nothing if it cannot be sent."""
    try:
        content = work.content()
        return [pool.submit(prepare, content) for _ in range(pool.number)]
    except Exception:
        return []


def _gives_up(engine: Engine, work: Work[U, R], unit: U, error: Exception, host: str, failures: int) -> bool:
    """Wait before another attempt at a unit, and return False; or return True if it is left out. Raises
    the error of the unit if it may neither be repeated nor left out."""
    if isinstance(error, RetryableError) and failures <= engine.retries:
        engine.retried += 1
        time.sleep(min(unit.pause * 2 ** (failures - 1), LONGEST_PAUSE))
        return False
    work.give_up(unit, error, host, failures)
    engine.skipped += 1
    return True


@dataclass
class _Run(Generic[U, R]):
    """A unit on its way. outcome: None until it is known."""

    unit: U
    future: Any = None
    outcome: Outcome | None = None
    failures: int = 0


class _Elsewhere(Generic[U, R]):
    """Work on an executor, with a bounded number of units on their way."""

    def __init__(self, work: Work[U, R], engine: Engine, executor: Any) -> None:
        self._work, self._engine, self._executor = work, engine, executor
        self._content = work.content()
        self._waiting: deque[_Run[U, R]] = deque()

    def over(self, left: deque[U]) -> Iterator[tuple[U, R]]:
        workers = self._executor.number if isinstance(self._executor, WorkerPool) else self._engine.number
        run: _Run[U, R] | None = None
        try:
            while left or self._waiting:
                while left and len(self._waiting) < 3 * (workers or _DEFAULT_WORKERS):
                    if (unit := self._work.remaining(left.popleft())) is not None:
                        self._waiting.append(_Run(unit))
                        self._submit(self._waiting[-1])
                if self._waiting:
                    run = self._waiting[0]
                    outcome = self._finished(run)
                    self._waiting.popleft()
                    if outcome:
                        yield run.unit, outcome.result
                    run = None
        finally:
            if (run or self._waiting) and isinstance(self._executor, WorkerPool):
                self._executor.restart()  # they would work on
            for waiting in self._waiting:
                with suppress(Exception):  # not all futures can be cancelled
                    waiting.future.cancel()

    def _finished(self, run: _Run[U, R]) -> Outcome | None:
        """Return the outcome of the oldest unit; None if it is left out."""
        while True:
            outcome = run.outcome or self._awaited(run)
            if outcome is None:  # the processes of this machine were lost
                self._do_singly()
                continue
            if outcome.error is None:
                return outcome
            run.outcome = None
            run.failures += 1
            if _gives_up(self._engine, self._work, run.unit, outcome.error, outcome.host, run.failures):
                return None
            self._submit(run)

    def _do_singly(self) -> None:
        """Start new processes, and do one by one what the old ones may have been doing: one of these units
        ended them."""
        assert isinstance(self._executor, WorkerPool)
        unfinished = [run for run in self._waiting if run.outcome is None and not _is_done(run.future)]
        suspects = unfinished[: self._executor.number + 1]
        self._engine.retried += len(suspects)
        self._executor.restart()
        for run in suspects:
            self._submit(run)
            while (outcome := self._awaited(run)) is None:
                error = self._executor.lost()
                self._executor.restart()
                run.failures += 1
                if _gives_up(self._engine, self._work, run.unit, error, "", run.failures):
                    raise error
                self._submit(run)
            run.outcome = outcome
        for run in unfinished[len(suspects) :]:
            self._submit(run)

    def _submit(self, run: _Run[U, R]) -> None:
        try:
            run.future = self._executor.submit(perform, this_program(), self._content, run.unit)
        except TrigemuError:
            raise
        except BrokenExecutor as error:
            if not isinstance(self._executor, WorkerPool):  # of which the result will report it
                raise _broken(error) from error
            run.future = None
        except Exception as error:  # executors have errors of their own
            raise TrigemuError(
                f"the executor accepts no tasks ({_short(error)}): is it shut down, or were its workers lost?"
            ) from error

    def _awaited(self, run: _Run[U, R]) -> Outcome | None:
        """Wait for an outcome; return None if the processes of this machine were lost."""
        try:
            outcome = _result(run.future, getattr(self._executor, "check", None))
            if not isinstance(outcome, Outcome):  # some engines return the error
                raise TypeError(f"its result is {outcome!r:.100}")
        except BrokenExecutor as error:
            if isinstance(self._executor, WorkerPool):
                return None
            raise _broken(error) from error
        except (ImportError, AttributeError) as error:
            raise TrigemuError(
                f"a worker cannot load trigemu ({_short(error)}): install {this_program()} there too"
            ) from error
        except TrigemuError:
            raise
        except Exception as error:  # of the executor: a worker or its connection was lost
            return Outcome("", error=WorkerLostError(f"a worker was lost ({_short(error)})"))
        if isinstance(outcome.error, RefusedError):
            raise outcome.error
        return outcome


def _result(future: Any, check: Callable[[], None] | None) -> Any:
    """Wait for a future; an executor that can be checked is asked at intervals whether it is still there."""
    if future is None:
        raise BrokenExecutor
    while check:
        try:
            return future.result(timeout=_CHECK_S)
        except TimeoutError:
            check()
    return future.result()


def _is_done(future: Any) -> bool:
    return future is not None and future.done() and not future.cancelled() and future.exception() is None


def _broken(error: BrokenExecutor) -> TrigemuError:
    return TrigemuError(
        f"the executor lost a worker and cannot continue ({_short(error)}): with a checkpoint, the same "
        f"command does only what is missing; --engine local and dask replace lost workers"
    )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


# ---- in the process of a worker


class RefusedError(TrigemuError):
    """A worker runs another version of the program."""


@dataclass(frozen=True)
class Outcome:
    """The result of a unit, or its error. host: the machine and process."""

    host: str
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


def _ready(content: bytes) -> Callable[[Any], Any]:
    if getattr(_last, "content", None) != content:
        _last.content = None
        function, arguments = pickle.loads(content)
        _last.work, _last.content = function(*arguments), content
    work: Callable[[Any], Any] = _last.work
    return work


def prepare(content: bytes) -> None:
    """Make a work ready in this process."""
    _ready(content)


def perform(program: str, content: bytes, unit: Any) -> Outcome:
    """Do a unit of a work in this process."""
    host = f"{socket.gethostname()}, process {os.getpid()}"
    if program != this_program():
        runs = f"a worker ({host}) runs {this_program()}, this program is {program}"
        return Outcome(host, error=RefusedError(f"{runs}: install the same versions"))
    try:
        return Outcome(host, _ready(content)(unit))
    except Exception as error:
        return Outcome(host, error=transferable(error))


def transferable(error: Exception) -> Exception:
    """Return an error that can be sent to another process, with its traceback."""
    text = "".join(traceback.format_exception(error))
    if isinstance(error, TrigemuError):
        error.remote = text
    else:
        error.add_note(text)
    try:
        pickle.loads(pickle.dumps(error))  # some errors cannot be created from their arguments
        return error
    except Exception:
        return TrigemuError(str(error)) if isinstance(error, TrigemuError) else RuntimeError(repr(error))
