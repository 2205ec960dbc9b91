"""Programs that are missing, fail, take too long, or are left when trigemu ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trigemu_firmware.tools import MissingToolError, find, package, run, scratch

from trigemu import TrigemuError
from trigemu.api import MissingExtraError

#: A program that starts another, writes the number of that to a file, and waits.
PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1] + ".part", "w").write(str(child.pid))
os.rename(sys.argv[1] + ".part", sys.argv[1])
child.wait()
"""


def is_gone(pid: int) -> bool:
    """Return whether a process ends within some seconds."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_a_program_gets_its_input_and_returns_its_output(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), sys.argv[1], end=sys.stdin.read())"
    assert run([sys.executable, "-c", code, "$HOME; `a` 'b'"], tmp_path, b"!") == (
        f"{tmp_path} $HOME; `a` 'b'!".encode()
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('first\\nlast')", r"failed; its last lines:\n  first\n  last$"),
        ("print(*range(13), sep='\\n'); raise SystemExit(1)", r"last lines:\n  1\n(.*\n){10}  12$"),
        ("raise SystemExit(3)", "failed, without a message$"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        run([sys.executable, "-c", code], tmp_path)


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"cannot start .*no such program: No such file"):
        run([tmp_path / "no such program"], tmp_path)


def test_one_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with pytest.raises(TrigemuError, match=r"python.* was stopped: it took more than 2 s"):
        run([sys.executable, "-c", PARENT, file], tmp_path, seconds=2)
    assert is_gone(int(file.read_text()))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_trigemu(tmp_path: Path, how: signal.Signals) -> None:
    file = tmp_path / "pid"
    code = "import sys; from pathlib import Path; from trigemu_firmware.tools import run\n"
    code += "run([sys.executable, '-c', sys.argv[1], sys.argv[2]], Path('/'))"
    process = subprocess.Popen([sys.executable, "-c", code, PARENT, str(file)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            if file.exists():
                break
            time.sleep(0.05)
        child = int(file.read_text())
        assert Path(f"/proc/{child}").exists()
        os.kill(process.pid, how)
        assert process.wait(10) != 0
        assert is_gone(child)
    finally:
        process.kill()
        process.wait()


def test_programs_and_packages_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for program in ("g++", "verilator", "yosys"):
        with pytest.raises(MissingToolError, match=f"apt-get install {program}") as caught:
            find(program)
        assert caught.value.program == program
    (tmp_path / "yosys").touch(0o755)
    assert find("yosys") == str(tmp_path / "yosys")
    assert package("numpy").name == "numpy"
    with pytest.raises(MissingExtraError, match=r"'no_such_package'.*trigemu\[firmware\]"):
        package("no_such_package")


def test_a_scratch_folder_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch() as folder:
        (folder / "file").touch()
    assert not folder.exists()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(TrigemuError, match=r"temporary folder.*set TMPDIR"), scratch():
        pass
