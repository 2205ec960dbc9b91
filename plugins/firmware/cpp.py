"""The C++ of a conifer project, compiled and run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trigemu.api import FloatArray, IntArray

from .project import NAME
from .tools import ap_types, find, run

_OPTIONS = ("-O1", "-std=c++14", "-w")


@dataclass(frozen=True)
class CppProgram:
    """A compiled model. command: reads rows of float64 and writes words as int64."""

    command: tuple[Path, ...]
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
