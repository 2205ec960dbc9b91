"""Latency and resources of firmware, by open tools, compared with the DECADE paper and the budgets of running
triggers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trigemu_anomaly.trees import FixedEnsemble

from trigemu.base.errors import TrigemuError

from .project import NAME, Project
from .sources import rebuilt, write_sources
from .tools import SYNTHESIS, Design, MissingToolError, find, run, scratch

#: Resources of an XCVU9P (UltraScale Architecture and Product Data Sheet: Overview, DS890).
VU9P = {"lut": 1_182_240, "ff": 2_364_480, "dsp": 6_840, "bram": 2_160}
#: Cells of yosys by the resource they use. Shift registers and inverters use look-up tables too, unless an
#: inverter is merged into a neighbour; a block RAM has two halves.
_LUT = ("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV", "SRL16E", "SRLC32E")
_FF = ("FDRE", "FDSE", "FDCE", "FDPE", "LDCE", "LDPE")
_CARRY = ("CARRY4", "CARRY8")
_DSP = ("DSP48E1", "DSP48E2")
_BRAM = {"RAMB36E1": 1.0, "RAMB36E2": 1.0, "RAMB18E1": 0.5, "RAMB18E2": 0.5}
#: Cells without resources: wires between other cells, or annotations of later versions of yosys.
_FREE = ("MUXF7", "MUXF8", "MUXF9", "$scopeinfo")
_SCRIPT = f"""
read_verilog design.v
synth_xilinx -family xcup -top {NAME} -flatten -noiopad -noclkbuf
tee -q -o statistics.json stat -json
"""


@dataclass(frozen=True)
class Resources:
    """Look-up tables, registers, carry cells of 4 or 8 bits, multipliers and block RAMs (of 36 kbit)."""

    lut: int
    ff: int
    carry: int
    dsp: int
    bram: float
    cells: Mapping[str, int]  # Number of cells in the netlist of yosys, by type

    @property
    def shares(self) -> dict[str, float]:
        """Fractions of the resources of an XCVU9P."""
        return {name: getattr(self, name) / total for name, total in VU9P.items()}


def of_model(fixed: FixedEnsemble) -> Resources:
    """Estimate the resources of conifer's VHDL for a model."""
    with scratch() as folder:
        write_sources(fixed, "vhdl", folder / "vhdl")
        return synthesised(folder / "vhdl")


def synthesised(project: Path) -> Resources:
    """Synthesise conifer's VHDL in a folder. MissingToolError if GHDL or yosys is not installed."""
    yosys = find("yosys")
    with scratch() as folder:
        Design(project, folder).verilog(folder / "design.v")
        (folder / "script.ys").write_text(_SCRIPT)
        run([yosys, "-q", "-s", "script.ys"], folder, limits=SYNTHESIS)
        return counted((folder / "statistics.json").read_text())


def counted(statistics: str) -> Resources:
    """Count resources in the output of `stat -json`. TrigemuError if it has cells of an unknown type."""
    cells: dict[str, int] = json.loads(statistics)["design"]["num_cells_by_type"]
    supported = {*_LUT, *_FF, *_CARRY, *_DSP, *_BRAM, *_FREE}
    if unknown := sorted(cells.keys() - supported):
        raise TrigemuError(f"yosys made cells of unknown type: {', '.join(unknown)}")

    lut, ff, carry, dsp = (sum(cells.get(name, 0) for name in kind) for kind in (_LUT, _FF, _CARRY, _DSP))
    bram = sum(share * cells.get(name, 0) for name, share in _BRAM.items())
    return Resources(lut, ff, carry, dsp, bram, cells)


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
    cycles: int | None  # From a valid input to its valid score, of the VHDL in simulation; None without GHDL
    resources: Resources | None  # Of the same VHDL; None without GHDL or yosys
    missing: dict[str, str]  # Program → how to install it

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
