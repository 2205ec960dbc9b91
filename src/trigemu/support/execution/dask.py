"""Clusters of dask.distributed: one of processes on this machine, or one that is running already.

A cluster is trusted: its workers run what this program sends them, and this program loads what they return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trigemu.support.errors import MissingExtraError, TrigemuError
from trigemu.support.reading import read_bounded

#: Seconds after which a scheduler that does not answer is given up.
_CONNECT_S = 15.0
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+")
_LOCAL = "127.0.0.1"
#: Where dask finds the environment that workers are started with.
_OF_WORKERS = "distributed.nanny.pre-spawn-environ"


class DaskExecutor:
    """A client of dask.distributed as an executor."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def number(self) -> int:
        """The number of threads of all workers, each of which performs one task at a time."""
        return sum(self._client.nthreads().values())

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)


@contextmanager
def dask_client(address: str | None, workers: int) -> Iterator[Any]:
    """Yield a client of a cluster.

    Parameters
    ----------
    address : str or None
        The address of a scheduler, or the path of its file (`scheduler.json`); None: a cluster on this
        machine, which ends with the block.
    workers : int
        The number of its processes.

    Raises
    ------
    MissingExtraError
        If dask.distributed is not installed.
    TrigemuError
        If there is no scheduler.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("--engine dask", "dask", "distributed") from None
    if address is None:
        import dask

        # What goes wrong in a worker is said by its results; at the end, its log would only say that the
        # scheduler is gone.
        quiet = {f"{_OF_WORKERS}.DASK_LOGGING__DISTRIBUTED": "critical"}
        with (
            dask.config.set(quiet),
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host=_LOCAL,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": f"{_LOCAL}:0"},  # two clusters would want one port
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    where = address if _ADDRESS.fullmatch(address) else _address_in(Path(address))
    try:
        client = distributed.Client(where, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # also what dask raises after the time
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(
            f"--engine dask: no scheduler answers at {where} ({reason}): is it running, with the same "
            f"version of dask, and reachable from this machine?"
        ) from None
    with client:
        yield client


def _address_in(file: Path) -> str:
    """Return the address in a file that `dask scheduler --scheduler-file` writes."""
    try:
        found = json.loads(read_bounded(file))["address"]
    except OSError as error:
        raise TrigemuError(
            f"--engine dask: cannot read {file}: {error.strerror}: expected an address such as "
            f"tcp://host:8786, or the file that dask scheduler --scheduler-file writes"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str) or not _ADDRESS.fullmatch(found):
        raise TrigemuError(f"--engine dask: {file} is not what dask scheduler --scheduler-file writes")
    return found
