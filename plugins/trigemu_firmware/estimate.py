"""Latency and resources of trees in firmware, by open tools, compared with the DECADE paper and the budgets
of running triggers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median

from trigemu_anomaly.trees import FixedEnsemble

from trigemu import __version__
from trigemu.results.table import Column, Page, Table, in_json

from .circuit import DEVICE, PACKAGE, SPEED, Resources, Routed, mapped, nextpnr, routed
from .project import Project
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

    project: Project
    clock_mhz: float
    resources: Resources | None  # For UltraScale+; None without yosys
    routes: tuple[Routed, ...]  # On an ECP5, one for each seed
    missing: dict[str, str]  # Program → how to install it

    @property
    def cycles(self) -> int:
        """The clocks from an event to its score."""
        return self.project.circuit.latency

    @property
    def path_ns(self) -> float | None:
        """The delay that the vendor grants so many levels; None without yosys."""
        return self.resources.levels * LEVEL_NS if self.resources else None

    @property
    def routed_mhz(self) -> float | None:
        """The median clock of the seeds, None without."""
        return median(route.mhz for route in self.routes) if self.routes else None

    @property
    def numbers(self) -> dict[str, float | None]:
        """The numbers of `_LABELS`, by their keys; resources are None without yosys."""
        trees = self.project.fixed.ensemble
        return {
            "trees": trees.trees,
            "split_nodes": trees.split_nodes,
            "clock_mhz": self.clock_mhz,
            "cycles": self.cycles,
            "latency_ns": self.cycles * 1000.0 / self.clock_mhz,
            **{key: getattr(self.resources, key, None) for key in _RESOURCES},
        }

    @property
    def shares(self) -> dict[str, float]:
        """The fractions of the resources of an XCVU9P; empty without yosys."""
        used = self.numbers
        return {key: (used[key] or 0.0) / total for key, total in VU9P.items() if self.resources}


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
    resources, routes = None, list[Routed]()
    if seeds:
        nextpnr()  # before the work starts, since it is needed at its end
    begun(written)
    with project.rebuilt("verilog"):
        circuit = project.circuit
    begun(mapping)
    try:
        resources = mapped(circuit)
        for route in routed(circuit, seeds) if seeds else ():
            begun(routing)
            routes.append(route)
    except MissingToolError as error:
        missing[error.program] = error.hint
    return Estimate(project, clock_mhz or project.manifest.clock_mhz, resources, tuple(routes), missing)


_RESOURCES = {
    "lut": "LUT",
    "ff": "registers",
    "carry": "carry cells",
    "dsp": "DSP",
    "bram": "block RAM (36 kbit)",
    "levels": "levels of logic",
}
#: Number of an estimate, by its key in JSON → its label.
_LABELS = {
    "trees": "trees",
    "split_nodes": "split nodes",
    "clock_mhz": "clock in MHz",
    "cycles": "clocks",
    "latency_ns": "latency in ns",
    **_RESOURCES,
}
_MAPPED = "mapped by yosys for UltraScale+, neither placed nor routed, without timing"
_LEVELS = "look-up tables and carry chains on the longest path between registers"


def estimate_json(result: Estimate) -> str:
    """Return the JSON document of `trigemu firmware estimate`; null where a tool is missing."""
    project, types = result.project, result.project.fixed.precision
    document = {
        **result.numbers,
        "form": project.manifest.form,
        "path_ns": result.path_ns,
        "share_of_vu9p": result.shares or None,
        "cells": result.resources and dict(result.resources.cells),
        "routed": {
            "device": f"{DEVICE}-{SPEED}{PACKAGE}",
            "mhz": result.routed_mhz,
            "seeds": [asdict(route) for route in result.routes],
        },
        "depth": project.fixed.ensemble.depth,
        "precision": {key: str(kind) for key, kind in vars(types).items()},
        "kind": {**dict.fromkeys(_RESOURCES, _MAPPED), "levels": _LEVELS},
        "missing": result.missing,
        "published": [asdict(other) for other in (PAPER, *BUDGETS)],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}"


_ROUTES = (
    Column("seed", "number", "seed", of=lambda route: str(route.seed)),
    Column("mhz", "number", "MHz", "", "{:.1f}".format),
    Column("latency_ns", "number", "latency in ns", "", "{:.1f}".format),
    Column("logic_ns", "number", "logic in ns", "", "{:.1f}".format),
    Column("routing_ns", "number", "routing in ns", "", "{:.1f}".format),
    Column("lut", "number", "LUT4", "", _cell),
    Column("ff", "number", "registers", "", _cell),
    Column("bram", "number", "block RAM", "", _cell),
)


def estimate_page(result: Estimate) -> Page:
    """Return what `trigemu firmware estimate` prints."""
    others = {other.name: other for other in (PAPER, *BUDGETS)}
    columns = (Column(name, "number", name) for name in ("here", "of a VU9P", *others))
    table = Table((Column("", "label", ""), *columns))
    types, shares, numbers = result.project.fixed.precision, result.shares, result.numbers
    for key, label in _LABELS.items():
        share = f"{100 * shares[key]:.2f} %" if key in shares else ""
        published = (_cell(getattr(other, key, None)) for other in others.values())
        table.add(label, _cell(numbers[key]), share, *published)
        if key == "split_nodes":
            bits = f"{types.input.width} / {types.threshold.width} / {types.score.width}"
            table.add("bits: inputs / thresholds / score", bits, "", "– / 12 / 16")
    routes = Table(_ROUTES, title=f"{DEVICE}-{SPEED}{PACKAGE}")
    for route in result.routes:
        routes.add_record(vars(route) | {"latency_ns": 1000.0 * result.cycles / route.mhz})
    return Page([table, routes] if routes.rows else [table], [*_notes(result)])


def _notes(result: Estimate) -> Iterator[str]:
    """Yield how each column of numbers was obtained."""
    yield f"here, resources: {_MAPPED}; levels: {_LEVELS}."
    if result.path_ns:
        yield (
            f"{_cell(result.numbers['levels'])} levels take {result.path_ns:.1f} of "
            f"{1000.0 / result.clock_mhz:.1f} ns if each takes the {LEVEL_NS} ns that the vendor's "
            f"report_failfast grants a table with its net (UltraScale+, speed grade −2): an estimate."
        )
    if result.routed_mhz:
        clocks = sorted(route.mhz for route in result.routes)
        yield (
            f"nextpnr, {DEVICE} of speed grade {SPEED}: median {result.routed_mhz:.1f} MHz "
            f"({clocks[0]:.1f} to {clocks[-1]:.1f}), {1000.0 * result.cycles / result.routed_mhz:.1f} ns "
            f"for {result.cycles} clocks, placed and routed between registers, without pads."
        )
    for other in (PAPER, *BUDGETS):
        yield f"{other.name}: {other.kind}."
    if result.cycles:
        needed = [f"{1000.0 * result.cycles / b.latency_ns:.0f} MHz for {b.name}" for b in BUDGETS]
        yield f"{result.cycles} clocks are within a budget from {' and '.join(needed)}."
    for program, hint in result.missing.items():
        yield f"{program} is not installed: {hint}."
