"""External programs: locating and running them; the C++ of a conifer project compiled."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import temporary_folder
from trigemu_firmware import children

from .project import NAME

#: Program → the Debian package that contains it.
PACKAGES = {"g++": "g++", "verilator": "verilator", "yosys": "yosys"}
#: Header that a compiler may not find → where to get it.
HEADERS = {
    "nlohmann/json.hpp": "it is in the Debian package nlohmann-json3-dev (apt-get install nlohmann-json3-dev)"
}
_LAST_LINES, _LONGEST = 12, 300
#: Limits of a compiler, and of a simulation or synthesis, which takes minutes for 20 trees.
COMPILING = children.Limits(seconds=900, memory=8 * 2**30)
SYNTHESIS = children.Limits(seconds=7200, memory=8 * 2**30)


class MissingToolError(TrigemuError):
    """A program is not installed. hint: how to install it."""

    def __init__(self, program: str, hint: str) -> None:
        super().__init__(f"{program} is not installed: {hint}")
        self.program, self.hint = program, hint


def find(program: str) -> str:
    """Return the path of a program; otherwise, MissingToolError names the package that contains it."""
    path = shutil.which(program)
    if path is None:
        package = PACKAGES[program]
        raise MissingToolError(program, f"it is in the Debian package {package} (apt-get install {package})")
    return path


def run(
    command: Sequence[str | Path], folder: Path, stdin: bytes = b"", limits: children.Limits = COMPILING
) -> bytes:
    """Run a program on standard input and return its output; if it fails, TrigemuError has its last lines."""
    done = children.run_limited(command, folder, limits, stdin_content=stdin)
    if done.code == 0:
        return done.stdout
    output = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
    for header, hint in HEADERS.items():
        if header in output:
            raise MissingToolError(header, hint)
    how = f"was ended by signal {-done.code} (within {limits})" if done.code < 0 else "failed"
    last = "\n".join(f"  {line[:_LONGEST]}" for line in output.splitlines()[-_LAST_LINES:])
    said = f"; its last lines:\n{last}" if last else ", without a message"
    raise TrigemuError(f"{Path(command[0]).name} {how}{said}")


@contextmanager
def scratch() -> Iterator[Path]:
    """Provide a temporary folder; TrigemuError if it cannot be made or written to."""
    try:
        with temporary_folder(Path(gettempdir()) / "firmware") as folder:
            yield folder
    except OSError as error:
        raise TrigemuError(f"cannot work in a temporary folder: {error}; set TMPDIR") from None


def ap_types() -> Path:
    """Return the folder of ap_fixed.h: from the variable XILINX_AP_INCLUDE, from Xilinx's tools, or from the
    package hls4ml."""
    named = [("XILINX_AP_INCLUDE", ""), ("XILINX_HLS", "include")]
    for folder in (Path(os.environ[name]) / below for name, below in named if os.environ.get(name)):
        if (folder / "ap_fixed.h").exists():
            return folder
    folder = package("hls4ml") / "templates" / "vivado" / "ap_types"
    if not (folder / "ap_fixed.h").exists():
        raise MissingToolError("ap_fixed.h", "set XILINX_AP_INCLUDE to the folder that holds it")
    return folder


def package(name: str) -> Path:
    """Return the folder of a package without importing it; MissingExtraError if it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        raise MissingExtraError("trigemu firmware", "firmware", name)
    return Path(spec.origin).parent


def python(script: Path, *arguments: str | Path, folder: Path) -> None:
    """Run a script with this interpreter."""
    run([sys.executable, script, *arguments], folder)


_OPTIONS = ("-O1", "-std=c++14", "-w")


@dataclass(frozen=True)
class CppProgram:
    """A compiled model."""

    command: tuple[Path, ...]  # Reads rows of float64 and writes words as int64
    folder: Path

    def scores(self, x: FloatArray) -> IntArray:
        """Return the words of the scores, int64[n], of scaled inputs, float64[n, d]."""
        return np.frombuffer(run(self.command, self.folder, x.tobytes()), np.int64)

    def trees(self, row: FloatArray) -> IntArray:
        """Return the word of each tree, int64[trees], for one event, float64[d]."""
        return np.frombuffer(run([*self.command, "trees"], self.folder, row.tobytes()), np.int64)


def compile_model(backend: str, project: Path, folder: Path) -> CppProgram:
    """Compile conifer's project of a back end, `cpp` or `hls`, in a folder."""
    compiler, project = find("g++"), project.resolve()
    sources = [project / "run.cpp"]
    if backend == "hls":
        sources += [project / "firmware" / f"{name}.cpp" for name in ("BDT", NAME)]
    program = folder / backend
    run([compiler, *_OPTIONS, f"-I{ap_types()}", f"-I{project}", *sources, "-o", program], folder)
    return CppProgram((program,) if backend == "hls" else (program, project / f"{NAME}.json"), folder)
