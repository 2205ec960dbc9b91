"""Resources of firmware on an FPGA: GHDL converts conifer's VHDL to Verilog, yosys maps it to UltraScale+.

This is an estimate: yosys does not place or route, does not combine small tables as Vivado does, and has no
timing. conifer's HLS is a different circuit, which only Vitis HLS can synthesise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trigemu.api import TrigemuError
from trigemu_anomaly import FixedEnsemble

from .project import NAME
from .sources import write_sources
from .tools import SYNTHESIS, find, run, scratch
from .vhdl import Design

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
    """Look-up tables, registers, carry cells of 4 or 8 bits, multipliers and block RAMs (of 36 kbit).

    cells: number of cells in the netlist of yosys, by type.
    """

    lut: int
    ff: int
    carry: int
    dsp: int
    bram: float
    cells: Mapping[str, int]

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

    def count(names: tuple[str, ...]) -> int:
        return sum(cells.get(name, 0) for name in names)

    bram = sum(share * cells.get(name, 0) for name, share in _BRAM.items())
    return Resources(count(_LUT), count(_FF), count(_CARRY), count(_DSP), bram, cells)
