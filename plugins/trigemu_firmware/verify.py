"""Bit-exact comparison of firmware with the emulation: the Verilog, simulated, and conifer's C++ and HLS
sources, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from trigemu import __version__
from trigemu.base.arrays import IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.results.table import Column, Page, Table, in_json

from .circuit import simulate
from .project import Project, scaled
from .sources import compile_model
from .tools import MissingToolError, scratch
from .verilog_trees import leaves

#: Back end → what is run.
BACKEND_NAMES = {
    "verilog": "Verilog, simulated",
    "cpp": "conifer's C++ model",
    "hls": "conifer's HLS sources, as C++",
}


@dataclass(frozen=True)
class TreeDifference:
    """A tree whose word differs."""

    tree: int
    expected: int
    found: int


@dataclass(frozen=True)
class Mismatch:
    """An event whose score differs."""

    event: int  # Its number among the vectors
    x: tuple[float, ...]  # Its inputs as numbers
    words: tuple[int, ...]  # Its inputs as words
    expected: int  # expected, found: Words of the score
    found: int
    where: TreeDifference | None  # The first tree that differs; None if only their sum does, or in Verilog


@dataclass(frozen=True)
class FirmwareCheck:
    """The verification of one back end."""

    backend: str
    events: int
    differences: int
    first: Mismatch | None = None
    cycles: int | None = None  # Clocks of the Verilog from an event to its score
    missing: str | None = None  # How to install a missing tool; nothing was compared then


def verify(project: Project, begun: Callable[[str], None] = lambda step: None) -> tuple[FirmwareCheck, ...]:
    """Compare all back ends of a project with the emulation. Only newly written sources are run; raises
    TrigemuError if a source in the project differs from them. begun: called with the name of each step, two
    for each back end."""
    checks = []
    for backend in project.manifest.backends:
        try:
            begun(f"{BACKEND_NAMES[backend]}: sources")
            with project.rebuilt(backend) as sources:
                begun(f"{BACKEND_NAMES[backend]}: scores")
                checks.append(compared(project, backend, sources))
        except (MissingToolError, MissingExtraError) as error:
            checks.append(FirmwareCheck(backend, 0, 0, missing=str(error)))
    return tuple(checks)


def compared(project: Project, backend: str, sources: Path) -> FirmwareCheck:
    """Compile and run the sources in a folder, or simulate the Verilog, and compare with the emulation."""
    if backend == "verilog":
        scores = simulate(project.circuit, project.words)
        return replace(_check(project, backend, scores), cycles=project.circuit.latency)
    with scratch() as folder:
        x = scaled(project.fixed, project.x)
        program = compile_model(backend, sources, folder)
        return _check(project, backend, program.scores(x), lambda row: program.trees(x[row]))


def _check(
    project: Project, backend: str, scores: IntArray, trees: Callable[[int], IntArray] | None = None
) -> FirmwareCheck:
    """Compare the scores of a back end, int64[n], with the emulation. trees: returns the words of the trees
    of a row in the back end, int64[trees]."""
    if len(scores) != len(project.x):
        raise TrigemuError(f"{BACKEND_NAMES[backend]}: gave {len(scores)} scores for {len(project.x)} events")
    different = np.flatnonzero(scores != project.scores)
    if not len(different):
        return FirmwareCheck(backend, len(scores), 0)
    row, where = int(different[0]), None
    if trees:
        expected, found = leaves(project.fixed, project.words[[row]])[0], trees(row)
        for tree in np.flatnonzero(expected != found)[:1].tolist():
            where = TreeDifference(tree, int(expected[tree]), int(found[tree]))
    x, words = project.x[row].tolist(), project.words[row].tolist()
    first = Mismatch(row, tuple(x), tuple(words), int(project.scores[row]), int(scores[row]), where)
    return FirmwareCheck(backend, len(scores), len(different), first)


def verified_json(checks: Sequence[FirmwareCheck]) -> str:
    """Return the JSON document of `trigemu firmware verify`: events and differences of each back end, null
    where it could not be compared, and each check."""
    document = {
        "events": {check.backend: check.events for check in checks},
        "differences": {check.backend: None if check.missing else check.differences for check in checks},
        "cycles": next((check.cycles for check in checks if check.backend == "verilog"), None),
        "checks": [asdict(check) for check in checks],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


_COLUMNS = (
    Column("backend", "label", "firmware", of=lambda check: BACKEND_NAMES[check.backend]),
    Column("events", "count", "events", of=lambda check: "–" if check.missing else check.events),
    Column("differences", "count", "differences", of=lambda c: "–" if c.missing else c.differences),
    Column("cycles", "count", "cycles"),
)


def verified_page(checks: Sequence[FirmwareCheck], project: Project) -> Page:
    """Return what `trigemu firmware verify` prints."""
    return Page([Table.of(_COLUMNS, checks), *(line for check in checks for line in _lines(check, project))])


def _lines(check: FirmwareCheck, project: Project) -> Iterator[str]:
    """Yield where the first difference is, as words and, in brackets, as numbers."""
    name, first, score = BACKEND_NAMES[check.backend], check.first, project.fixed.precision.score
    if check.missing:
        yield f"{name}: not compared: {check.missing}"
    if first is None:
        return

    def both(difference: Mismatch | TreeDifference) -> str:
        words = difference.expected, difference.found
        return "expected {}, found {}".format(*(f"{word} ({word * score.step:.10g})" for word in words))

    inputs = ", ".join(f"{x} = {v:.9g}" for x, v in zip(project.manifest.inputs, first.x, strict=True))
    yield f"{name}: first difference in event {first.event} of vectors.npz ({inputs}): {both(first)}"
    if first.where:
        yield f"  the first tree that differs is {first.where.tree}: {both(first.where)}"
    elif check.backend != "verilog":
        yield "  all trees agree: the difference is in their sum or in the base"
