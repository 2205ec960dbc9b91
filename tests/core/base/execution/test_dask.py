"""Clusters of dask: one that is started here, and one that is there or not."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_toys import thread_cluster
from work_toys import Recital, items, numbers

from trigemu.base import processes
from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.mapping import Engine, map_chunks
from trigemu.base.processes import dask_client

distributed = pytest.importorskip("distributed")


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"--engine dask needs .*'distributed'.*trigemu\[dask\]"):
        dask_client("tcp://127.0.0.1:9").__enter__()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with thread_cluster(1, 2) as started:
        yield started


@pytest.mark.parametrize("as_file", [False, True])
def test_a_cluster_that_is_there_is_used_and_left_running(
    cluster: Any, tmp_path: Path, as_file: bool
) -> None:
    where = cluster.scheduler_address
    if as_file:
        (tmp_path / "scheduler.json").write_text(json.dumps({"type": "Scheduler", "address": where}))
        where = str(tmp_path / "scheduler.json")
    for _ in range(2):
        with dask_client(where) as client:
            engine = Engine(client)
            assert engine.number == 2
            assert numbers(map_chunks(Recital(str(tmp_path)), items(20), engine)) == list(range(20))
            with pytest.raises(ValueError, match="No global client"):
                distributed.get_client()
    with pytest.raises(KeyError, match="mine"), dask_client(where):  # no error of the cluster
        raise KeyError("mine")


class Lost:
    """A client whose scheduler is lost: its futures have no result, and no end."""

    status = "running"

    def __init__(self) -> None:
        self.asked: list[float] = []

    def get_executor(self, pure: bool) -> Any:
        return self

    def submit(self, *arguments: object) -> Any:
        return self

    def result(self, timeout: float) -> None:
        self.asked.append(timeout)
        if len(self.asked) == 3:
            self.status = "closed"
        raise TimeoutError

    def cancel(self) -> None: ...


def test_a_scheduler_that_is_lost_is_told(tmp_path: Path) -> None:
    """Also where files are opened, which submits calls of its own."""
    for wait in (
        lambda executor: numbers(map_chunks(Recital(str(tmp_path)), items(5), executor)),
        lambda executor: executor.submit(len, b"").result(),
    ):
        client = Lost()
        with pytest.raises(TrigemuError, match=r"^the scheduler of dask was lost: with a checkpoint"):
            wait(processes.DaskExecutor(client))
        assert len(client.asked) == 3


def refused(where: str, match: str) -> None:
    start = time.monotonic()
    with pytest.raises(TrigemuError, match=match) as error, dask_client(where):
        pass
    assert time.monotonic() - start < 3
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("--engine dask: ")
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("scheme", "says"),
    [("tcp", None), ("tls", None), ("tcp", b""), ("tcp", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)],
    ids=["nobody", "nobody, safely", "silent", "another server"],
)
def test_what_is_no_scheduler_is_told_in_time(
    scheme: str, says: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """says: what there is; None: nothing."""
    monkeypatch.setattr(processes, "_CONNECT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        if says is None:
            server.close()
        else:
            threading.Thread(target=answer, args=(server, says), daemon=True).start()
        refused(address, rf"no scheduler answers at {address} \(.+\): is it running")
        if says is not None:
            server.shutdown(socket.SHUT_RDWR)


def answer(server: socket.socket, says: bytes) -> None:
    kept = []
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            break
        kept.append(connection)
        if says:
            connection.sendall(says)
            connection.shutdown(socket.SHUT_WR)
    for connection in kept:
        connection.close()


def test_what_is_not_of_a_scheduler_is_told(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    for content in ("no JSON", "[]", "{}", "[" * 100_000, "\xff"):
        file.write_bytes(content.encode("latin-1"))
        refused(
            str(file), r"cannot read .*\(it has another content\): .* dask scheduler --scheduler-file writes"
        )
    refused("http://x:1", "no scheduler answers at http://x:1")
    refused(str(tmp_path / "none"), r"cannot read .*none \(No such file .*expected an address such as tcp://")
    refused(str(tmp_path), "cannot read .*Is a directory")
