"""What is read of ONNX files, against the package onnx; test_network_steps.py evaluates what is read."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_toys import linear, model
from trigemu_anomaly.onnx_graph import read_graph


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("raw", [True, False])
def test_types_of_weights(kind: type, raw: bool) -> None:
    """Numbers are in a field of their type, or raw; integers may be negative."""
    values = np.array([[1.5, 0, -2], [300, -(2**31), 7]]).astype(kind)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    data = values.tobytes() if raw else values.ravel().tolist()
    content = onnx.load_from_string(linear([1.0]))
    content.graph.initializer.append(helper.make_tensor("w", code, values.shape, data, raw=raw))
    own = read_graph(content.SerializeToString())["weights"]["w"]
    assert own.dtype == values.dtype
    np.testing.assert_array_equal(own, values)


def test_attributes() -> None:
    """Protobuf leaves zeros out; text and graphs are not read."""
    numbers = {"axis": 0, "alpha": 0.0, "axes": [0, 0], "more": [0.0]}
    then = helper.make_graph([], "g", [], [])
    node = helper.make_node("Toy", ["x"], ["y"], **numbers, then_branch=then, mode="linear")
    (own,) = read_graph(model([node], {}, 1))["nodes"]
    assert own["attributes"] == numbers | {"then_branch": None, "mode": None}


def test_types_that_are_not_read_and_other_files() -> None:
    content = onnx.load_from_string(linear([1.0]))
    half = helper.make_tensor("half", TensorProto.FLOAT16, [1], [1.0])
    outside = helper.make_tensor("outside", TensorProto.FLOAT, [1], [1.0])
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="/etc/passwd")
    content.graph.initializer.extend([half, outside])
    weights = read_graph(content.SerializeToString())["weights"]
    assert weights["half"] is None
    assert weights["outside"] is None
