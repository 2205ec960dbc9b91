"""The VHDL of a conifer project, simulated and converted to Verilog by GHDL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trigemu.api import IntArray, TrigemuError

from .project import NAME
from .tools import SYNTHESIS, find, run

#: Sources in the order of their dependencies.
_SOURCES = ("Constants", "Split", "Types", "Tree", "AddReduce", "Arrays0", "BDT", "BDTTop", NAME)
_LIBRARY = "--work=BDT"


@dataclass(frozen=True)
class Simulated:
    """A simulation. scores: words, int64[n]. cycles: clocks from a valid input to its valid score."""

    scores: IntArray
    cycles: int


class Design:
    """conifer's VHDL, analysed by GHDL in a folder."""

    def __init__(self, project: Path, folder: Path) -> None:
        self._ghdl, self._project, self._folder = find("ghdl"), project.resolve(), folder
        for name in _SOURCES:
            self._run("-a", _LIBRARY, self._project / "firmware" / f"{name}.vhd")

    def _run(self, command: str, *arguments: str | Path) -> bytes:
        return run([self._ghdl, command, "--std=08", *arguments], self._folder, limits=SYNTHESIS)

    def _simulate(self, bench: str, words: IntArray) -> IntArray:
        """Return the output of a test bench for words of inputs, int64[n, d]."""
        self._run("-a", self._project / f"{bench}.vhd")
        self._run("-e", bench)
        np.savetxt(self._folder / "words.txt", words, "%d")
        written = self._folder / f"{bench}.txt"
        # Before the first event the pipeline holds undefined values, about which numeric_std would warn.
        self._run("-r", bench, "-ginputs=words.txt", f"-goutputs={written.name}", "--ieee-asserts=disable")
        return (
            np.loadtxt(written, np.int64, ndmin=2) if written.stat().st_size else np.empty((0, 2), np.int64)
        )

    def scores(self, words: IntArray) -> Simulated:
        """Simulate the words of inputs, int64[n, d], one event per clock."""
        written = self._simulate("bench", words)
        if len(written) != len(words):
            raise TrigemuError(f"the simulated VHDL gave {len(written)} scores for {len(words)} events")
        cycles = np.unique(written[:, 0])
        if len(cycles) > 1:
            raise TrigemuError(
                f"the simulated VHDL took {cycles.min()} to {cycles.max()} clocks for an event"
            )
        return Simulated(written[:, 1], int(cycles[0]))

    def trees(self, words: IntArray) -> IntArray:
        """Return the word of each tree, int64[trees], for the words of one event, int64[d]."""
        return self._simulate("trees_bench", words[np.newaxis])[:, 0]

    def verilog(self, path: Path) -> None:
        """Write the design as Verilog."""
        path.write_bytes(self._run("--synth", _LIBRARY, "--out=verilog", NAME))
