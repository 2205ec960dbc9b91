"""Worker processes that never outlive the program, and whose death is noticed at once.

Each has its own pipes, so a killed worker leaves no lock behind (pools of the standard library wait forever
for a worker that dies while it starts), and ends when its pipe is closed. Workers are new processes, not
copies of this one: model sessions and loaded libraries do not survive a fork.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from trigemu.base import worker
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.interruption import undone

R = TypeVar("R")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerLostError(RetryableError):
    """A worker ended before it answered."""


class WorkerPool:
    """Processes that call functions; `worker_pool` makes it.

    Parameters
    ----------
    number : int
        The number of processes.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._threads = ThreadPoolExecutor(number)
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        self._started: list[_Process] = []
        self._closed = False
        for _ in range(number):
            self._idle.put(None)  # started when first needed

    def submit(self, function: Callable[..., R], /, *arguments: Any) -> Future[R]:
        """Call a `function`, which other processes can import, with `arguments` in the next free worker.

        The future raises WorkerLostError if the worker dies; a new one replaces it.
        """
        return self._threads.submit(self._call, function, arguments)

    def _call(self, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        process = self._idle.get()
        try:
            if process is None:
                process = _Process()
                self._started.append(process)
                if self._closed:
                    process.kill()
            return cast(R, process.call((function, arguments)))
        except WorkerLostError:
            process = None
            raise
        finally:
            self._idle.put(process)

    def kill(self) -> None:
        """End all workers at once."""
        for process in self._started:
            process.kill()

    def close(self) -> None:
        """End all workers, and wait for their end."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.kill()
        self._threads.shutdown()
        for process in self._started:
            process.close()


@contextmanager
def worker_pool(number: int) -> Iterator[WorkerPool]:
    """Start processes on this machine, which end when the block ends.

    Parameters
    ----------
    number : int
        The number of processes; each starts when it is first needed.

    Returns
    -------
    context manager of WorkerPool
        An executor. A process that is lost is replaced.
    """
    pool = WorkerPool(number)
    with undone(pool.kill):
        try:
            yield pool
        finally:
            pool.close()


class _Process:
    """One worker."""

    def __init__(self) -> None:
        self._greeted = False
        command = [sys.executable, "-P", str(Path(worker.__file__))]
        # An interruption from the keyboard reaches only the parent, which ends this group with its compilers.
        group = 0 if os.name == "posix" else None
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
            )
        except OSError as error:
            reason = f"{error.strerror}: try fewer --workers"
            raise TrigemuError(f"cannot start a worker process: {reason}") from None

    def call(self, call: object) -> Any:
        """Return the result of a call, or raise its error."""
        request = pickle.dumps(call)
        assert self._process.stdin
        assert self._process.stdout
        answer = None
        with suppress(OSError):  # the pipe is closed: the worker is dead
            if not self._greeted:
                worker.send(self._process.stdin, pickle.dumps(sys.path))
                self._greeted = True
            worker.send(self._process.stdin, request)
            answer = worker.receive(self._process.stdout)
        if answer is None:
            self.close()
            raise WorkerLostError(self._dead())
        good, result = pickle.loads(answer)
        if not good:
            raise result
        return result

    def _dead(self) -> str:
        status = self._process.returncode
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"a worker process {how}, perhaps because memory ran out: try fewer --workers"

    def kill(self) -> None:
        """End the process and those that it started."""
        with suppress(OSError):
            if os.name != "posix":
                self._process.kill()
            elif self._process.returncode is None:  # else the number may be that of another process
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(OSError):  # unread data
                pipe.close()
