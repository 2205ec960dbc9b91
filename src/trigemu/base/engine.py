"""Engines: they run work in tasks of seconds, in this process or on an executor, in a bounded window, and
recover from failures.

An executor is anything with the method `submit` of `concurrent.futures`, whose futures have `result`: a pool
of processes or threads, loky, parsl, MPI, TaskVine; or a client of dask.distributed.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic

from trigemu.base.checkpoint import Checkpoint, Head, Part
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.processes import WorkerLostError
from trigemu.base.tasks import (
    Executor,
    Outcome,
    R,
    RefusedError,
    SubmittingEngine,
    Task,
    U,
    Work,
    perform,
    this_program,
)

#: Units of a task, which are sent with it.
MOST_UNITS = 512
#: Tasks that are submitted before the time of one is known.
_FIRST = 256
#: Length of the shortest tasks, at the end, relative to the nominal length.
_SHORTEST = 0.05
#: Largest length of a task, relative to the nominal one, if its end costs the next task time.
_LONGER = 2.0
#: Tasks from which the time of the next ones is estimated.
_RECENT = 8
#: Consecutive tasks whose worker did not have their work, after which every task carries it: each task may
#: have a process of its own.
_FORGOTTEN = 8
#: Number of workers that is assumed if an executor does not report it.
_DEFAULT_WORKERS = 64


@dataclass
class _Run(Generic[U, R]):
    """Consecutive units that form one task. future: of its outcome; None if the result is already stored.
    size: the events of these units, including those left out. with_content: whether the task carried the
    work."""

    units: Sequence[U]
    size: int
    future: Any = None
    result: R | None = None
    with_content: bool = False
    failures: int = 0


class Submitted(Generic[U, R]):
    """One work on the executor of an engine."""

    def __init__(self, engine: SubmittingEngine, work: Work[U, R], units: Sequence[U]) -> None:
        self._engine, self._work = engine, work
        self._content = work.content()
        self._digest = hashlib.sha256(self._content).hexdigest()
        self._left = sum(unit.size for unit in units)
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)
        self._waiting: deque[_Run[U, R]] = deque()
        self._forgotten = 0

    def over(self, parts: Iterator[Part[U, R]], progress: Callable[[int], None]) -> Iterator[R]:
        """Yield results in order while further tasks are submitted."""
        runs = self._runs(parts)
        run: _Run[U, R] | None = None
        try:
            while True:
                while len(self._waiting) < self._window and (run := next(runs, None)):
                    self._waiting.append(run)
                    if run.result is None:
                        self._without_skipped(run)
                if not self._waiting:
                    return
                run = self._waiting.popleft()
                result = run.result
                if result is not None:
                    self._engine.reused += run.size
                elif (result := self._awaited(run)) is not None:
                    result = self._engine.merged(self._work, run.units, [result])
                progress(run.size)
                if result is not None:
                    yield result
        finally:
            for left in (run, *self._waiting):
                with suppress(Exception):  # not all futures can be cancelled
                    left.future.cancel()  # type: ignore[union-attr]

    @property
    def _workers(self) -> int:
        return self._engine.workers or _DEFAULT_WORKERS

    @property
    def _window(self) -> int:
        """The number of tasks that may wait: enough to keep workers busy, with little memory for results."""
        return max(8, 4 * self._workers) if self._recent else max(2, min(2 * self._workers, _FIRST))

    def _runs(self, parts: Iterator[Part[U, R]]) -> Iterator[_Run[U, R]]:
        for part in parts:
            if part.result is not None:
                self._left -= part.size
                yield _Run(part.units, part.size, None, part.result)
                continue
            begin = 0
            while begin < len(part.units):
                end, size, most = begin, 0, self._size()
                while end < len(part.units) and end - begin < MOST_UNITS:
                    unit = part.units[end]
                    if end > begin and size >= (most * _LONGER if unit.continues else most):
                        break
                    size += unit.size
                    end += 1
                self._left -= size
                yield _Run(part.units[begin:end], size)
                begin = end

    def _size(self) -> float:
        """The number of events of the next task: those that take the nominal time, and fewer at the end, so
        that all workers end almost together."""
        seconds = sum(seconds for _, seconds in self._recent)
        if not seconds:
            return 0.0
        size_of_task = self._engine.task_seconds * sum(size for size, _ in self._recent) / seconds
        return min(size_of_task, max(self._left / (2 * self._workers), _SHORTEST * size_of_task))

    def _submit(self, run: _Run[U, R], with_content: bool = False) -> None:
        engine = self._engine
        engine.tasks += 1
        run.with_content = with_content or not self._recent or self._forgotten >= _FORGOTTEN
        content = self._content if run.with_content else None
        task = Task(this_program(), self._digest, content, run.units, engine.tasks)
        try:
            run.future = engine.executor.submit(perform, task)
        except TrigemuError:
            raise
        except BrokenExecutor as error:  # since the last task
            raise _broken(error) from error
        except Exception as error:  # executors have errors of their own
            raise TrigemuError(
                f"the executor accepts no tasks ({_short(error)}): is it shut down, or were its workers lost?"
            ) from error

    def _awaited(self, run: _Run[U, R]) -> R | None:
        """Return the result of a run; None if its units were submitted separately instead, or left out."""
        while run.units:
            outcome = self._outcome(run)
            error = outcome.error
            if error is None and outcome.known:
                self._forgotten = self._forgotten if run.with_content else 0
                self._recent.append((sum(unit.size for unit in run.units), outcome.seconds))
                result: R = outcome.result
                return result
            if error is None:
                self._forgotten += 1
                self._submit(run, with_content=True)
                continue
            run.failures += 1
            if outcome.unit is None and len(run.units) > 1:  # to find the unit that kills workers
                self._engine.retried += 1
                self._divide(run)
                return None
            unit = run.units[outcome.unit or 0]
            if self._work.skips(unit) or self._engine.gives_up(
                self._work, unit, error, outcome.host, run.failures
            ):
                run.failures = 0
                self._without_skipped(run)
            else:
                self._submit(run)
        return None

    def _without_skipped(self, run: _Run[U, R]) -> None:
        """Submit the units of a run again, except those that are left out."""
        run.units = [unit for unit in run.units if not self._work.skips(unit)]
        if run.units:
            self._submit(run)

    def _divide(self, run: _Run[U, R]) -> None:
        singles = [_Run[U, R]([unit], unit.size) for unit in run.units]
        run.size -= sum(single.size for single in singles)
        self._waiting.extendleft(reversed(singles))
        for single in singles:
            self._submit(single)

    def _outcome(self, run: _Run[U, R]) -> Outcome:
        try:
            outcome = run.future.result()
            if not isinstance(outcome, Outcome):  # some engines return the error
                raise TypeError(f"its result is {outcome!r:.100}")
        except BrokenExecutor as error:
            raise _broken(error) from error
        except (ImportError, AttributeError) as error:
            raise TrigemuError(
                f"a worker cannot load trigemu ({_short(error)}): install trigemu "
                f"{this_program().version} there too"
            ) from error
        except WorkerLostError as error:
            return Outcome("", error=error)
        except TrigemuError:
            raise
        except Exception as error:  # of the executor: a worker or its connection was lost
            return Outcome("", error=WorkerLostError(f"a worker was lost ({_short(error)})"))
        if isinstance(outcome.error, RefusedError):
            raise outcome.error
        return outcome


def _broken(error: BrokenExecutor) -> TrigemuError:
    return TrigemuError(
        f"the executor lost a worker and cannot continue ({_short(error)}): with a checkpoint, the same "
        f"command does only what is missing; --engine local and dask replace lost workers"
    )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


#: Large enough that the cost of starting a chunk is negligible, small enough for the caches of a processor;
#: memory does not grow with the sample.
CHUNK_EVENTS = 131_072
#: Seconds that a task should take: long compared to the milliseconds of submitting it, short to be repeated.
TASK_SECONDS = 4.0
#: Longest time before another attempt, in seconds; the time doubles with each attempt.
LONGEST_PAUSE = 60.0
#: Seconds after which the number of workers is updated.
_VALID_S = 2.0


def _ignore(steps: int) -> None:
    return


@dataclass
class Engine:
    """How work is run: where, in which pieces, and what happens after a failure.

    Attributes
    ----------
    executor : Executor, distributed.Client or None
        Runs the tasks; None: this process.
    retries : int
        How often a task is repeated if another attempt may succeed: if a file cannot be read, or a worker is
        lost.
    checkpoint : Checkpoint or None
        Stores the results of finished tasks for later runs.
    chunk_events : int
        The largest number of events that are processed at a time.
    task_seconds : float
        How long a task should take.
    warn : callable
        Called with a message for the user.
    tasks, retried, skipped, reused : int
        The number of submitted tasks, of repeated tasks, of parts of files that were left out, and of events
        whose results came from the checkpoint.

    Raises
    ------
    TrigemuError
        If the executor is not an executor.
    """

    executor: Any = None
    _: KW_ONLY
    retries: int = 3
    checkpoint: Checkpoint | None = None
    chunk_events: int = CHUNK_EVENTS
    task_seconds: float = TASK_SECONDS
    warn: Callable[[str], None] = warnings.warn
    tasks: int = 0
    retried: int = 0
    skipped: int = 0
    reused: int = 0
    _workers: tuple[float, int | None] = field(default=(-_VALID_S, None), repr=False)

    def __post_init__(self) -> None:
        executor = self.executor
        if type(executor).__module__.partition(".")[0] == "distributed" and hasattr(executor, "nthreads"):
            from trigemu.base.dask import DaskExecutor

            self.executor = DaskExecutor(executor)
        elif executor is not None and not isinstance(executor, Executor):
            raise TrigemuError(
                f"executor = {executor!r:.100}: expected an object with the method submit, such as a "
                f"concurrent.futures.ProcessPoolExecutor, or a client of dask.distributed"
            )

    @property
    def workers(self) -> int | None:
        """The present number of workers; None if the executor does not report it."""
        if self.executor is None:
            return 1
        when, number = self._workers
        if time.monotonic() - when > _VALID_S:
            try:
                names = ("number", "_max_workers", "num_workers")
                reported = next(
                    (n for name in names if (n := getattr(self.executor, name, None)) is not None), None
                )
            except Exception:  # a cluster that does not answer at the moment
                reported = number
            number = reported if isinstance(reported, int) else None
            self._workers = time.monotonic(), number
        return number

    def over(
        self, work: Work[U, R], units: Sequence[U], progress: Callable[[int], None] | None = None
    ) -> Iterator[R]:
        """Run a work on units, and yield its results.

        Parameters
        ----------
        work : Work
            Processes units, and merges results.
        units : sequence of Unit
            The parts of the work, such as chunks of files.
        progress : callable, optional
            Called with the number of events done since the last call.

        Yields
        ------
        object
            Results of consecutive units, in their order, which together cover all units.

        Raises
        ------
        TrigemuError
            If a unit fails and is not left out.
        """
        parts = self._parts(work, units)
        if self.executor is None:
            return self._in_process(work, parts, progress or _ignore)
        return Submitted(self, work, units).over(parts, progress or _ignore)

    def _parts(self, work: Work[U, R], units: Sequence[U]) -> Iterator[Part[U, R]]:
        if self.checkpoint is None:
            return iter([Part(units)])
        return self.checkpoint.divided(work, units, self.warn)

    def _in_process(
        self, work: Work[U, R], parts: Iterator[Part[U, R]], progress: Callable[[int], None]
    ) -> Iterator[R]:
        for part in parts:
            if part.result is not None:
                self.reused += part.size
                progress(part.size)
                yield part.result
                continue
            done: list[U] = []
            results: list[R] = []
            start, left = time.perf_counter(), part.size
            for unit, result in self._each(work, part.units):
                done.append(unit)
                results.append(result)
                if self.checkpoint is None or time.perf_counter() - start > self.task_seconds:
                    yield self.merged(work, done, results)
                    done, results, start = [], [], time.perf_counter()
                progress(unit.size)
                left -= unit.size
            if done:
                yield self.merged(work, done, results)
            progress(left)  # the units that were left out

    def _each(self, work: Work[U, R], units: Sequence[U]) -> Iterator[tuple[U, R]]:
        """Yield each unit with its result, after one or more attempts."""
        left, failures = deque(units), 0
        while left:
            try:
                for result in work.each(tuple(left)):
                    failures = 0
                    yield left.popleft(), result
            except Exception as error:
                failures += 1
                if self.gives_up(work, left[0], error, "", failures):
                    left, failures = deque(unit for unit in left if not work.skips(unit)), 0

    def gives_up(self, work: Work[U, R], unit: U, error: Exception, host: str, failures: int) -> bool:
        """Wait before another attempt at a unit, or leave it out.

        Parameters
        ----------
        work : Work
            The work.
        unit : Unit
            The unit that failed.
        error : Exception
            The error.
        host : str
            The machine and process where it failed; empty for this process.
        failures : int
            How often it failed.

        Returns
        -------
        bool
            False if another attempt may succeed; True if the unit is left out.

        Raises
        ------
        TrigemuError
            The error of the unit, if it may neither be repeated nor left out.
        """
        if isinstance(error, RetryableError) and failures <= self.retries:
            self.retried += 1
            time.sleep(min(unit.pause * 2 ** (failures - 1), LONGEST_PAUSE))
            return False
        work.give_up(unit, error, host, failures)
        self.skipped += 1
        return True

    def merged(self, work: Work[U, R], units: Sequence[U], results: Sequence[R]) -> R:
        """Merge the results of units, and store the result in the checkpoint, if there is one.

        Parameters
        ----------
        work : Work
            The work.
        units : sequence of Unit
            Consecutive units.
        results : sequence
            The result of each.

        Returns
        -------
        object
            The merged result.
        """
        result = work.merge(results) if len(results) > 1 else results[0]
        if self.checkpoint:
            keys = tuple(unit.key for unit in units)
            size = sum(unit.size for unit in units)
            self.checkpoint.keep(Head(work.key, keys, work.about, size, this_program().version), result)
        return result


def engine_of(executor: Any) -> Engine:
    """Return an engine unchanged; for an executor, an engine with default settings."""
    return executor if isinstance(executor, Engine) else Engine(executor)
