"""Integer networks in logic, simulated for all words of their inputs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from trigemu_anomaly.integer_file import FORMAT, read_integer_file
from trigemu_anomaly.models import open_model
from trigemu_firmware.circuit import simulate
from trigemu_firmware.network import network_circuit

from trigemu import TrigemuError

SCALES = [
    {"step": 1.0, "lowest": 0, "highest": 3},
    {"step": 0.5, "lowest": -8, "highest": 7},
    {"step": 2 * np.pi / 8, "lowest": 0, "highest": 7, "period": 8},
]
PICK = {"type": "ap_fixed<2,2>"}
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


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            {"kind": "shift", "name": "s", "of": "one", "type": "ap_fixed<5,5>", "by": [1, 0]},
            "its kind is 'shift'",
        ),
        (
            {"kind": "linear", "name": "s", "of": "one", "type": "ap_fixed<4,4,AP_RND_INF>"},
            "expected one of AP_TRN",
        ),
        (
            dense("s", "two", "ap_fixed<5,5>", [1, 1], 1, accumulator="ap_fixed<5,5>"),
            r"its accumulator ap_fixed<5,5> rounds each product",
        ),
    ],
)
def test_layers_without_a_circuit(layer: dict[str, Any], message: str) -> None:
    network = read_integer_file(content([*LAYERS[:3], layer]))
    with pytest.raises(TrigemuError, match=f"layer 's' has no circuit: .*{message}"):
        network_circuit(network, "toy", 1)
