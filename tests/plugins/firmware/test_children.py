"""Programs within limits: what ends them, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trigemu_firmware.children import Limits, StoppedError, run_limited

from trigemu.base.errors import TrigemuError

LIMITS = Limits(seconds=20, memory=2**30)
#: A program that starts another, writes the number of that to a file, and waits.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1] + ".part", "w").write(str(child.pid))
import os; os.rename(sys.argv[1] + ".part", sys.argv[1])
child.wait()
"""


def python(
    code: str, *arguments: str, limits: Limits = LIMITS, given: bytes = b""
) -> tuple[int, bytes, bytes]:
    done = run_limited([sys.executable, "-c", code, *arguments], Path("/"), limits, stdin_content=given)
    return done.code, done.stdout, done.stderr


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, or ends within some seconds."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_what_goes_in_and_comes_out(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), sys.stdin.read(), sys.argv[1]); sys.exit('no')"
    assert python(code, "$HOME; `a` 'b'", given=b"in") == (1, b"/ in $HOME; `a` 'b'\n", b"no\n")
    assert python("") == (0, b"", b"")


def test_a_signal_is_passed_on() -> None:
    assert python("import os; os.kill(os.getpid(), 9)")[0] == -9
    assert python("import os; os.abort()")[0] == -signal.SIGABRT
    assert run_limited(["sh", "-c", "kill -PIPE $$"], Path("/"), LIMITS).code == -signal.SIGPIPE


def test_memory_is_limited() -> None:
    code, _, said = python("x = bytearray(2**31)", limits=Limits(20, 2**29))
    assert code == 1
    assert b"MemoryError" in said


def test_processor_time_is_limited() -> None:
    """Of each process, also where the clock is not looked at."""
    assert python("import resource; print(resource.getrlimit(resource.RLIMIT_CPU))")[1] == b"(20, 20)\n"
    assert python("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))")[1] == b"(0, 0)\n"


def test_output_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trigemu_firmware.children.MAX_OUTPUT", 1000)
    code, out, _ = python("import os\nwhile True: os.write(1, b'x' * 100)")
    assert code != 0
    assert len(out) == 1000


def test_one_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    start = time.monotonic()
    with pytest.raises(StoppedError, match=r"python.* was stopped: it took more than 1 s"):
        python(PARENT, str(file), limits=Limits(1, 2**30))
    assert time.monotonic() - start < 10
    assert is_gone(int(file.read_text()))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_trigemu(tmp_path: Path, how: signal.Signals) -> None:
    file = tmp_path / "pid"
    code = (
        "import sys\nfrom pathlib import Path\nfrom trigemu_firmware.children import *\n"
        "run_limited([sys.executable, '-c', sys.argv[1], sys.argv[2]], Path('/'), Limits(50, 2**30))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, PARENT, str(file)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if file.exists():
                break
            time.sleep(0.05)
        child = int(file.read_text())
        assert not is_gone_now(child)
        os.kill(process.pid, how)
        assert process.wait(10) != 0
        assert is_gone(child)
    finally:
        process.kill()
        process.wait()


def is_gone_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"cannot start .*/absent: No such file"):
        run_limited([tmp_path / "absent"], tmp_path, LIMITS)
    with pytest.raises(TrigemuError, match=r"cannot start .*: Permission denied"):
        run_limited([tmp_path], tmp_path, LIMITS)


def test_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(TrigemuError, match=r"cannot run sh with a temporary file: .*set TMPDIR"):
        run_limited(["sh"], tmp_path, LIMITS)
