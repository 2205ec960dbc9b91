"""Boosted trees in Verilog, as logic.

Comparators, one for each pair of an input and a threshold, are shared by all trees. Multiplexers find the
leaf of each tree, a bit for each level of its splits. Trees whose leaves have six bits together, most often
two, are one group: each bit of the sum of their leaves is one look-up table of six inputs. Counters of six
bits, then an adder, sum the groups. Leaves are counted from the lowest of their tree, so that words are short
and positive; the first group holds what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from trigemu_anomaly.trees import FixedEnsemble

from trigemu.base.errors import TrigemuError

from .circuit import Circuit, row

#: Inputs of a look-up table of UltraScale+, whose functions cost one table whatever they are.
LUT = 6
#: Most splits from root to leaf: the leaves of a tree are numbered by one bit for each level.
MAX_DEPTH = 10
#: Most leaves of all trees, if all paths were as long as the longest.
MAX_LEAVES = 1 << 16


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


def stages(depths: Sequence[int], clocks: int) -> set[int]:
    """Return after which layers of some depths registers are, so that the longest of `clocks` stages is as
    short as can be; the last layer has its registers."""
    last = len(depths) - 1
    if not 0 <= clocks <= len(depths):
        raise TrigemuError(
            f"{clocks} clocks: these trees can have 1 to {len(depths)}, one for each layer of logic"
        )

    def longest_first(cuts: tuple[int, ...]) -> list[int]:
        parts = np.split(np.array(depths), [cut + 1 for cut in cuts])
        return sorted((int(part.sum()) for part in parts), reverse=True)

    return {*min(combinations(range(last), clocks - 1), key=longest_first), last} if clocks else set()


class _Leaves(NamedTuple):
    """The leaves of one or more trees, counted by bits."""

    bits: list[str]  # Names of the bits, the first the highest
    words: list[int]  # Of all combinations of the bits


def trees_circuit(fixed: FixedEnsemble, clocks: int = 2, *, name: str = "trees") -> Circuit:
    """Return the circuit of trees, whose output is the word of their score. TrigemuError if the trees cannot
    be built, or could give another score than the emulation."""
    check(fixed)
    features, kind, score = fixed.ensemble.features, fixed.precision.input, fixed.precision.score
    cuts = [np.unique(fixed.cuts[fixed.ensemble.feature == feature]).tolist() for feature in range(features)]
    layers = [_comparators(fixed, cuts), *_logic(fixed, cuts)]
    after = stages([layer.depth for layer in layers], clocks)
    modules, lines, bus, width = "", "", "x", features * kind.width
    for number, layer in enumerate(layers):
        modules += layer.verilog(f"{name}_{layer.name}", width) + "\n"
        lines += f"    wire [{layer.bits - 1}:0] {layer.name};\n"
        lines += f"    {name}_{layer.name} u_{layer.name}(.i({bus}), .o({layer.name}));\n"
        bus, width = layer.name, layer.bits
        if number in after:
            bus += "_q"
            lines += f"    reg [{width - 1}:0] {bus};\n    always @(posedge clk) {bus} <= {layer.name};\n"
    ports = f"    input  wire clk,\n    input  wire [{features * kind.width - 1}:0] x,\n"
    ports += f"    output wire [{score.width - 1}:0] y\n"
    text = f"{modules}module {name}(\n{ports});\n{lines}    assign y = {bus};\nendmodule\n"
    return Circuit(name, text, (kind,) * features, score, clocks)


def check(fixed: FixedEnsemble) -> None:
    """Raise TrigemuError unless firmware can have these trees, and gives the same score in whatever order it
    adds."""
    trees, score = fixed.ensemble, fixed.precision.score
    if not 1 <= trees.depth <= MAX_DEPTH:
        raise TrigemuError(f"trees of {trees.depth} splits from root to leaf: expected 1 to {MAX_DEPTH}")
    if trees.trees << trees.depth > MAX_LEAVES:
        raise TrigemuError(
            f"{trees.trees} trees of depth {trees.depth} may have {trees.trees << trees.depth} leaves: "
            f"expected at most {MAX_LEAVES}"
        )
    if score.overflow == "AP_WRAP":
        return
    low, high = sums(fixed)
    if low < score.words[0] or high > score.words[1]:
        raise TrigemuError(
            f"score = {score}: sums of leaves may reach {low * score.step:.4g} or {high * score.step:.4g}, "
            f"and where they overflow the result depends on the order in which firmware adds: use more bits "
            f"before the point, or AP_WRAP"
        )


def sums(fixed: FixedEnsemble) -> tuple[int, int]:
    """Return the lowest and the highest word that a sum of the base and leaves of any trees may reach."""
    starts = fixed.ensemble.starts[:-1]
    words = np.where(fixed.ensemble.feature < 0, fixed.values, 0)
    low = np.minimum.reduceat(np.minimum(words, 0), starts).sum()
    high = np.maximum.reduceat(np.maximum(words, 0), starts).sum()
    return min(0, fixed.base) + int(low), max(0, fixed.base) + int(high)


def _comparators(fixed: FixedEnsemble, cuts: Sequence[Sequence[int]]) -> Layer:
    """Return a wire for each cut of each input, which is 1 unless the input is below the cut."""
    kind = fixed.precision.input
    wires = []
    for feature, some in enumerate(cuts):
        bits = [f"i[{feature * kind.width + bit}]" for bit in range(kind.width)]
        if kind.signed:  # with the sign inverted, words count from the lowest one
            bits[-1] = f"~{bits[-1]}"
        wires += [_reaches(bits, cut + (kind.signed << (kind.width - 1))) for cut in some]
    counts = ", ".join(str(len(some)) for some in cuts)
    return Layer("comparators", f"Comparators, one for each threshold of each input: {counts}.", wires, 3)


def _reaches(bits: Sequence[str], cut: int) -> str:
    """Return whether a number of these bits, the lowest first, is at or above a cut. The comparison of its
    upper bits can be shared with other cuts."""
    if cut >= 1 << len(bits):
        return "1'b0"
    lower = cut & ((1 << LUT) - 1)
    if len(bits) > LUT and lower:
        rest, high = bits[LUT:], cut >> LUT
        equal = " & ".join(bit if high >> k & 1 else f"~({bit})" for k, bit in enumerate(rest))
        return f"({_reaches(rest, high + 1)} | ({equal} & {_reaches(bits[:LUT], lower)}))"
    text = ""
    for k, bit in enumerate(bits):
        if cut >> k & 1:
            text = f"({bit} & {text})" if text else bit
        elif text:
            text = f"({bit} | {text})"
    return text or "1'b1"


def _logic(fixed: FixedEnsemble, cuts: Sequence[Sequence[int]]) -> list[Layer]:
    """Return the layers from the comparators to the score."""
    trees, leaves, base = _trees(fixed, cuts)
    width = fixed.precision.score.width
    wires: list[str] = []
    columns: list[list[str]] = [[] for _ in range(width)]
    for number, group in enumerate(_grouped(leaves)):
        words = [(word + (0 if number else base)) & ((1 << width) - 1) for word in group.words]
        for bit in range(width if number == 0 else max(words).bit_length()):
            columns[bit].append(f"i[{len(wires)}]")
            wires.append(_function(group.bits, sum((word >> bit & 1) << k for k, word in enumerate(words))))
    layers = [trees, Layer("groups", "Bits of the sums of the leaves of a few trees.", wires, 1)]
    while (height := max(map(len, columns))) > 2:
        # The largest height from which fewer layers of counters lead to two rows.
        target = max(goal for goal in _HEIGHTS if goal < height)
        wires, columns = _counted(columns, target)
        comment = f"Counters: at most {target} bits of each weight remain."
        layers.append(Layer(f"counters{len(layers) - 1}", comment, wires, 1))
    rows = [row(bits[0] if bits else "1'b0" for bits in columns)]
    if height == 2:
        rows.append(row(bits[1] if len(bits) > 1 else "1'b0" for bits in columns))
    layers.append(Layer("score", "The sum of the last rows.", [], 2, (width, " + ".join(rows))))
    return layers


#: Two rows are added; a counter of three makes 2 of 3 bits, counters of six half as many.
_HEIGHTS = (2, *(3 << k for k in range(16)))


def _trees(fixed: FixedEnsemble, cuts: Sequence[Sequence[int]]) -> tuple[Layer, list[_Leaves], int]:
    """Return the layer of multiplexers that number the leaf of each tree, the leaves counted from the lowest
    of their tree, and the base with all lowest leaves."""
    trees, base = fixed.ensemble, fixed.base
    pairs = [(feature, cut) for feature, some in enumerate(cuts) for cut in some]
    comparator = {pair: f"i[{k}]" for k, pair in enumerate(pairs)}
    wires: list[str] = []
    leaves = []
    for root in trees.starts[:-1].tolist():
        nodes, bits = [root], []
        while any(trees.feature[node] >= 0 for node in nodes):
            splits = [comparator.get((int(trees.feature[n]), int(fixed.cuts[n])), "") for n in nodes]
            bits.append(len(wires))
            wires.append(_chosen([f"o{bit}" for bit in bits[:-1]], splits))
            nodes = [
                child
                for n in nodes
                for child in ((int(trees.left[n]), int(trees.right[n])) if trees.feature[n] >= 0 else (n, n))
            ]
        words = fixed.values[nodes]
        base += int(words.min())
        leaves.append(_Leaves([f"i[{bit}]" for bit in bits], (words - words.min()).tolist()))
    depth = 1 + trees.depth // 2
    return Layer("trees", "Multiplexers: the number of the leaf of each tree.", wires, depth), leaves, base


def _chosen(bits: Sequence[str], values: Sequence[str]) -> str:
    """Return the value whose number is in the bits, the first the highest; an empty value is never used."""
    if not bits:
        return values[0]
    half = len(values) // 2
    low, high = _chosen(bits[1:], values[:half]), _chosen(bits[1:], values[half:])
    return (low or high) if low == high or not (low and high) else f"({bits[0]} ? {high} : {low})"


def _grouped(leaves: Sequence[_Leaves]) -> list[_Leaves]:
    """Return groups of trees of similar ranges that have the bits of one look-up table together."""
    groups: list[_Leaves] = []
    for tree in sorted(leaves, key=lambda tree: -max(tree.words)):
        fits = (k for k, group in enumerate(groups) if len(group.bits) + len(tree.bits) <= LUT)
        if (k := next(fits, None)) is None:
            groups.append(tree)
        else:
            words = [ours + theirs for ours in groups[k].words for theirs in tree.words]
            groups[k] = _Leaves(groups[k].bits + tree.bits, words)
    return groups


def _counted(columns: Sequence[Sequence[str]], target: int) -> tuple[list[str], list[list[str]]]:
    """Return one layer of counters, which leave at most `target` bits of each weight, and the bits after it.
    A counter takes three or six bits of one weight and gives their number."""
    wires: list[str] = []
    after: list[list[str]] = [[] for _ in columns]

    def add(weight: int, text: str) -> None:
        if weight < len(after):  # a score wraps
            after[weight].append(f"i[{len(wires)}]")
            wires.append(text)

    for weight, column in enumerate(columns):
        bits = [*column]
        while len(bits) > 1 and (excess := len(bits) + len(after[weight]) - target) > 0:
            size = min(len(bits), LUT if excess > 2 else 3)
            some, bits = bits[:size], bits[size:]
            for power in range(size.bit_length()):
                add(
                    weight + power,
                    _function(some, sum((k.bit_count() >> power & 1) << k for k in range(1 << size))),
                )
        for bit in bits:
            add(weight, bit)
    return wires, after


def _function(bits: Sequence[str], table: int) -> str:
    """Return the function of bits, the first the highest, whose value for number k is bit k of a table."""
    if table in (0, (1 << (1 << len(bits))) - 1):
        return f"1'b{table & 1}"
    half = 1 << (len(bits) - 1)
    low, high = table & ((1 << half) - 1), table >> half
    if low == high:
        return _function(bits[1:], low)
    name, zero, one = bits[0], _function(bits[1:], low), _function(bits[1:], high)
    return {
        ("1'b0", "1'b1"): name,
        ("1'b1", "1'b0"): f"~{name}",
    }.get((zero, one), f"({name} ? {one} : {zero})")
