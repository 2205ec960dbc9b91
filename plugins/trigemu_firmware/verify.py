"""Bit-exact comparison of firmware with the emulation: the Verilog, simulated, and conifer's HLS sources,
compiled as C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from trigemu import __version__
from trigemu.base.arrays import IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.results.table import Column, Page, Table, in_json

from .circuit import simulate
from .project import Project, scaled
from .sources import compiled_scores, write_sources
from .tools import MissingToolError, scratch


@dataclass(frozen=True)
class Mismatch:
    """An event whose score differs."""

    event: int  # Its number among the test events
    x: tuple[float, ...]  # Its inputs as numbers
    words: tuple[int, ...]  # Its inputs as words
    expected: int  # expected, found: Words of the score
    found: int


@dataclass(frozen=True)
class FirmwareCheck:
    """The verification of one back end."""

    backend: str
    events: int = 0
    differences: int = 0
    first: Mismatch | None = None
    cycles: int | None = None  # Clocks of the Verilog from an event to its score
    missing: str | None = None  # How to install a missing tool; nothing was compared then


def verilog_scores(project: Project) -> IntArray:
    """Return the words of the scores of the Verilog, int64[n]."""
    return simulate(project.circuit, project.words)


def hls_scores(project: Project) -> IntArray:
    """Return the words of the scores of conifer's sources, int64[n]."""
    with scratch() as folder:
        write_sources(project.fixed, folder / "hls")
        return compiled_scores(folder / "hls", scaled(project.fixed, project.x))


#: Back end → its label, and its scores.
BACKENDS: dict[str, tuple[str, Callable[[Project], IntArray]]] = {
    "verilog": ("Verilog, simulated", verilog_scores),
    "hls": ("conifer's HLS sources, as C++", hls_scores),
}


def verify(project: Project, begun: Callable[[str], None] = lambda step: None) -> tuple[FirmwareCheck, ...]:
    """Compare all back ends of a project with the emulation. begun: called with the name of each."""
    checks = []
    for backend, (label, scores_of) in BACKENDS.items():
        begun(label)
        cycles = project.circuit.latency if backend == "verilog" else None
        try:
            scores = scores_of(project)
        except (MissingToolError, MissingExtraError) as error:
            checks.append(FirmwareCheck(backend, missing=str(error)))
            continue
        if len(scores) != len(project.x):
            raise TrigemuError(f"{label}: gave {len(scores)} scores for {len(project.x)} events")
        different, first = np.flatnonzero(scores != project.scores), None
        if len(different):
            row = int(different[0])
            x, words = project.x[row].tolist(), project.words[row].tolist()
            first = Mismatch(row, tuple(x), tuple(words), int(project.scores[row]), int(scores[row]))
        checks.append(FirmwareCheck(backend, len(scores), len(different), first, cycles))
    return tuple(checks)


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
    Column("backend", "label", "firmware", of=lambda check: BACKENDS[check.backend][0]),
    Column("events", "count", "events", of=lambda check: "–" if check.missing else check.events),
    Column("differences", "count", "differences", of=lambda c: "–" if c.missing else c.differences),
    Column("cycles", "count", "cycles"),
)


def verified_page(checks: Sequence[FirmwareCheck], project: Project) -> Page:
    """Return what `trigemu firmware verify` prints."""
    return Page([Table.of(_COLUMNS, checks), *_lines(checks, project)])


def _lines(checks: Sequence[FirmwareCheck], project: Project) -> Iterator[str]:
    """Yield what is missing, and the first differences, as words and, in brackets, as numbers."""
    step = project.fixed.precision.score.step
    for check in checks:
        label, first = BACKENDS[check.backend][0], check.first
        if check.missing:
            yield f"{label}: not compared: {check.missing}"
        if first:
            inputs = ", ".join(f"{x} = {v:.9g}" for x, v in zip(project.inputs, first.x, strict=True))
            yield (
                f"{label}: first difference in test event {first.event} ({inputs}): expected "
                f"{first.expected} ({first.expected * step:.10g}), found {first.found} "
                f"({first.found * step:.10g})"
            )
