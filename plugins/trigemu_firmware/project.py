"""The trees of a trigger as firmware: in fixed point, as a circuit, with test events; and as a folder.

DIR/README.md        a description
DIR/verilog/         the trees in Verilog, and the words of some events for test benches
DIR/hls/             conifer's project for Vitis HLS, with a test bench
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from trigemu_anomaly.fixed_point import SATURATING
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.trees import FixedEnsemble

from trigemu import __version__
from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.files import new_folder
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from .circuit import Circuit
from .model import halves, read_rows, tree_model
from .precision import PAPER_PRECISION, Change, choose
from .sources import CLOCK_MHZ, check_conifer, fill, write_sources
from .tools import package
from .verilog_trees import trees_circuit

#: Largest number of events from the sample, which are evenly spread; of rows generated around thresholds; and
#: of rows for the test benches of vendors, whose simulators take about 1 ms each.
EVENTS, AROUND, BENCHES = 200_000, 200_000, 5_000
#: Used if the menu has no precision: the paper's widths, and inputs that saturate.
SATURATING_PRECISION = Change(overflow=SATURATING[0]).of(PAPER_PRECISION)


@dataclass(frozen=True, eq=False)
class Project:
    """The trees of a trigger as firmware."""

    menu: str
    trigger: str
    catalogue: str
    half: str | None  # Of the test events; None: both, since nothing was fitted
    inputs: tuple[str, ...]  # Of the trees, as in the card
    fixed: FixedEnsemble
    chosen: int | None  # Number of events that the precision was chosen on, None if it is from the menu
    circuit: Circuit  # The trees in Verilog
    x: Features  # float32[n, d], inputs of test events
    sample: int  # Number of them from the catalogue; the others are generated around thresholds

    @cached_property
    def words(self) -> IntArray:
        """The inputs as words, int64[n, d]."""
        return self.fixed.inputs(self.x)

    @cached_property
    def scores(self) -> IntArray:
        """The words of the scores by the emulation, int64[n]."""
        return self.fixed.predict(self.x)


def make_project(
    menu: Menu, trigger: str, catalogue: Catalogue, latency: int = 2, *, executor: Any = None
) -> Project:
    """Return the trees of a trigger as firmware, with test events of the half for rates. latency: clocks of
    the Verilog. TrigemuError if the trees have no circuit."""
    model = tree_model(menu, trigger)
    rows = read_rows(menu, catalogue, trigger, executor=executor)
    training, evaluation = halves(menu, catalogue, rows)
    try:
        fixed = model.fixed or choose(model.ensemble, training.x, model.inputs.texts, SATURATING_PRECISION)
        check_conifer(fixed)
        circuit = trees_circuit(fixed, latency)
    except TrigemuError as error:
        raise TrigemuError(f"{menu.trigger(trigger).place}: trigger {trigger!r}: {error}") from None
    sample = _spread(evaluation.x, EVENTS)
    return Project(
        menu=menu.name,
        trigger=trigger,
        catalogue=catalogue.table.name,
        half=split.HALF_NAMES[evaluation.half[0]] if training is not evaluation else None,
        inputs=model.inputs.texts,
        fixed=fixed,
        chosen=None if model.fixed else len(training.x),
        circuit=circuit,
        x=np.random.default_rng(1).permutation(np.concatenate([sample, around(fixed, AROUND)])),
        sample=len(sample),
    )


def _spread(x: Features, count: int) -> Features:
    """Return at most so many rows, evenly spread."""
    return x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(np.int64)]


def scaled(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return the scaled inputs, float64[n, d], exact; conifer's C++ converts them to the type of inputs."""
    values: FloatArray = np.ldexp(x.astype(np.float64), np.array(fixed.scales))
    return values


def around(fixed: FixedEnsemble, count: int) -> Features:
    """Return random combinations, float32[count, d], of thresholds, values within a step of them, and values
    at the ends of the type and beyond."""
    trees, kind = fixed.ensemble, fixed.precision.input
    span = kind.highest - kind.lowest
    ends = np.array([kind.lowest, kind.lowest - 0.3 * span, kind.highest, kind.highest + 0.3 * span])
    random = np.random.default_rng(0)
    columns = []
    for feature, scale in enumerate(fixed.scales):
        thresholds = np.unique(trees.threshold[trees.feature == feature])
        offsets = np.ldexp(np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * kind.step, -scale)
        values = [np.add.outer(thresholds, offsets).ravel(), ends * 2.0**-scale, np.zeros(1)]
        some = random.choice(np.concatenate(values).astype(np.float32), count)
        towards = random.choice(np.array([-np.inf, np.inf], np.float32), count)
        columns.append(np.where(random.random(count) < 0.5, some, np.nextafter(some, towards)))
    return np.column_stack(columns).astype(np.float32)


def write_project(project: Project, folder: Path, clock_mhz: float = CLOCK_MHZ) -> None:
    """Write a project into a new folder. clock_mhz: of the HLS. The same menu and events give the same
    bytes."""
    package("conifer")
    fixed, few = project.fixed, _spread(project.x, BENCHES)
    with new_folder(folder) as new:
        project.circuit.write(new / "verilog")
        write_sources(fixed, new / "hls", clock_mhz)
        for bench, numbers in (("verilog", fixed.inputs(few)), ("hls/tb_data", scaled(fixed, few))):
            (new / bench / "inputs.txt").write_text(_rows(numbers.tolist()))
            (new / bench / "scores.txt").write_text(_rows(fixed.predict(few)[:, None].tolist()))
        (new / "README.md").write_text(_readme(project, len(few)), encoding="utf-8")


def _rows(rows: list[list[float]]) -> str:
    return "".join(" ".join(map(repr, row)) + "\n" for row in rows)


def _readme(project: Project, benches: int) -> str:
    trees, types = project.fixed.ensemble, project.fixed.precision
    inputs = zip(project.inputs, project.fixed.scales, strict=True)
    return fill(
        "README.md",
        **{key: getattr(project, key) for key in ("trigger", "menu", "catalogue")},
        **{key: getattr(types, key) for key in ("input", "threshold", "score")},
        trees=trees.trees,
        splits=trees.split_nodes,
        depth=trees.depth,
        conifer=metadata.version("conifer"),
        version=__version__,
        inputs="\n".join(f"| {i} | `{text}` | 2^{scale} |" for i, (text, scale) in enumerate(inputs)),
        benches=benches,
        half="all of its events" if project.half is None else f"its {project.half} half",
        exponent=-types.score.fraction,
        input_width=types.input.width,
        width=project.circuit.width,
        score_width=types.score.width,
        latency=project.circuit.latency,
    )
