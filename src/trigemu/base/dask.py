"""Clusters of dask.distributed: processes on this machine, or a cluster that is already running.

A cluster is trusted: its workers run code that this program sends, and this program loads their results.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import read_bounded

#: Seconds to wait for the answer of a scheduler.
_CONNECT_S = 15.0
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:\d{1,5}")
_LOCAL = "127.0.0.1"
#: The setting of dask for the environment of workers.
_OF_WORKERS = "distributed.nanny.pre-spawn-environ"
_TRACKER = "ignore:resource_tracker"


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
        # If a signal ends the program, a process of multiprocessing removes its semaphores and warns about
        # it.
        stack.callback(sys.warnoptions.remove, _TRACKER)
        sys.warnoptions.append(_TRACKER)
        # Results report the failures of workers; at the end, their logs would only report a lost scheduler.
        stack.enter_context(config.set({f"{_OF_WORKERS}.DASK_LOGGING__DISTRIBUTED": "critical"}))
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
    import distributed

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may be in a loop of its own, as in a notebook
            thread.submit(asyncio.run, _greeted(where)).result()
        client = distributed.Client(where, timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # any server may answer
        raise TrigemuError(
            f"--engine dask: no scheduler answers at {where} ({_short(error)}): is it running, with the same "
            f"version of dask, and reachable from this machine?"
        ) from None
    with client:
        yield client


async def _greeted(where: str) -> None:
    """Raise an error if there is no scheduler: a client would wait forever for a silent server, and leaves
    threads behind when it fails."""
    import distributed

    arguments = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(_CONNECT_S), distributed.rpc(where, connection_args=arguments) as scheduler:
        await scheduler.identity()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _located(address: str) -> str:
    """Return an address, or the one in a file that `dask scheduler --scheduler-file` writes."""
    if not _ADDRESS.fullmatch(address) and "://" in address:
        raise TrigemuError(f"--engine dask: {address} is no address of a scheduler, such as tcp://host:8786")
    if _ADDRESS.fullmatch(address):
        return address
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
