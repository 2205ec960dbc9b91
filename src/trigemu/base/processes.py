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
import pickle
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from trigemu.base.errors import MissingExtraError, RetryableError, TrigemuError
from trigemu.base.files import read_bounded
from trigemu.base.interruption import undone

R = TypeVar("R")
#: Signals that the parent handles for its workers, which it kills.
_OF_PARENT = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
#: How workers start, and what the process that they are copies of imports.
_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
_IMPORTED = ["trigemu.emulation.loop", "uproot"]


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
        self._processes: list[BaseProcess] = []
        self._idle: list[tuple[BaseProcess, Connection]] = []
        self._starting, self._era = threading.Lock(), 0  # It changes when all processes are ended
        self._signals = ExitStack()
        self._signals.enter_context(undone(self._kill))

    @property
    def started(self) -> bool:
        """Whether it has processes."""
        return bool(self._processes)

    def submit(self, function: Callable[..., R], /, *arguments: Any) -> Future[R]:
        """Call a `function`, which other processes can import, with `arguments` in the next free process. The
        future raises WorkerLostError if that ends."""
        return self._threads.submit(self._call, self._era, function, arguments)

    def _call(self, era: int, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        content = pickle.dumps((function, arguments))
        process, connection = worker = self._worker(era)
        try:
            connection.send_bytes(content)
            answer = connection.recv_bytes()
        except (EOFError, OSError):
            raise self._lost(process) from None
        self._idle.append(worker)
        result, error = pickle.loads(answer)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _worker(self, era: int) -> tuple[BaseProcess, Connection]:
        with self._starting:
            if era != self._era:
                raise WorkerLostError("the worker processes were ended")
            if self._idle:
                return self._idle.pop()
            context: Any = multiprocessing.get_context(_METHOD)
            context.set_forkserver_preload(_IMPORTED)
            here, there = context.Pipe()
            given = (there, Path.cwd(), dict(os.environ))
            process = context.Process(target=_work, args=given, daemon=True)
            try:
                with _apart():
                    process.start()
            except OSError as error:
                reason = f"{error.strerror}: try fewer --workers"
                raise TrigemuError(f"cannot start a worker process: {reason}") from None
            there.close()
            self._processes.append(process)
            return process, here

    def _lost(self, process: BaseProcess) -> WorkerLostError:
        process.join()
        with suppress(ValueError):  # all were ended
            self._processes.remove(process)
        code = process.exitcode or 0
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return WorkerLostError(f"a worker process {how}, perhaps because memory ran out: try fewer --workers")

    def restart(self) -> None:
        """End all processes; new ones start when they are needed."""
        with self._starting:
            self._era += 1
            self._kill()
            processes, self._processes, self._idle = self._processes, [], []
        for process in processes:
            process.join()

    def _kill(self) -> None:
        """Kill all processes, and those that they started."""
        for pid in [process.pid for process in [*self._processes] if process.pid]:
            for end in (getattr(os, "killpg", os.kill), os.kill):
                with suppress(OSError):
                    end(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def close(self) -> None:
        """End all processes for good."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.restart()
        self._signals.close()


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


@cache
def own_pool(number: int) -> WorkerPool:
    """Return the processes of this program, which end with it."""
    return WorkerPool(number)


@contextmanager
def _apart() -> Iterator[None]:
    """Start processes that do not import the user's script or modules of the current folder, and that no
    signal of the terminal reaches."""
    main, safe = sys.modules["__main__"], os.environ.get("PYTHONSAFEPATH")
    mask = getattr(signal, "pthread_sigmask", lambda how, signals: None)
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ["PYTHONSAFEPATH"] = "1"
    before = mask(getattr(signal, "SIG_BLOCK", 0), _OF_PARENT)
    try:
        yield
    finally:
        mask(getattr(signal, "SIG_SETMASK", 0), before)
        sys.modules["__main__"] = main
        os.environ.pop("PYTHONSAFEPATH")
        if safe is not None:
            os.environ["PYTHONSAFEPATH"] = safe


def _work(connection: Connection, folder: Path, environment: Mapping[str, str]) -> None:
    """Be a worker: it has the folder and the environment of its parent, and ends with it, as do the compilers
    it starts."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(2, 1)  # output of libraries has no place in that of the program
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            content = connection.recv_bytes()
        except (EOFError, OSError):  # the parent has ended
            return
        try:
            function, arguments = pickle.loads(content)
            answer = pickle.dumps((function(*arguments), None))
        except Exception as error:
            answer = pickle.dumps((None, transferable(error)))
        with suppress(OSError):
            connection.send_bytes(answer)


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
        self._client, self.submit = client, client.get_executor(pure=False).submit

    @property
    def number(self) -> int:
        """The number of threads of all workers, each of which performs one task at a time."""
        return sum(self._client.nthreads().values())

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
        # If a signal ends the program, a process of multiprocessing removes its semaphores and warns of it.
        stack.callback(sys.warnoptions.remove, "ignore:resource_tracker")
        sys.warnoptions.append("ignore:resource_tracker")
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
