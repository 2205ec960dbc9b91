"""ONNX models that may run for ever or take any memory are refused; others are read as they are."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_toys import linear, model
from trigemu_anomaly.network import Network
from trigemu_anomaly.onnx_graph import checked_graph

from trigemu import TrigemuError

TOTAL = helper.make_node("ReduceSum", ["x", "last"], ["t"], keepdims=0)
LAST = {"last": np.array([1])}


def of_shape(*nodes: onnx.NodeProto, **weights: np.ndarray) -> bytes:
    """The sum of the inputs and of an array `big`."""
    big = helper.make_node("ReduceSum", ["big"], ["b"], keepdims=0)
    full = [TOTAL, *nodes, big, helper.make_node("Add", ["t", "b"], ["y"])]
    return model(full, LAST | weights, 3)


def node(kind: str, inputs: str, output: str, **how: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **how)


def loop() -> bytes:
    """A loop of 2^62 rounds."""
    values = [
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in (("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("d", TensorProto.BOOL))
    ]
    body = helper.make_graph([node("Identity", "c", "d")], "body", values[:2], values[2:])
    rounds = helper.make_node("Loop", ["n", "true"], [], body=body)
    weights = LAST | {"n": np.array(2**62), "true": np.array(True)}
    return model([rounds, node("Identity", "t", "y"), TOTAL], weights, 3)


def with_function() -> bytes:
    result = onnx.load_from_string(linear([1.0, 2.0, 3.0]))
    result.functions.add(name="f", domain="own")
    return result.SerializeToString()  # type: ignore[no-any-return]


WHOLE = node("Cast", "t", "whole", to=TensorProto.INT64)
SELECTED = (node("NonZero", "x", "some"), node("Shape", "some", "s"), node("ConstantOfShape", "s", "big"))
BOMBS = {
    "loop": (loop(), "'Loop' with a graph of its own"),
    "function": (with_function(), "functions of its own"),
    "domain": (model([helper.make_node("Run", ["x"], ["y"], domain="own")], {}, 3), "domain 'own'"),
    "as long as a number": (of_shape(WHOLE, node("ConstantOfShape", "whole", "big")), "'ConstantOfShape'"),
    "as often as a number": (of_shape(WHOLE, node("Tile", "t whole", "big")), "'Tile'"),
    "as long as what is selected": (of_shape(*SELECTED), "depends on numbers of an event"),
    "damaged": (linear([1.0, 2.0, 3.0]) + b"\xff", "damaged"),
    "cut": (linear([1.0, 2.0, 3.0])[:-3], "damaged"),
    "enormous": (of_shape(node("ConstantOfShape", "s", "big"), s=np.array([10**6, 10**6])), "cannot be "),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused(kind: str) -> None:
    content, message = BOMBS[kind]
    with pytest.raises(TrigemuError, match=message) as error:
        Network(content, 3)
    assert len(str(error.value)) < 400


def test_shapes_that_depend_on_the_number_of_events_only_are_read() -> None:
    content = of_shape(node("Shape", "x", "s"), node("ConstantOfShape", "s", "big"))
    assert Network(content, 3).score(np.ones((2, 3), np.float32)).tolist() == [3.0, 3.0]


def test_every_damage_of_a_byte_gives_a_message_or_a_model() -> None:
    content = bytearray(linear([1.0, 2.0, 3.0]))
    messages = []
    for at in range(len(content)):
        for bit in (0x01, 0x80):
            content[at] ^= bit
            with suppress(TrigemuError):
                checked_graph(bytes(content))
                messages.append("")
            content[at] ^= bit
    assert 0 < len(messages) < 2 * len(content)
