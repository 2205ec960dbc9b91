"""Bit-exact comparison of firmware with the emulation: the Verilog, simulated, and conifer's C++ and HLS
sources, compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.trees import FixedEnsemble

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError

from .project import Project, Vectors
from .rtl import simulate
from .sources import rebuilt
from .tools import MissingToolError, compile_model, scratch
from .verilog_trees import leaves

#: Largest number of events from the sample; they are evenly spread.
EVENTS = 200_000
#: Number of rows generated around thresholds.
AROUND = 200_000
#: Number of rows for the test benches of vendors, whose simulators take about 1 ms each.
BENCHES = 5_000


def make_vectors(fixed: FixedEnsemble, sample: Features) -> tuple[Vectors, int]:
    """Return shuffled rows with their words and scores, and the number of rows from the sample, float32[n,
    d]."""
    chosen = sample[np.linspace(0, len(sample) - 1, min(EVENTS, len(sample))).astype(np.int64)]
    generated = around(fixed, AROUND)
    x = np.random.default_rng(1).permutation(np.concatenate([chosen, generated]))
    return Vectors(x, fixed.inputs(x), fixed.predict(x)), len(chosen)


def scaled(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return the scaled inputs, float64[n, d], exact; conifer's C++ converts them to the type of inputs."""
    values: FloatArray = np.ldexp(x.astype(np.float64), np.array(fixed.scales))
    return values


def around(fixed: FixedEnsemble, count: int) -> Features:
    """Return random combinations, float32[count, d], of thresholds, values within a step of them, and values
    at the ends of the type and beyond."""
    trees, type_ = fixed.ensemble, fixed.precision.input
    span = type_.highest - type_.lowest
    ends = np.array([type_.lowest, type_.lowest - 0.3 * span, type_.highest, type_.highest + 0.3 * span])
    random = np.random.default_rng(0)
    columns = []
    for feature, scale in enumerate(fixed.scales):
        thresholds = np.unique(trees.threshold[trees.feature == feature])
        offsets = np.ldexp(np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * type_.step, -scale)
        values = [np.add.outer(thresholds, offsets).ravel(), ends * 2.0**-scale, np.zeros(1)]
        some = random.choice(np.concatenate(values).astype(np.float32), count)
        towards = random.choice(np.array([-np.inf, np.inf], np.float32), count)
        columns.append(np.where(random.random(count) < 0.5, some, np.nextafter(some, towards)))
    return np.column_stack(columns).astype(np.float32)


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
            with rebuilt(project, backend) as sources:
                begun(f"{BACKEND_NAMES[backend]}: scores")
                checks.append(compared(project, backend, sources))
        except (MissingToolError, MissingExtraError) as error:
            checks.append(FirmwareCheck(backend, 0, 0, missing=str(error)))
    return tuple(checks)


def compared(project: Project, backend: str, sources: Path) -> FirmwareCheck:
    """Compile and run sources in a folder, or simulate the Verilog, and compare them with the emulation."""
    vectors, circuit = project.vectors, project.circuit
    if backend == "verilog":
        # The text in the folder; the data of a memory beside it.
        data = {name: (sources / name).read_text() for name in circuit.data}
        read = replace(circuit, verilog=(sources / f"{circuit.name}.v").read_text(), data=data)
        return replace(_compared(project, backend, simulate(read, vectors.words)), cycles=circuit.latency)
    with scratch() as folder:
        x = scaled(project.fixed, vectors.x)
        program = compile_model(backend, sources, folder)
        return _compared(project, backend, program.scores(x), lambda row: program.trees(x[row]))


def _compared(
    project: Project, backend: str, scores: IntArray, trees: Callable[[int], IntArray] | None = None
) -> FirmwareCheck:
    """Compare the scores of a back end, int64[n], with the emulation. trees: returns the words of the trees
    of a row in the back end, int64[trees]."""
    vectors = project.vectors
    if len(scores) != len(vectors):
        raise TrigemuError(f"{BACKEND_NAMES[backend]}: gave {len(scores)} scores for {len(vectors)} events")
    different = np.flatnonzero(scores != vectors.scores)
    if not len(different):
        return FirmwareCheck(backend, len(vectors), 0)
    row = int(different[0])
    where = None
    if trees:
        pairs = zip(leaves(project.fixed, vectors.words[[row]])[0].tolist(), trees(row).tolist(), strict=True)
        differences = (TreeDifference(k, *pair) for k, pair in enumerate(pairs) if pair[0] != pair[1])
        where = next(differences, None)
    x, words = vectors.x[row].tolist(), vectors.words[row].tolist()
    first = Mismatch(row, tuple(x), tuple(words), int(vectors.scores[row]), int(scores[row]), where)
    return FirmwareCheck(backend, len(vectors), len(different), first)
