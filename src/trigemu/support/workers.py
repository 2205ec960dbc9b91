"""Worker processes: they never outlive the program, and one that dies is noticed at once.

Each has pipes of its own, so that no lock is left behind where one is killed (pools of the standard library
wait forever for a worker that dies while it starts), and ends when its pipe does. They are new processes, not
copies of this one: model sessions and loaded libraries do not survive a fork.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

from trigemu.support import worker
from trigemu.support.errors import TrigemuError
from trigemu.support.interruption import undone

T = TypeVar("T")
R = TypeVar("R")


class WorkerPool(Generic[T, R]):
    """Processes that make results from items. It is made by `worker_pool`."""

    def __init__(self, processes: list[_Process], threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        for process in processes:
            self._idle.put(process)

    def submit(self, item: T) -> Future[R]:
        """Hand over an item; the next worker that is free makes its result."""
        return self._threads.submit(self._perform, item)

    def map(self, items: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order of the items."""
        pending = deque(self.submit(item) for item in items)
        while pending:
            yield pending.popleft().result()

    def _perform(self, item: T) -> R:
        process = self._idle.get()
        try:
            return cast(R, process.ask(item))
        finally:
            self._idle.put(process)


@contextmanager
def worker_pool(
    number: int, prepare: Callable[..., Callable[[T], R]], *arguments: Any
) -> Iterator[WorkerPool[T, R]]:
    """Start workers, and end them when the block is left, whatever they do then.

    Each calls prepare(*arguments) once, which returns the function that makes results. Raises TrigemuError
    where a worker cannot be started or ends by itself.
    """
    content = pickle.dumps((prepare, arguments))
    processes: list[_Process] = []

    def end() -> None:
        for process in processes:
            process.kill()

    threads = ThreadPoolExecutor(number)
    with undone(end):
        try:
            for _ in range(number):
                processes.append(_Process(content))
            yield WorkerPool(processes, threads)
        finally:
            end()
            threads.shutdown(cancel_futures=True)
            for process in processes:
                process.close()


class _Process:
    """One worker. content: the pickle that prepares it."""

    def __init__(self, content: bytes) -> None:
        self._first: bytes | None = content
        command = [sys.executable, "-P", str(Path(worker.__file__))]
        # An interruption from the keyboard reaches the parent alone, which ends this group, with the
        # compilers in it.
        group = 0 if os.name == "posix" else None
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
            )
        except OSError as error:
            reason = f"{error.strerror}: try fewer --workers"
            raise TrigemuError(f"cannot start a worker process: {reason}") from None

    def ask(self, item: object) -> Any:
        """Return the result of an item, or raise the error of the worker."""
        request = pickle.dumps(item)
        assert self._process.stdin
        assert self._process.stdout
        answer = None
        with suppress(OSError):  # the pipe is closed: the worker is dead
            if self._first is not None:
                worker.send(self._process.stdin, pickle.dumps(sys.path))
                worker.send(self._process.stdin, self._first)
                self._first = None
            worker.send(self._process.stdin, request)
            answer = worker.receive(self._process.stdout)
        if answer is None:
            self.close()
            raise TrigemuError(self._dead())
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
            with suppress(OSError):  # an item that was not read any more
                pipe.close()
