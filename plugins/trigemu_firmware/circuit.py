"""Circuits in Verilog: layers of logic, with registers between some of them.

A circuit takes an event every clock and has no reset. Port `x` has the words of its inputs, the first in the
lowest bits; port `y` has the word of its output, `latency` clocks later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from trigemu_anomaly.fixed_point import ApFixed

from trigemu.base.errors import TrigemuError


@dataclass(frozen=True)
class Circuit:
    """A module in Verilog, with the types of its words."""

    name: str  # Of the top module
    verilog: str  # Text of all its modules
    inputs: tuple[ApFixed, ...]  # Of the words on `x`, the first in the lowest bits
    output: ApFixed
    latency: int  # Clocks from a word on `x` to its result on `y`; 0 without registers
    data: Mapping[str, str] = field(default_factory=dict)  # Files that the Verilog reads, by name

    @property
    def width(self) -> int:
        """The number of bits of `x`."""
        return sum(kind.width for kind in self.inputs)


@dataclass(frozen=True)
class Layer:
    """Logic between two places for registers."""

    name: str
    comment: str
    wires: Sequence[str]  # Expressions of the inputs `i[…]` and of wires before it, `o0`, `o1`, …
    depth: int  # Look-up tables on its longest path, about
    output: tuple[int, str] | None = None  # Number of bits and expression of its output; None: all wires

    @property
    def bits(self) -> int:
        """The number of bits of the output."""
        return self.output[0] if self.output else len(self.wires)

    def verilog(self, name: str, width: int) -> str:
        """Return the module of the layer, with an input of so many bits."""
        wires = "".join(f"    wire o{k} = {text};\n" for k, text in enumerate(self.wires))
        output = self.output[1] if self.output else row(f"o{k}" for k in range(self.bits))
        ports = f"input wire [{width - 1}:0] i, output wire [{self.bits - 1}:0] o"
        return f"// {self.comment}\nmodule {name}({ports});\n{wires}    assign o = {output};\nendmodule\n"


def row(bits: Iterable[str]) -> str:
    """Return the vector of bits, the first the lowest."""
    return "{" + ", ".join([*bits][::-1]) + "}"


def stages(layers: Sequence[Layer], clocks: int) -> set[int]:
    """Return after which layers registers are, so that the longest of `clocks` stages is as short as can
    be; the last layer has its registers."""
    last = len(layers) - 1
    if not 0 <= clocks <= len(layers):
        raise TrigemuError(
            f"{clocks} clocks: these trees can have 1 to {len(layers)}, one for each layer of logic"
        )

    def depths(cuts: tuple[int, ...]) -> list[int]:
        ends = [*cuts, last]
        begins = [0, *(cut + 1 for cut in cuts)]
        return sorted(
            (sum(part.depth for part in layers[a : b + 1]) for a, b in zip(begins, ends, strict=True)),
            reverse=True,
        )

    return {*min(combinations(range(last), clocks - 1), key=depths), last} if clocks else set()


def connect(name: str, width: int, layers: Sequence[Layer], after: set[int]) -> tuple[str, str, str]:
    """Return the modules of layers, lines that connect them from `x` on with registers after some, and the
    name of the last bus."""
    modules, lines, bus = "", "", "x"
    for number, layer in enumerate(layers):
        unit, bits = f"{name}_{layer.name}", layer.bits
        modules += layer.verilog(unit, width) + "\n"
        lines += f"    wire [{bits - 1}:0] {layer.name};\n"
        lines += f"    {unit} u_{layer.name}(.i({bus}), .o({layer.name}));\n"
        bus, width = layer.name, bits
        if number in after:
            bus += "_q"
            lines += f"    reg [{bits - 1}:0] {bus};\n    always @(posedge clk) {bus} <= {layer.name};\n"
    return modules, lines, bus


def top(name: str, width: int, bits: int, lines: str, bus: str) -> str:
    """Return the top module, whose output of so many bits is a bus of its lines."""
    ports = f"    input  wire clk,\n    input  wire [{width - 1}:0] x,\n    output wire [{bits - 1}:0] y\n"
    return f"module {name}(\n{ports});\n{lines}    assign y = {bus};\nendmodule\n"
