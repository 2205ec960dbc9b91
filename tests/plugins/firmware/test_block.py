"""A network, trees and the cut as one circuit, simulated for all words of its inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tree_toys import random_trees
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.integer_file import FORMAT
from trigemu_anomaly.models import open_model
from trigemu_anomaly.precision import Difference, PrecisionTable, TreeModel
from trigemu_firmware.block import block_of
from trigemu_firmware.circuit import simulate

from trigemu import TrigemuError

TEXTS = ("n_photon", "jet[0].pt", "jet[0].phi")
SCALES = [
    {"step": 1.0, "lowest": 0, "highest": 3},
    {"step": 0.5, "lowest": 0, "highest": 15},
    {"step": 2 * np.pi / 8, "lowest": 0, "highest": 7, "period": 8},
]
EXACT = "ap_fixed<16,16>"
LAYERS: list[dict[str, Any]] = [
    {"kind": "input", "name": "x", "type": EXACT, "size": 3, "scales": SCALES},
    {
        "kind": "dense",
        "name": "sum",
        "of": "x",
        "type": "ap_ufixed<7,6,AP_TRN,AP_SAT>",
        "accumulator": "ap_fixed<16,14>",
        "weight": {"type": "ap_fixed<5,3>", "words": [7, 3, -5]},
        "bias": {"type": EXACT, "words": [2]},
    },
]
PRECISION = PrecisionTable("ap_ufixed<6,3,AP_TRN,AP_SAT>", "ap_ufixed<6,3>", "ap_fixed<10,5>", (0, 1))


def models(**changes: Any) -> Difference:
    """The leading jet's pT has 6 bits in the trees, and the upper 4 of these in the network."""
    ensemble = random_trees(9, 3, features=2, seed=5)
    ensemble = replace(ensemble, threshold=np.abs(ensemble.threshold), value=np.clip(ensemble.value, -1, 1))
    content = json.dumps({"format": FORMAT, "name": "toy", "layers": LAYERS}).encode()
    trees = TreeModel(Inputs((), ("jet[0].pt", "photon[0].pt"), ()), "", ensemble, PRECISION)
    return replace(
        Difference(Inputs((), TEXTS, ()), open_model(content, 3), trees, threshold=6.21), **changes
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
    features = np.column_stack([words[:, 2], jet, (words[:, 3] + 0.5) * SCALES[2]["step"]]).astype(np.float32)
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


@pytest.mark.parametrize(
    ("changes", "requires", "message"),
    [
        ({}, "n_jet >= 1", r"requires = 'n_jet >= 1': logic has n_OBJECT >= NUMBER"),
        ({}, "ht > 3", r"requires = 'ht > 3': logic has"),
        (
            {"trees": replace(models().trees, precision=None)},
            None,
            "its trees have no types: give it a precision",
        ),
        ({"model": None}, None, "its network has no integers: train it with trigemu decade train --quantise"),
    ],
)
def test_triggers_without_a_circuit(changes: dict[str, Any], requires: str | None, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        block_of(models(**changes), requires, (1, 1))
