"""Worker processes on this machine, and clusters of dask.distributed.

Those of this machine never outlive the program. A cluster is trusted: its workers run code that this program
sends, and this program loads their results.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, TypeVar

from trigemu.base.errors import RetryableError, TrigemuError, module_of_extra
from trigemu.base.files import read_bounded

R = TypeVar("R")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerLostError(RetryableError):
    """A worker ended before it answered."""


class WorkerPool:
    """An executor of some number of processes on this machine, each of which starts when it is first needed.
    A thread waits for each, so that a process that is lost costs its task alone."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._threads = ThreadPoolExecutor(number)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: list[subprocess.Popen[bytes]] = []
        self._starting, self._era = threading.Lock(), 0  # It changes when all processes are ended

    def submit(self, function: Callable[..., R], /, *arguments: Any) -> Future[R]:
        """Call a `function`, which other processes can import, with `arguments` in the next free process. The
        future raises WorkerLostError if that ends."""
        return self._threads.submit(self._call, self._era, function, arguments)

    def _call(self, era: int, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        content = pickle.dumps((function, arguments))
        with self._starting:
            if era != self._era:
                raise WorkerLostError("the worker processes were ended")
            process = self._idle.pop() if self._idle else self._start()
        assert process.stdin
        assert process.stdout
        try:
            pickle.dump(content, process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            _end(process)
            with suppress(ValueError):  # all were ended
                self._processes.remove(process)
            code = process.returncode
            how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
            reason = "perhaps because memory ran out: try fewer --workers"
            raise WorkerLostError(f"a worker process {how}, {reason}") from None
        self._idle.append(process)
        result, error = pickle.loads(answer)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a process. It imports neither the user's script nor modules of the current folder, and no
        signal of the terminal reaches it."""
        path = [str(folder) for folder in sys.path if folder]
        code = f"import sys; sys.path[:] = {path}; from {__name__} import work; work()"
        command, pipe = [sys.executable, "-P", "-c", code], subprocess.PIPE
        try:
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        except OSError as error:
            reason = f"{error.strerror}: try fewer --workers"
            raise TrigemuError(f"cannot start a worker process: {reason}") from None
        self._processes.append(process)
        return process

    def restart(self) -> None:
        """End all processes, and those that they started; new ones start when they are needed."""
        with self._starting:
            self._era += 1
            processes, self._processes, self._idle = self._processes, [], []
        for process in processes:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            _end(process)

    def close(self) -> None:
        """End all processes for good."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.restart()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and close its pipes."""
    with suppress(OSError), process:
        pass


def worker_pool(number: int) -> AbstractContextManager[WorkerPool]:
    """Start processes on this machine, which end when the block ends.

    Parameters
    ----------
    number : int
        The number of processes; each starts when it is first needed.

    Returns
    -------
    context manager of WorkerPool
        An executor.
    """
    return closing(WorkerPool(number))


#: Those of this program, by their number.
own_pools: dict[int, WorkerPool] = {}


@atexit.register
def end_own_pools() -> None:
    """End the processes of this program; new ones start when they are needed."""
    while own_pools:
        own_pools.popitem()[1].close()


def work() -> None:
    """Be a worker: do what comes by stdin, and end with its parent, as do the compilers that it starts."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries has no place among the answers
    tasks = SimpleQueue[bytes]()

    def read() -> None:
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                tasks.put(pickle.load(sys.stdin.buffer))
        if hasattr(os, "killpg"):  # the parent has ended
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            function, arguments = pickle.loads(tasks.get())
            answer = pickle.dumps((function(*arguments), None))
        except Exception as error:
            answer = pickle.dumps((None, transferable(error)))
        with suppress(OSError):
            pickle.dump(answer, answers)
            answers.flush()


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


# ---- clusters of dask

#: Seconds to wait for the answer of a scheduler, and between checks that it is still there.
_CONNECT_S, _CHECK_S = 15.0, 2.0


class DaskExecutor:
    """A client of dask.distributed as an executor."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False)

    @property
    def number(self) -> int:
        """The number of threads of all workers, each of which performs one task at a time."""
        return sum(self._client.nthreads().values())

    def submit(self, function: Callable[..., R], /, *arguments: Any) -> Any:
        """Return a future that does not wait forever if the scheduler is lost."""
        future = self._executor.submit(function, *arguments)
        return SimpleNamespace(result=lambda: self._result(future), cancel=future.cancel)

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=_CHECK_S)
            except TimeoutError:
                if self._client.status in ("closing", "closed"):
                    reason = "with a checkpoint, the same command does only what is missing"
                    raise TrigemuError(f"the scheduler of dask was lost: {reason}") from None


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """Yield a client of the cluster at an address, or at that in a file of its scheduler."""
    import asyncio  # which takes long

    distributed = module_of_extra("distributed", "--engine dask", "dask", "distributed")
    where = address
    if "://" not in address:
        try:
            where = str(json.loads(read_bounded(Path(address)))["address"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or "it has another content"
            raise TrigemuError(
                f"--engine dask: cannot read {address} ({reason}): expected an address such as "
                f"tcp://host:8786, or the file that dask scheduler --scheduler-file writes"
            ) from None

    async def greet() -> None:
        """Raise an error if there is no scheduler: a client would wait forever for a silent server, and
        leaves threads behind when it fails."""
        options = distributed.Security().get_connection_args("client")
        async with asyncio.timeout(_CONNECT_S), distributed.rpc(where, connection_args=options) as scheduler:
            await scheduler.identity()

    try:
        asyncio.run(greet())
        client = distributed.Client(where, timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # of the system, or of dask; any server may answer
        text = " ".join(str(error).split())[:200] or type(error).__name__
        remedy = "is it running, with the same version of dask, and reachable from this machine?"
        raise TrigemuError(f"--engine dask: no scheduler answers at {where} ({text}): {remedy}") from None
    with client:
        yield client
