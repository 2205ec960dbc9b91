"""Networks that are valid for ONNX and absurd for a trigger."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


def odd() -> st.SearchStrategy[bytes]:
    """Draw a network with random numbers, state, strings or other types and shapes."""
    return st.builds(built, st.sampled_from(KINDS), st.sampled_from((1, 3, 1000, 10**6, 10**9, 2**40, 2**62)))


def built(kind: str, size: int) -> bytes:
    """Return a network of a kind."""
    return _MAKERS[kind](size)


def _whole(nodes: list[Any], weights: dict[str, np.ndarray], **others: Any) -> bytes:
    from onnx_toys import model

    return model(nodes, weights, 6, **others)


def _node(*given: Any, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(*given, **attributes)


def _row_sum(name: str = "x") -> Any:
    return _node("ReduceMean", [name], ["y"], axes=[1], keepdims=0)


def _random(size: int) -> bytes:
    return _whole(
        [_node("RandomNormalLike", ["x"], ["r"]), _node("Add", ["x", "r"], ["z"]), _row_sum("z")], {}
    )


def _across(size: int) -> bytes:
    """The score of a row depends on the other rows."""
    return _whole(
        [_node("ReduceMean", ["x"], ["m"], axes=[0]), _node("Sub", ["x", "m"], ["z"]), _row_sum("z")], {}
    )


def _several(size: int) -> bytes:
    return _whole([_node("Identity", ["x"], ["y"])], {}, output=("n", 6))


def _whole_numbers(size: int) -> bytes:
    from onnx import TensorProto

    cast = _node("Cast", ["m"], ["y"], to=TensorProto.INT64)
    mean = _node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=0)
    return _whole([mean, cast], {}, output_type=TensorProto.INT64)


def _texts(size: int) -> bytes:
    from onnx import TensorProto

    cast = _node("Cast", ["m"], ["y"], to=TensorProto.STRING)
    mean = _node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=0)
    return _whole([mean, cast], {}, output_type=TensorProto.STRING)


def _not_finite(size: int) -> bytes:
    return _whole([_node("Sub", ["x", "x"], ["o"]), _node("Div", ["x", "o"], ["z"]), _row_sum("z")], {})


def _long(size: int) -> bytes:
    count = min(size, 3000)
    nodes = [_node("Tanh", ["x" if i == 0 else f"t{i - 1}"], [f"t{i}"]) for i in range(count)]
    return _whole([*nodes, _row_sum(f"t{count - 1}")], {})


def _foreign(size: int) -> bytes:
    return _whole([_node("Evil", ["x"], ["y"], domain="com.example")], {})


def _outside(size: int) -> bytes:
    """Weights in another file."""
    import onnx
    from onnx.external_data_helper import set_external_data

    made = onnx.load_from_string(
        _whole([_node("MatMul", ["x", "c"], ["y"])], {"c": np.ones((6, 1), "f4")}, output=("n", 1))
    )
    tensor = made.graph.initializer[0]
    set_external_data(tensor, location="/etc/passwd" if size % 2 else "../menu.toml", offset=0, length=24)
    tensor.ClearField("raw_data")
    content: bytes = made.SerializeToString()
    return content


_MAKERS = {
    **{"random": _random, "across": _across, "several": _several, "whole numbers": _whole_numbers},
    **{"texts": _texts, "not finite": _not_finite, "long": _long, "foreign": _foreign, "outside": _outside},
}
KINDS = tuple(_MAKERS)
