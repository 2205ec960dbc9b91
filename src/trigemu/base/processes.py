"""Worker processes on this machine, and clusters of dask.distributed.

Those of this machine never outlive the program. They are copies of a process that has imported what they need
and nothing else, or new processes, where the system does not copy well. They are no copies of this one: model
sessions do not survive that. A cluster is trusted: its workers run code that this program sends, and this
program loads their results.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from trigemu.base.errors import MissingExtraError, RetryableError, TrigemuError
from trigemu.base.files import read_bounded
from trigemu.base.interruption import undone

R = TypeVar("R")
#: Signals that the parent handles for its workers, which it kills.
_OF_PARENT = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
_TRACKER = "ignore:resource_tracker"
#: How workers start, and what the process that they are copies of imports.
_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
_IMPORTED = ["trigemu.emulation.loop", "uproot"]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerLostError(RetryableError):
    """A worker ended before it answered."""


class WorkerPool:
    """An executor of some number of processes on this machine; each starts when it is first needed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._pool: ProcessPoolExecutor | None = None
        self._processes: MutableMapping[int, Any] = {}
        self._closed = self._suspected = False
        self._signals = ExitStack()
        self._signals.enter_context(undone(self.kill))

    @property
    def started(self) -> bool:
        """Whether it has processes."""
        return self._pool is not None

    def submit(self, function: Callable[..., R], /, *arguments: Any) -> Future[R]:
        """Call a `function`, which other processes can import, with `arguments` in the next free process."""
        if self._closed:
            raise RuntimeError("cannot call a function after shutdown")
        try:
            with _starting():
                if self._pool is None:
                    context = multiprocessing.get_context(_METHOD)
                    context.set_forkserver_preload(_IMPORTED)
                    given = (Path.cwd(), dict(os.environ))
                    self._pool = ProcessPoolExecutor(self.number, context, _begin, given)
                    self._processes = self._pool._processes
                return self._pool.submit(function, *arguments)
        except OSError as error:
            reason = f"{error.strerror}: try fewer --workers"
            raise TrigemuError(f"cannot start a worker process: {reason}") from None

    def check(self) -> None:
        """Raise BrokenExecutor if a process is gone and the pool does not notice it."""
        # The status of a process can be read once: the thread of the pool does it.
        gone = bool(wait([process.sentinel for process in [*self._processes.values()]], 0))
        if gone and self._suspected:
            raise BrokenExecutor
        self._suspected = gone

    def lost(self) -> WorkerLostError:
        """Return the error of a process that ended by itself."""
        if thread := getattr(self._pool, "_executor_manager_thread", None):
            thread.join(timeout=1.0)  # it ends the others, and reads how each ended, which works once
        codes = [process.exitcode for process in [*self._processes.values()]]
        code = (
            next((code for code in codes if code not in (None, 0, -signal.SIGTERM)), None) or -signal.SIGTERM
        )
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return WorkerLostError(f"a worker process {how}, perhaps because memory ran out: try fewer --workers")

    def restart(self) -> None:
        """End all processes; new ones start when they are needed."""
        pool, self._pool, self._suspected = self._pool, None, False
        if pool:
            self.kill()
            pool.shutdown(wait=False, cancel_futures=True)
            with suppress(Exception):  # else the pool might wait for the rest of a result
                pool._result_queue._writer.close()  # type: ignore[attr-defined]
            for process in [*self._processes.values()]:
                process.join()

    def kill(self) -> None:
        """Kill all processes, and those that they started."""
        for pid in [*self._processes]:
            for end in (getattr(os, "killpg", os.kill), os.kill):
                with suppress(OSError):
                    end(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def close(self) -> None:
        """End all processes for good."""
        self._closed = True
        self.restart()
        self._signals.close()


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
        An executor.
    """
    pool = WorkerPool(number)
    try:
        yield pool
    finally:
        pool.close()


@cache
def own_pool(number: int) -> WorkerPool:
    """Return the processes of this program, which end with it."""
    return WorkerPool(number)


@contextmanager
def _starting() -> Iterator[None]:
    """Start processes that do not import the user's script or modules of the current folder, and that no
    signal of the terminal reaches."""
    main, safe = sys.modules["__main__"], os.environ.get("PYTHONSAFEPATH")
    mask = getattr(signal, "pthread_sigmask", lambda how, signals: None)
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.warnoptions.append(_TRACKER)  # which would report what a killed program leaves to it
    before = mask(getattr(signal, "SIG_BLOCK", 0), _OF_PARENT)
    try:
        resource_tracker.ensure_running()
        yield
    finally:
        mask(getattr(signal, "SIG_SETMASK", 0), before)
        sys.warnoptions.remove(_TRACKER)
        sys.modules["__main__"] = main
        os.environ.pop("PYTHONSAFEPATH")
        if safe is not None:
            os.environ["PYTHONSAFEPATH"] = safe


def _begin(folder: Path, environment: Mapping[str, str]) -> None:
    """Prepare a worker: it has the folder and the environment of its parent, and ends with it, as do the
    compilers it starts."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(2, 1)  # output of libraries must not come between results
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


# ---- clusters of dask

#: Seconds to wait for the answer of a scheduler.
_CONNECT_S = 15.0
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:\d{1,5}")
_LOCAL = "127.0.0.1"


class DaskExecutor:
    """A client of dask.distributed as an executor."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False)

    @property
    def number(self) -> int:
        """The number of threads of all workers, each of which performs one task at a time."""
        return sum(self._client.nthreads().values())

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        return self._executor.submit(function, *arguments)

    def check(self) -> None:
        """Raise TrigemuError if the scheduler is lost: its futures would wait forever."""
        if self._client.status in ("closing", "closed"):
            raise TrigemuError(
                "the scheduler of dask was lost: with a checkpoint, the same command does only what is "
                "missing"
            )


@contextmanager
def dask_client(address: str | None, workers: int) -> Iterator[Any]:
    """Yield a client of a cluster."""
    try:
        import cryptography  # noqa: F401  # for the certificate of a local cluster
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("--engine dask", "dask", str(error.name)) from None
    with _local(workers) if address is None else _connected(_located(address)) as client:
        yield client


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    import distributed
    from dask import config

    with ExitStack() as stack:
        stack.callback(sys.warnoptions.remove, _TRACKER)
        sys.warnoptions.append(_TRACKER)
        # Results report the failures of workers; at the end, their logs would only report a lost scheduler.
        stack.enter_context(
            config.set({"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"})
        )
        try:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host=_LOCAL,
                security=True,  # a certificate of its own: whoever reaches a scheduler can run code
                silence_logs=logging.CRITICAL,  # the engine reports the errors that matter
                dashboard_address=f"{_LOCAL}:0",
                scheduler_kwargs={"dashboard": False},
            )
            stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        except Exception as error:  # of the system, or of dask
            reason = f"no cluster starts on this machine ({_short(error)})"
            raise TrigemuError(f"--engine dask: {reason}") from None
        yield client


@contextmanager
def _connected(where: str) -> Iterator[Any]:
    import asyncio

    import distributed

    async def greet() -> None:
        """Raise an error if there is no scheduler: a client would wait forever for a silent server, and
        leaves threads behind when it fails."""
        options = distributed.Security().get_connection_args("client")
        async with asyncio.timeout(_CONNECT_S), distributed.rpc(where, connection_args=options) as scheduler:
            await scheduler.identity()

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may be in a loop of its own, as in a notebook
            thread.submit(asyncio.run, greet()).result()
        client = distributed.Client(where, timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # any server may answer
        raise TrigemuError(
            f"--engine dask: no scheduler answers at {where} ({_short(error)}): is it running, with the same "
            f"version of dask, and reachable from this machine?"
        ) from None
    with client:
        yield client


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _located(address: str) -> str:
    """Return an address, or the one in a file that `dask scheduler --scheduler-file` writes."""
    if _ADDRESS.fullmatch(address):
        return address
    if "://" in address:
        raise TrigemuError(f"--engine dask: {address} is no address of a scheduler, such as tcp://host:8786")
    try:
        found = str(json.loads(read_bounded(Path(address)))["address"])
    except OSError as error:
        raise TrigemuError(
            f"--engine dask: cannot read {address}: {error.strerror}: expected an address such as "
            f"tcp://host:8786, or the file that dask scheduler --scheduler-file writes"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = ""
    if not _ADDRESS.fullmatch(found):
        raise TrigemuError(f"--engine dask: {address} is not what dask scheduler --scheduler-file writes")
    return found
