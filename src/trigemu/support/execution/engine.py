"""Engines: they run work in tasks of seconds, in this process or on an executor, and recover from failures.

An executor is anything with the method `submit` of `concurrent.futures`, whose futures have `result`: a pool
of processes or threads, loky, parsl, MPI, TaskVine; or a client of dask.distributed.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from trigemu.support.errors import RetryableError, TrigemuError
from trigemu.support.execution.checkpoint import Checkpoint, Head, Part
from trigemu.support.execution.contracts import Executor, R, U, Work
from trigemu.support.execution.submitted import Submitted
from trigemu.support.execution.tasks import this_program

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
            from trigemu.support.execution.dask import DaskExecutor

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
        at, number = self._workers
        if time.monotonic() - at > _VALID_S:
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
