"""Networks that are valid for ONNX and absurd for a trigger."""

from __future__ import annotations

from collections.abc import Callable
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


def _node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(kind, inputs.split(), [output], **attributes)


def _mean(of: str, *nodes: Any) -> bytes:
    """A network whose score is the mean of a row of what the nodes give."""
    return _whole([*nodes, _node("ReduceMean", of, "y", axes=[1], keepdims=0)], {})


def _cast(to: str) -> bytes:
    """The mean as another type."""
    import onnx

    kind = getattr(onnx.TensorProto, to)
    mean = _node("ReduceMean", "x", "m", axes=[1], keepdims=0)
    return _whole([mean, _node("Cast", "m", "y", to=kind)], {}, output_type=kind)


def _long(size: int) -> bytes:
    count = min(size, 3000)
    nodes = [_node("Tanh", "x" if i == 0 else f"t{i - 1}", f"t{i}") for i in range(count)]
    return _mean(f"t{count - 1}", *nodes)


def _outside(size: int) -> bytes:
    """Weights in another file."""
    import onnx
    from onnx.external_data_helper import set_external_data

    made = onnx.load_from_string(
        _whole([_node("MatMul", "x c", "y")], {"c": np.ones((6, 1), "f4")}, output=("n", 1))
    )
    tensor = made.graph.initializer[0]
    set_external_data(tensor, location="/etc/passwd" if size % 2 else "../menu.toml", offset=0, length=24)
    tensor.ClearField("raw_data")
    content: bytes = made.SerializeToString()
    return content


_MAKERS: dict[str, Callable[[int], bytes]] = {
    "random": lambda _: _mean("z", _node("RandomNormalLike", "x", "r"), _node("Add", "x r", "z")),
    # The score of a row depends on the other rows.
    "across": lambda _: _mean("z", _node("ReduceMean", "x", "m", axes=[0]), _node("Sub", "x m", "z")),
    "several": lambda _: _whole([_node("Identity", "x", "y")], {}, output=("n", 6)),
    "whole numbers": lambda _: _cast("INT64"),
    "texts": lambda _: _cast("STRING"),
    "not finite": lambda _: _mean("z", _node("Sub", "x x", "o"), _node("Div", "x o", "z")),
    "long": _long,
    "foreign": lambda _: _whole([_node("Evil", "x", "y", domain="com.example")], {}),
    "outside": _outside,
}
KINDS = tuple(_MAKERS)
