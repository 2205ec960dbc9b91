"""Programs that are missing, fail, or are ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from trigemu_firmware.tools import MissingToolError, ap_types, find, package, python, run, scratch

from trigemu import TrigemuError
from trigemu.api import MissingExtraError


def test_a_program_gets_its_input_and_returns_its_output(tmp_path: Path) -> None:
    script = "import os, sys; sys.stdout.buffer.write(os.getcwd().encode() + sys.stdin.buffer.read())"
    text = run([sys.executable, "-c", script], tmp_path, b"\x00\xff")
    assert text == str(tmp_path).encode() + b"\x00\xff"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('first\\nlast')", r"failed; its last lines:\n  first\n  last$"),
        ("print(*range(13), sep='\\n'); raise SystemExit(1)", r"last lines:\n  1\n(.*\n){10}  12$"),
        ("raise SystemExit(3)", "failed, without a message$"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
        (
            "import sys; sys.exit('error: nlohmann/json.hpp: No such file')",
            "apt-get install nlohmann-json3-dev",
        ),
    ],
)
def test_a_program_that_fails(tmp_path: Path, script: str, message: str) -> None:
    (tmp_path / "script.py").write_text(script)
    with pytest.raises(TrigemuError, match=message):
        python(tmp_path / "script.py", folder=tmp_path)


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"cannot start .*no such program: No such file"):
        run([tmp_path / "no such program"], tmp_path)


def test_programs_are_named_with_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for program in ("g++", "verilator", "yosys"):
        with pytest.raises(MissingToolError, match=f"apt-get install {program}") as caught:
            find(program)
        assert caught.value.program == program
    (tmp_path / "yosys").touch(0o755)
    assert find("yosys") == str(tmp_path / "yosys")


def test_headers_are_those_of_xilinx_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, below in (("XILINX_HLS", "include"), ("XILINX_AP_INCLUDE", "")):
        home = tmp_path / variable
        monkeypatch.setenv(variable, str(home))
        before = home / below
        if variable == "XILINX_AP_INCLUDE":
            assert ap_types() == tmp_path / "XILINX_HLS" / "include"  # a variable that leads nowhere
        before.mkdir(parents=True)
        (before / "ap_fixed.h").touch()
        assert ap_types() == before


def test_a_package_that_is_not_installed() -> None:
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
