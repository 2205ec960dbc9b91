"""Latency and resources of trees in firmware, by open tools, compared with the DECADE paper and the budgets
of running triggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from trigemu_anomaly.trees import FixedEnsemble

from .project import Project
from .rtl import Resources, Routed, mapped, nextpnr, routed
from .sources import rebuilt
from .tools import MissingToolError
from .verilog_trees import trees_circuit

#: Resources of an XCVU9P (UltraScale Architecture and Product Data Sheet: Overview, DS890).
VU9P = {"lut": 1_182_240, "ff": 2_364_480, "dsp": 6_840, "bram": 2_160}
#: Delay that the vendor's `report_failfast` (Xilinx Tcl Store, designutils) grants a look-up table with its
#: net in UltraScale+ of speed grade −2; it asks to review a path of more levels than fit into the clock.
LEVEL_NS = 0.3


def of_model(fixed: FixedEnsemble) -> Resources:
    """Estimate the resources of the Verilog of a model."""
    return mapped(trees_circuit(fixed))


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
    """Latency and resources of a project."""

    trees: int
    split_nodes: int
    depth: int
    clock_mhz: float
    cycles: int  # From an event to its score
    resources: Resources | None  # For UltraScale+; None without yosys
    routes: tuple[Routed, ...]  # On an ECP5, one for each seed
    missing: dict[str, str]  # Program → how to install it

    @property
    def latency_ns(self) -> float:
        """The latency at the clock."""
        return self.cycles * 1000.0 / self.clock_mhz

    @property
    def path_ns(self) -> float | None:
        """The delay that the vendor grants so many levels; None without yosys."""
        return self.resources.levels * LEVEL_NS if self.resources else None

    @property
    def routed_mhz(self) -> float | None:
        """The median clock of the seeds, None without."""
        return median(route.mhz for route in self.routes) if self.routes else None


#: The steps of an estimate; the last one for each seed.
STEPS = ("Verilog", "resources: mapping by yosys", "placing and routing by nextpnr")


def estimate(
    project: Project,
    clock_mhz: float | None = None,
    seeds: int = 0,
    begun: Callable[[str], None] = lambda step: None,
) -> Estimate:
    """Estimate latency and resources of a project. clock_mhz: by default the clock of the project. seeds: how
    many times to place and route. begun: called with the name of each of the `STEPS`."""
    written, mapping, routing = STEPS
    missing: dict[str, str] = {}
    resources, routes = None, []
    if seeds:
        nextpnr()  # before the work starts, since it is needed at its end
    begun(written)
    with rebuilt(project, "verilog"):
        circuit = project.circuit
    begun(mapping)
    try:
        resources = mapped(circuit)
        for route in routed(circuit, range(1, seeds + 1)) if seeds else ():
            begun(routing)
            routes.append(route)
    except MissingToolError as error:
        missing[error.program] = error.hint
    trees = project.fixed.ensemble
    clock = project.manifest.clock_mhz if clock_mhz is None else clock_mhz
    return Estimate(
        trees.trees,
        trees.split_nodes,
        trees.depth,
        clock,
        circuit.latency,
        resources,
        tuple(routes),
        missing,
    )
