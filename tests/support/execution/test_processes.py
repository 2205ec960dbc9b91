"""Worker processes: their results, their errors, and their end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worker_toys import adder, teller

from trigemu.support import TrigemuError, worker_pool


def gone(pid: int) -> bool:
    """Whether a process ended; a zombie that nobody has asked for did."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def await_all_gone(folder: Path, number: int) -> None:
    for _ in range(100):
        pids = [int(file.name) for file in folder.iterdir()]
        if len(pids) >= number and all(map(gone, pids)):
            return
        time.sleep(0.05)
    pytest.fail(f"of {pids}, not all ended")


@pytest.mark.parametrize("number", [1, 2])
def test_results_come_in_order(number: int) -> None:
    with worker_pool(number, adder, 10) as pool:
        assert list(pool.map(range(20))) == list(range(10, 30))


def test_errors_of_a_worker_arrive_and_it_works_on(tmp_path: Path) -> None:
    with worker_pool(1, teller, str(tmp_path)) as pool:
        with pytest.raises(ValueError, match="three is too many") as error:
            pool.submit("fail").result()
        assert "in perform" in error.value.__notes__[0]
        with pytest.raises(TrigemuError, match="a command needs the package 'package'"):
            pool.submit("miss").result()
        assert pool.submit("well").result() == "well"
    await_all_gone(tmp_path, 1)


def test_a_worker_that_cannot_be_prepared() -> None:
    with worker_pool(1, adder) as pool, pytest.raises(TypeError, match="missing 1 required"):
        pool.submit(1).result()


def test_a_worker_that_dies_is_reported_with_work_for_others_left(tmp_path: Path) -> None:
    message = r"a worker process was ended by signal 9, perhaps .* fewer --workers"
    with worker_pool(2, teller, str(tmp_path)) as pool, pytest.raises(TrigemuError, match=message):
        list(pool.map(["die", "sleep", "sleep", "sleep"]))
    await_all_gone(tmp_path, 1)


def test_a_worker_that_is_killed_while_it_starts_does_not_block() -> None:
    """Whatever there is to be sent to it."""
    with worker_pool(1, adder, bytes(1 << 20)) as pool:
        process = pool._idle.get()
        pool._idle.put(process)
        process.kill()
        with pytest.raises(TrigemuError, match="a worker process was ended by signal 9"):
            pool.submit(1).result()


def test_a_block_that_is_left_ends_work_and_its_children(tmp_path: Path) -> None:

    def interrupted() -> None:
        with worker_pool(1, teller, str(tmp_path)) as pool:
            pool.submit("child")
            while len(list(tmp_path.iterdir())) < 2:  # the worker and its child
                time.sleep(0.02)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    await_all_gone(tmp_path, 2)


PROGRAM = """
import sys
sys.path[:] = {path}
from trigemu.support import end_on_signals, worker_pool
from worker_toys import teller
end_on_signals()
with worker_pool(2, teller, {folder!r}) as pool:
    list(pool.map(["child", "sleep"]))
"""


@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (signal.SIGKILL, -9, ""),
        (signal.SIGTERM, 143, "trigemu: terminated\n"),
        (signal.SIGINT, 130, "trigemu: interrupted\n"),
    ],
)
def test_workers_end_with_their_parent(tmp_path: Path, number: int, status: int, message: str) -> None:
    (tmp_path / "seen").mkdir()
    program = PROGRAM.format(path=sys.path, folder=str(tmp_path / "seen"))
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as parent:
        while len(list((tmp_path / "seen").iterdir())) < 3:
            assert parent.poll() is None
            time.sleep(0.02)
        parent.send_signal(number)
        assert parent.wait(10) == status
        await_all_gone(tmp_path / "seen", 3)
        assert parent.stderr
        assert parent.stderr.read().replace("heard by nobody\n", "") == message
