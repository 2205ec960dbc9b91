"""What firmware would cost and take, next to the DECADE paper and the budgets of triggers that run."""

from __future__ import annotations

from dataclasses import dataclass

from trigemu.firmware.project import Project
from trigemu.firmware.resources import Resources, synthesised
from trigemu.firmware.tools import MissingToolError, scratch
from trigemu.firmware.vhdl import Design


@dataclass(frozen=True)
class Published:
    """Of another firmware: its trees, clock, latency and what it takes, None where it is not given. kind: of
    numbers these are."""

    name: str
    kind: str
    latency_ns: float
    lut: int
    ff: int | None = None
    clock_mhz: float | None = None
    trees: int | None = None
    split_nodes: int | None = None


#: arXiv:2508.10224: its quantile BDT, and the two triggers that it compares with.
PAPER = Published(
    "DECADE paper", "conifer's HLS on an XCVU9P, C synthesis by Vitis HLS", 8.0, 10_500, 630, 250.0, 22, 316
)
_BUDGET = "what it is allowed: latency, and about so many LUT"
BUDGETS = (Published("AXOL1TL", _BUDGET, 50.0, 30_000), Published("GELATO", _BUDGET, 25.0, 30_000))


@dataclass(frozen=True)
class Estimate:
    """cycles: clocks from a valid input to its valid score, of conifer's VHDL in simulation; None without
    GHDL. resources: of the same; None without GHDL or yosys. missing: program → what brings it."""

    trees: int
    split_nodes: int
    depth: int
    clock_mhz: float
    cycles: int | None
    resources: Resources | None
    missing: dict[str, str]

    @property
    def latency_ns(self) -> float | None:
        return None if self.cycles is None else self.cycles * 1000.0 / self.clock_mhz


def estimate(project: Project, clock_mhz: float | None = None) -> Estimate:
    """Of a project, at its own clock if no other is given."""
    missing: dict[str, str] = {}
    cycles = resources = None
    try:
        with scratch() as folder:
            cycles = (
                Design(project.of("vhdl"), folder).scores(project.vectors.words[project.simulated]).cycles
            )
    except MissingToolError as error:
        missing[error.program] = error.hint
    try:
        resources = synthesised(project.of("vhdl"))
    except MissingToolError as error:
        missing[error.program] = error.hint
    trees = project.fixed.ensemble
    clock = project.manifest.clock_mhz if clock_mhz is None else clock_mhz
    return Estimate(trees.trees, trees.split_nodes, trees.depth, clock, cycles, resources, missing)
