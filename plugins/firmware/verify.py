"""Bit-exact comparison of firmware with the emulation: conifer's C++ and HLS sources, compiled, and its VHDL,
simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trigemu.api import IntArray, MissingExtraError, TrigemuError
from trigemu_anomaly import FixedEnsemble

from .cpp import compile_model
from .project import Project
from .rebuild import rebuilt
from .tools import MissingToolError, scratch
from .vectors import scaled
from .vhdl import Design

#: Back end → what is run.
BACKEND_NAMES = {"cpp": "C++ model", "hls": "HLS sources, as C++", "vhdl": "VHDL, simulated"}


@dataclass(frozen=True)
class TreeDifference:
    """The first tree whose word differs."""

    tree: int
    expected: int
    found: int


@dataclass(frozen=True)
class Mismatch:
    """The first event whose score differs.

    event: its number among the vectors. x, words: its inputs, as numbers and as words. expected, found: words
    of the score. where: the first tree that differs; None if only their sum differs.
    """

    event: int
    x: tuple[float, ...]
    words: tuple[int, ...]
    expected: int
    found: int
    where: TreeDifference | None


@dataclass(frozen=True)
class FirmwareCheck:
    """The verification of one of conifer's projects.

    missing: how to install a missing tool; nothing was compared then. cycles: clocks of the VHDL from a valid
    input to its valid score.
    """

    backend: str
    events: int
    differences: int
    first: Mismatch | None = None
    cycles: int | None = None
    missing: str | None = None


def verify(project: Project, begun: Callable[[str], None] = lambda step: None) -> tuple[FirmwareCheck, ...]:
    """Compare all back ends of a project with the emulation. Only newly written sources are run; raises
    TrigemuError if a source in the project differs from them. begun: called with the name of each step, two
    for each back end."""
    return tuple(_checked(project, backend, begun) for backend in project.manifest.backends)


def _checked(project: Project, backend: str, begun: Callable[[str], None]) -> FirmwareCheck:
    try:
        begun(f"{BACKEND_NAMES[backend]}: sources")
        with rebuilt(project, backend) as sources:
            begun(f"{BACKEND_NAMES[backend]}: scores")
            return compared(project, backend, sources)
    except (MissingToolError, MissingExtraError) as error:
        return FirmwareCheck(backend, 0, 0, missing=str(error))


def compared(project: Project, backend: str, sources: Path) -> FirmwareCheck:
    """Compile and run sources in a folder, and compare them with the emulation."""
    with scratch() as folder:
        if backend == "vhdl":
            return _vhdl(project, sources, folder)
        return _cpp(project, backend, sources, folder)


def _cpp(project: Project, backend: str, sources: Path, folder: Path) -> FirmwareCheck:
    x = scaled(project.fixed, project.vectors.x)
    program = compile_model(backend, sources, folder)
    return _compared(
        project, backend, np.arange(len(x)), program.scores(x), lambda row: program.trees(x[row])
    )


def _vhdl(project: Project, sources: Path, folder: Path) -> FirmwareCheck:
    words, rows = project.vectors.words, project.simulated
    design = Design(sources, folder)
    simulated = design.scores(words[rows])
    check = _compared(project, "vhdl", rows, simulated.scores, lambda row: design.trees(words[row]))
    return replace(check, cycles=simulated.cycles)


def _compared(
    project: Project, backend: str, rows: IntArray, scores: IntArray, trees: Callable[[int], IntArray]
) -> FirmwareCheck:
    """Compare the scores of a back end, int64[m], for rows of the vectors, int64[m], with the emulation.
    trees: returns the words of the trees of a row in the back end, int64[trees]."""
    vectors = project.vectors
    if len(scores) != len(rows):
        raise TrigemuError(
            f"conifer's {BACKEND_NAMES[backend]} gave {len(scores)} scores for {len(rows)} events"
        )
    different = np.flatnonzero(scores != vectors.scores[rows])
    if not len(different):
        return FirmwareCheck(backend, len(rows), 0)
    at = int(different[0])
    row = int(rows[at])
    where = _first_tree(leaves(project.fixed, vectors.words[row]), trees(row))
    x, words = vectors.x[row].tolist(), vectors.words[row].tolist()
    first = Mismatch(row, tuple(x), tuple(words), int(vectors.scores[row]), int(scores[at]), where)
    return FirmwareCheck(backend, len(rows), len(different), first)


def _first_tree(expected: IntArray, found: IntArray) -> TreeDifference | None:
    different = np.flatnonzero(expected != found)
    if not len(different):
        return None
    tree = int(different[0])
    return TreeDifference(tree, int(expected[tree]), int(found[tree]))


def leaves(fixed: FixedEnsemble, words: IntArray) -> IntArray:
    """Return the words of the leaves, int64[trees], of one event, int64[d], node by node in integers."""
    trees, cuts = fixed.ensemble, fixed.cuts
    reached = []
    for root in trees.starts[:-1]:
        node = int(root)
        while trees.feature[node] >= 0:
            below = words[trees.feature[node]] < cuts[node]
            node = int(trees.left[node] if below else trees.right[node])
        reached.append(fixed.values[node])
    return np.array(reached, np.int64)
