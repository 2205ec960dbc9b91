"""Latency and resources of circuits by open tools: mapped for UltraScale+, placed and routed on an ECP5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from trigemu import __version__
from trigemu.results.table import Column, Page, Table, in_json

from .circuit import DEVICE, PACKAGE, SPEED, Circuit, Resources, Routed, mapped, nextpnr, routed
from .project import Project
from .sources import CLOCK_MHZ

#: Resources of an XCVU9P (UltraScale Architecture and Product Data Sheet: Overview, DS890).
VU9P = {"lut": 1_182_240, "ff": 2_364_480, "dsp": 6_840, "bram": 2_160}
#: Delay that the vendor's `report_failfast` (Xilinx Tcl Store, designutils) grants a look-up table with its
#: net in UltraScale+ of speed grade −2; it asks to review a path of more levels than fit into the clock.
LEVEL_NS = 0.3
#: The DECADE paper (arXiv:2508.10224), and two triggers that it compares its trees with.
_OTHERS = (
    "The DECADE paper: 22 trees, 316 splits, 2 clocks of 250 MHz, 10,500 LUT and 630 registers, by C "
    "synthesis of conifer's HLS for an XCVU9P. Budgets: AXOL1TL 50 ns, GELATO 25 ns, both about 30,000 LUT."
)


@dataclass(frozen=True)
class Estimate:
    """Latency and resources of a circuit."""

    circuit: Circuit
    resources: Resources  # For UltraScale+
    routes: tuple[Routed, ...] = ()  # On an ECP5, one for each seed

    @property
    def mhz(self) -> float | None:
        """The median clock of the seeds, None without."""
        return median(route.mhz for route in self.routes) if self.routes else None


def estimate(circuit: Circuit, seeds: int = 0, begun: Callable[[str], None] = lambda step: None) -> Estimate:
    """Estimate latency and resources of a circuit. seeds: how many times to place and route. begun: called
    with the name of each step, of which there is one, and one for each seed."""
    if seeds:
        nextpnr()  # before the work starts, since it is needed at its end
    begun("mapping by yosys")
    resources, routes = mapped(circuit), list[Routed]()
    for route in routed(circuit, seeds) if seeds else ():
        begun("placing and routing by nextpnr")
        routes.append(route)
    return Estimate(circuit, resources, tuple(routes))


_COLUMNS = (
    Column("circuit", "label", "circuit"),
    Column("clocks", "count", "clocks"),
    Column("levels", "count", "levels"),
    Column("lut", "count", "LUT"),
    Column("ff", "count", "registers"),
    Column("carry", "count", "carry"),
    Column("dsp", "count", "DSP"),
    Column("bram", "count", "block RAM"),
)
_ROUTES = (
    Column("seed", "number", "seed", of=lambda route: str(route.seed)),
    Column("mhz", "number", "MHz", text="{:.1f}".format),
    Column("latency_ns", "number", "latency in ns", text="{:.1f}".format),
    Column("logic_ns", "number", "logic in ns", text="{:.1f}".format),
    Column("routing_ns", "number", "routing in ns", text="{:.1f}".format),
    Column("lut", "number", "LUT4", text="{:,}".format),
    Column("ff", "number", "registers", text="{:,}".format),
    Column("bram", "number", "block RAM", text="{:,}".format),
)


def parts(estimates: Sequence[Estimate]) -> list[dict[str, Any]]:
    """Return the numbers of some circuits, for tables and JSON."""
    return [
        {"circuit": each.circuit.name, "clocks": each.circuit.latency, **asdict(each.resources)}
        for each in estimates
    ]


def tables(estimates: Sequence[Estimate]) -> list[Table]:
    """Return a table of some circuits, and one of the seeds of the first."""
    first = estimates[0]
    routes = Table(_ROUTES, title=f"{DEVICE}-{SPEED}{PACKAGE}")
    for route in first.routes:
        routes.add_record(vars(route) | {"latency_ns": 1000.0 * first.circuit.latency / route.mhz})
    return [table for table in (Table.of(_COLUMNS, parts(estimates)), routes) if table.rows]


def notes(result: Estimate, clock_mhz: float | None = None) -> Iterator[str]:
    """Yield how the numbers of a circuit were obtained, and what its levels take, at most a clock."""
    resources, clocks = result.resources, result.circuit.latency
    yield (
        "Mapped by yosys for UltraScale+, neither placed nor routed; levels: look-up tables and carry chains "
        "on the longest path between registers. Of an XCVU9P: "
        f"{100 * resources.lut / VU9P['lut']:.2f} % of LUT, "
        f"{100 * resources.ff / VU9P['ff']:.2f} % of registers."
    )
    path = resources.levels * LEVEL_NS
    limit = f" of {1000.0 / clock_mhz:.1f}" if clock_mhz else ""
    yield (
        f"{resources.levels} levels take {path:.1f}{limit} ns, and {clocks} clocks of them "
        f"{path * clocks:.1f} ns, if each takes the {LEVEL_NS} ns that the vendor's report_failfast grants a "
        "table with its net (UltraScale+, speed grade −2): an estimate."
    )
    if result.mhz:
        every = [route.mhz for route in result.routes]
        yield (
            f"nextpnr, {DEVICE} of speed grade {SPEED}: median {result.mhz:.1f} MHz ({min(every):.1f} to "
            f"{max(every):.1f}), {1000.0 * clocks / result.mhz:.1f} ns for {clocks} clocks, placed and "
            "routed between registers, without pads."
        )


def estimate_page(project: Project, result: Estimate, clock_mhz: float = CLOCK_MHZ) -> Page:
    """Return what `trigemu firmware estimate` prints."""
    trees, types = project.fixed.ensemble, project.fixed.precision
    widths = f"{types.input.width}, {types.threshold.width} and {types.score.width}"
    clocks = project.circuit.latency
    lines = (
        f"{trees.trees} trees with {trees.split_nodes} splits; {widths} bits of inputs, thresholds and "
        f"score; {1000.0 * clocks / clock_mhz:.4g} ns in {clocks} clocks of {clock_mhz:g} MHz.",
        *notes(result, clock_mhz),
        _OTHERS,
    )
    return Page(tables([result]), [*lines])


def estimate_json(project: Project, result: Estimate, clock_mhz: float = CLOCK_MHZ) -> str:
    """Return the JSON document of `trigemu firmware estimate`."""
    trees, resources = project.fixed.ensemble, result.resources
    document = {
        "trees": trees.trees,
        "split_nodes": trees.split_nodes,
        "depth": trees.depth,
        "clock_mhz": clock_mhz,
        "cycles": project.circuit.latency,
        "latency_ns": 1000.0 * project.circuit.latency / clock_mhz,
        **asdict(resources),
        "path_ns": resources.levels * LEVEL_NS,
        "share_of_vu9p": {key: getattr(resources, key) / total for key, total in VU9P.items()},
        "routed": {
            "device": f"{DEVICE}-{SPEED}{PACKAGE}",
            "mhz": result.mhz,
            "seeds": [asdict(route) for route in result.routes],
        },
        "precision": {key: str(kind) for key, kind in vars(project.fixed.precision).items()},
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)
