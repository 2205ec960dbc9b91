"""Clusters of dask: one that is started here, and one that is there or not."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_toys import thread_cluster
from work_toys import Recital, calls, items, numbers

from trigemu.base import processes
from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.mapping import Engine, map_chunks
from trigemu.base.processes import dask_client

distributed = pytest.importorskip("distributed")


def test_a_cluster_of_this_machine_works_outlives_a_worker_and_ends(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with dask_client(None, 2) as client:
        pids = [*client.run(os.getpid).values()]
        addresses = [client.scheduler.address, *client.nthreads()]
        open_to_all = addresses[0].replace("tls:", "tcp:")
        with pytest.raises(TrigemuError, match="no scheduler answers"), dask_client(open_to_all, 1):
            pass
        engine = Engine(client)
        assert engine.number == 2
        levels = client.run(logging.getLogger("distributed.worker").getEffectiveLevel)
        assert {*levels.values()} == {logging.CRITICAL}
        results = map_chunks(Recital(str(tmp_path), {60: "die once"}, seconds=0.002), items(150), engine)
        assert numbers(results) == list(range(150))
        assert calls(tmp_path, "unit-60") == 2
    assert len({*pids, os.getpid()}) == 3
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert capfd.readouterr() == ("", "")


def test_a_cluster_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**options: object) -> None:
        raise RuntimeError("Nanny failed\n to start.")

    monkeypatch.setattr("distributed.deploy.LocalCluster", fails)
    with (
        pytest.raises(TrigemuError, match=r"no cluster starts on this machine \(Nanny failed to start\.\)$"),
        dask_client(None, 2),
    ):
        pass


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"--engine dask needs .*'distributed'.*trigemu\[dask\]"):
        dask_client(None, 2).__enter__()


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
        with dask_client(where, 1) as client:
            engine = Engine(client)
            assert engine.number == 2
            assert numbers(map_chunks(Recital(str(tmp_path)), items(20), engine)) == list(range(20))
            with pytest.raises(ValueError, match="No global client"):
                distributed.get_client()
    with pytest.raises(KeyError, match="mine"), dask_client(where, 1):  # no error of the cluster
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
    with pytest.raises(TrigemuError, match=match) as error, dask_client(where, 1):
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
    address = '{"address": "tcp://127.0.0.1:1 tcp://127.0.0.1:2"}'
    for content in ("no JSON", "[]", "{}", '{"address": 3}', "[" * 100_000, "\xff", address):
        file.write_bytes(content.encode("latin-1"))
        refused(str(file), f"{file} is not what dask scheduler --scheduler-file writes")
    for where in ("inproc://1/2/3", "tcp://127.0.0.1", "http://x:1", "tcp://:x"):
        refused(where, f"{where} is no address of a scheduler, such as tcp://host:8786")
    refused(str(tmp_path / "none"), "cannot read .*none: No such file .*expected an address such as tcp://")
    refused(str(tmp_path), "cannot read .*: Is a directory")
