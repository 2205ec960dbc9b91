"""Worker processes: their results, their errors, and their end."""

from __future__ import annotations

import errno
import pickle
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from worker_toys import add, perform, search_path

from trigemu.base.errors import TrigemuError
from trigemu.base.processes import WorkerLostError, worker_pool


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
def test_each_call_has_its_result(number: int) -> None:
    with worker_pool(number) as pool:
        assert not pool._processes  # none before it is needed
        futures = [pool.submit(add, 10, k) for k in range(20)]
        assert [future.result() for future in futures] == list(range(10, 30))
        assert len(pool._processes) <= number
        assert pool.submit(search_path).result() == [folder for folder in sys.path if folder]
    with pytest.raises(RuntimeError, match="shutdown"):
        pool.submit(add, 1, 2)


def test_errors_arrive_and_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with worker_pool(1) as pool:
        for how, message in (("die", "was ended by signal 9"), ("exit", "ended with status 3")):
            with pytest.raises(WorkerLostError, match=message) as lost:
                pool.submit(perform, str(tmp_path), how).result()
            assert str(lost.value).endswith("perhaps because memory ran out: try fewer --workers")
        with pytest.raises(ValueError, match="three is too many"):
            pool.submit(perform, str(tmp_path), "fail").result()
        with pytest.raises((AttributeError, pickle.PicklingError)):
            pool.submit(lambda: 1).result()
        assert pool.submit(perform, str(tmp_path), "well").result() == "well"
    await_all_gone(tmp_path, 3)


def test_a_worker_neither_imports_the_script_nor_modules_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    (tmp_path / "script.py").write_text(
        "from trigemu.base.processes import worker_pool\n"
        "with worker_pool(1) as pool:\n"
        "    print(pool.submit(len, b'three').result())\n"
    )
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [sys.executable, "-P", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_a_machine_that_starts_no_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **further: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", full)
    with (
        worker_pool(1) as pool,
        pytest.raises(TrigemuError, match=r"cannot start .* temporarily unavailable: try fewer --workers"),
    ):
        pool.submit(add, 1, 2).result()


def test_a_block_that_is_left_ends_work_and_its_children(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), worker_pool(1) as pool:
        pool.submit(perform, str(tmp_path), "child")
        while len(list(tmp_path.iterdir())) < 2:  # the worker and its child
            time.sleep(0.02)
        raise KeyboardInterrupt
    await_all_gone(tmp_path, 2)
