"""Latency and resources of firmware, compared with the DECADE paper and the budgets of running triggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .project import Project
from .rebuild import rebuilt
from .resources import Resources, synthesised
from .tools import MissingToolError, scratch
from .vhdl import Design


@dataclass(frozen=True)
class Published:
    """Published numbers of another firmware, None if not published. kind: how they were obtained."""

    name: str
    kind: str
    latency_ns: float
    lut: int
    ff: int | None = None
    clock_mhz: float | None = None
    trees: int | None = None
    split_nodes: int | None = None


#: The quantile BDT of arXiv:2508.10224, and the two triggers that the paper compares it with.
PAPER = Published(
    "DECADE paper", "conifer's HLS on an XCVU9P, C synthesis by Vitis HLS", 8.0, 10_500, 630, 250.0, 22, 316
)
_BUDGET = "its budget: latency, and approximate number of LUT"
BUDGETS = (Published("AXOL1TL", _BUDGET, 50.0, 30_000), Published("GELATO", _BUDGET, 25.0, 30_000))


@dataclass(frozen=True)
class Estimate:
    """Latency and resources of a project.

    cycles: clocks from a valid input to its valid score, of conifer's VHDL in simulation; None without GHDL.
    resources: of the same VHDL; None without GHDL or yosys. missing: program → how to install it.
    """

    trees: int
    split_nodes: int
    depth: int
    clock_mhz: float
    cycles: int | None
    resources: Resources | None
    missing: dict[str, str]

    @property
    def latency_ns(self) -> float | None:
        """The latency in ns; None without GHDL."""
        return None if self.cycles is None else self.cycles * 1000.0 / self.clock_mhz


#: The steps of an estimate.
STEPS = ("VHDL: sources", "latency: simulation by GHDL", "resources: synthesis by yosys")


def estimate(
    project: Project, clock_mhz: float | None = None, begun: Callable[[str], None] = lambda step: None
) -> Estimate:
    """Estimate latency and resources of a project. clock_mhz: by default the clock of the project. begun:
    called with the name of each of the `STEPS`."""
    sources_written, simulation, synthesis = STEPS
    missing: dict[str, str] = {}
    cycles = resources = None
    begun(sources_written)
    with rebuilt(project, "vhdl") as sources:
        begun(simulation)
        try:
            with scratch() as folder:
                cycles = Design(sources, folder).scores(project.vectors.words[project.simulated]).cycles
        except MissingToolError as error:
            missing[error.program] = error.hint
        begun(synthesis)
        try:
            resources = synthesised(sources)
        except MissingToolError as error:
            missing[error.program] = error.hint
    trees = project.fixed.ensemble
    clock = project.manifest.clock_mhz if clock_mhz is None else clock_mhz
    return Estimate(trees.trees, trees.split_nodes, trees.depth, clock, cycles, resources, missing)
