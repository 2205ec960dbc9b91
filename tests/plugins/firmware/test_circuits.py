"""Integer networks in logic, alone and with trees and the cut as one circuit: all words of their inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tree_toys import random_trees
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.integer_file import FORMAT, read_integer_file
from trigemu_anomaly.models import open_model
from trigemu_anomaly.precision import Difference, PrecisionTable, TreeModel
from trigemu_firmware.block import block_of
from trigemu_firmware.circuit import simulate
from trigemu_firmware.network import network_circuit

from trigemu import TrigemuError

SCALES = [
    {"step": 1.0, "lowest": 0, "highest": 3},
    {"step": 0.5, "lowest": -8, "highest": 7},
    {"step": 2 * np.pi / 8, "lowest": 0, "highest": 7, "period": 8},
]
EXACT = "ap_fixed<16,16>"


def dense(name: str, of: str, kind: str, weight: list[int], outputs: int, **types: str) -> dict[str, Any]:
    accumulator = types.get("accumulator", EXACT)
    numbers = {"type": types.get("of_weight", "ap_fixed<4,4>"), "words": weight}
    bias = {"type": accumulator, "words": [1] * outputs}
    return {
        "kind": "dense",
        "name": name,
        "of": of,
        "type": kind,
        "accumulator": accumulator,
        "weight": numbers,
        "bias": bias,
    }


LAYERS: list[dict[str, Any]] = [
    {"kind": "input", "name": "x", "type": EXACT, "size": 3, "scales": SCALES},
    dense("one", "x", "ap_fixed<5,5,AP_TRN,AP_WRAP>", [1, -1, 0, 3, 2, -1], 2),
    dense("two", "x", "ap_fixed<6,5,AP_RND,AP_SAT>", [-3, 0, 2, 1, 0, 1], 2),
    {"kind": "relu", "name": "positive", "of": "two", "type": "ap_ufixed<3,3,AP_RND,AP_SAT>"},
    {"kind": "linear", "name": "wrapped", "of": "one", "type": "ap_fixed<3,3>"},
    {
        "kind": "table",
        "name": "bit",
        "of": "wrapped",
        "type": "ap_ufixed<1,1>",
        "first": -4,
        "words": [0, 1, 1, 0, 1, 0, 0, 1],
    },
    {"kind": "multiply", "name": "chosen", "of": ["positive", "bit"], "type": "ap_fixed<5,5>"},
    {"kind": "multiply", "name": "product", "of": ["two", "one"], "type": "ap_fixed<9,8,AP_TRN,AP_SAT>"},
    {
        "kind": "multiply",
        "name": "square",
        "of": ["product", "product"],
        "type": "ap_ufixed<9,8,AP_TRN,AP_SAT>",
    },
    {"kind": "maximum", "name": "larger", "of": ["chosen", "one"], "type": "ap_fixed<7,6>"},
    {"kind": "minimum", "name": "smaller", "of": ["two", "one"], "type": "ap_fixed<7,6>"},
    {"kind": "subtract", "name": "less", "of": ["larger", "smaller"], "type": "ap_fixed<8,7>"},
    {"kind": "add", "name": "more", "of": ["less", "two"], "type": "ap_fixed<8,7,AP_TRN,AP_SAT_SYM>"},
    {"kind": "concatenate", "name": "all", "of": ["more", "square"], "type": "ap_fixed<10,9>"},
    dense(
        "sum",
        "all",
        "ap_fixed<10,8>",
        [3, -2, 1, 5],
        1,
        accumulator="ap_fixed<15,13>",
        of_weight="ap_fixed<4,3>",
    ),
]


def content(layers: list[dict[str, Any]]) -> bytes:
    return json.dumps({"format": FORMAT, "name": "toy", "layers": layers}).encode()


def test_a_circuit_gives_the_words_of_the_network() -> None:
    model, network = open_model(content(LAYERS), 3), read_integer_file(content(LAYERS))
    circuit = network_circuit(network, "toy", 4)
    assert [kind.width for kind in circuit.inputs] == [2, 4, 3]
    assert circuit.latency == 4
    words = np.stack(np.meshgrid(range(4), range(-8, 8), range(8)), axis=-1).reshape(-1, 3)
    x = ((words + 0.5) * [scale["step"] for scale in SCALES]).astype(np.float32)
    expected = np.ldexp(model.score(x), circuit.output.fraction).astype(np.int64)
    assert len(np.unique(expected)) > 50
    np.testing.assert_array_equal(simulate(circuit, words), expected)


@pytest.mark.parametrize(("layer", "message"), [
    ({"kind": "shift", "name": "s", "of": "one", "type": "ap_fixed<5,5>", "by": [1, 0]},
     "its kind is 'shift'"),
    ({"kind": "linear", "name": "s", "of": "one", "type": "ap_fixed<4,4,AP_RND_INF>"},
     "expected one of AP_TRN"),
    (dense("s", "two", "ap_fixed<5,5>", [1, 1], 1, accumulator="ap_fixed<5,5>"),
     r"its accumulator ap_fixed<5,5> rounds each product"),
])  # fmt: skip
def test_layers_without_a_circuit(layer: dict[str, Any], message: str) -> None:
    network = read_integer_file(content([*LAYERS[:3], layer]))
    with pytest.raises(TrigemuError, match=f"layer 's' has no circuit: .*{message}"):
        network_circuit(network, "toy", 1)


TEXTS = ("n_photon", "jet[0].pt", "jet[0].phi")
BLOCK_SCALES = [SCALES[0], SCALES[1] | {"lowest": 0, "highest": 15}, SCALES[2]]
WEIGHTS = {"accumulator": "ap_fixed<16,14>", "of_weight": "ap_fixed<5,3>"}
BLOCK_LAYERS: list[dict[str, Any]] = [
    {"kind": "input", "name": "x", "type": EXACT, "size": 3, "scales": BLOCK_SCALES},
    dense("sum", "x", "ap_ufixed<7,6,AP_TRN,AP_SAT>", [7, 3, -5], 1, **WEIGHTS)
    | {"bias": {"type": EXACT, "words": [2]}},
]
PRECISION = PrecisionTable("ap_ufixed<6,3,AP_TRN,AP_SAT>", "ap_ufixed<6,3>", "ap_fixed<10,5>", (0, 1))


def models(**changes: Any) -> Difference:
    """The leading jet's pT has 6 bits in the trees, and the upper 4 of these in the network."""
    ensemble = random_trees(9, 3, features=2, seed=5)
    ensemble = replace(ensemble, threshold=np.abs(ensemble.threshold), value=np.clip(ensemble.value, -1, 1))
    trees = TreeModel(Inputs((), ("jet[0].pt", "photon[0].pt"), ()), "", ensemble, PRECISION)
    return replace(
        Difference(Inputs((), TEXTS, ()), open_model(content(BLOCK_LAYERS), 3), trees, threshold=6.21),
        **changes,
    )


@pytest.mark.parametrize(("clocks", "threshold"), [((1, 2), -3.0), ((4, 1), 6.25)])
def test_every_decision_is_that_of_the_integer_model(clocks: tuple[int, int], threshold: float) -> None:
    block = block_of(models(threshold=threshold), "n_photon >= 1", clocks)
    assert block.shared == {1: 0}
    assert [kind.width for kind in block.circuit.inputs] == [6, 6, 2, 3]
    assert block.circuit.latency == max(clocks[0], clocks[1] + 1) + 1
    grids = np.meshgrid(range(64), range(64), range(4), range(8))
    words = np.stack(grids, axis=-1).reshape(-1, 4)
    jet, photon = (words[:, 0] + 0.5) / 8, (words[:, 1] + 0.5) / 16
    features = np.column_stack([words[:, 2], jet, (words[:, 3] + 0.5) * BLOCK_SCALES[2]["step"]]).astype(
        np.float32
    )
    x = np.column_stack([jet, photon]).astype(np.float32)
    np.testing.assert_array_equal(block.inputs(features, x), words)
    difference = block.models.model.score(features) - block.trees.to_float(block.trees.predict(x))
    expected = (difference > threshold) & (words[:, 2] >= 1)
    np.testing.assert_array_equal(block.accepts(features, x), expected)
    assert 0.1 < expected.mean() < 0.9
    np.testing.assert_array_equal(simulate(block.circuit, words), expected)


def test_words_of_other_steps_have_ports_of_their_own() -> None:
    trees = replace(
        models().trees, precision=PrecisionTable("ap_ufixed<6,3>", "ap_ufixed<6,3>", "ap_fixed<10,5>")
    )
    block = block_of(models(trees=trees), None, (1, 1))  # the trees' input wraps
    assert block.shared == {}
    assert len(block.circuit.inputs) == 5


@pytest.mark.parametrize(("changes", "requires", "message"), [
    ({}, "n_jet >= 1", r"requires = 'n_jet >= 1': logic has n_OBJECT >= NUMBER"),
    ({}, "ht > 3", r"requires = 'ht > 3': logic has"),
    ({"trees": replace(models().trees, precision=None)}, None,
     "its trees have no types: give it a precision"),
    ({"model": None}, None, "its network has no integers: train it with trigemu decade train --quantise"),
])  # fmt: skip
def test_triggers_without_a_circuit(changes: dict[str, Any], requires: str | None, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        block_of(models(**changes), requires, (1, 1))
