"""Small networks as ONNX models, and the cards that describe them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(
    nodes: Sequence[onnx.NodeProto],
    weights: dict[str, np.ndarray],
    features: int | str,
    *,
    rows: int | str = "n",
    output: Sequence[int | str] = ("n",),
    output_type: int = TensorProto.FLOAT,
    more_outputs: Sequence[str] = (),
) -> bytes:
    """x float32[rows, features] → y."""
    made = [helper.make_tensor_value_info(name, output_type, list(output)) for name in ("y", *more_outputs)]
    graph = helper.make_graph(
        list(nodes),
        "toy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, features])],
        made,
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = whole.SerializeToString()
    return content


def linear(coefficients: Sequence[float], *, flat: bool = True) -> bytes:
    """y = Σ c x, of shape [n], or [n, 1]."""
    weights = {"c": np.array(coefficients, np.float32)[:, None]}
    product = helper.make_node("MatMul", ["x", "c"], ["p" if flat else "y"])
    if not flat:
        return model([product], weights, len(coefficients), output=("n", 1))
    flatten = helper.make_node("Squeeze", ["p", "last"], ["y"])
    return model([product, flatten], weights | {"last": np.array([1])}, len(coefficients))


def autoencoder(features: int, widths: Sequence[int], activation: str, seed: int = 1) -> bytes:
    """Mean squared error of a network of several dense layers."""
    rng = np.random.default_rng(seed)
    nodes, weights = [], {}
    layer = "x"
    sizes = (features, *widths, features)
    for i, (before, after) in enumerate(pairwise(sizes)):
        weights[f"w{i}"] = rng.normal(0, before**-0.5, (before, after)).astype(np.float32)
        weights[f"b{i}"] = rng.normal(0, 1, after).astype(np.float32)
        nodes.append(helper.make_node("Gemm", [layer, f"w{i}", f"b{i}"], [f"g{i}"]))
        layer = f"g{i}"
        if i < len(widths):
            nodes.append(helper.make_node(activation, [layer], [f"a{i}"]))
            layer = f"a{i}"
    nodes += [
        helper.make_node("Sub", [layer, "x"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["q"]),
        helper.make_node("ReduceMean", ["q"], ["y"], axes=[1], keepdims=0),
    ]
    return model(nodes, weights, features)


def write_card(
    folder: Path, content: bytes, inputs: Sequence[tuple[Sequence[str], float | None]], more: str = ""
) -> Path:
    """folder/card.toml and folder/model.onnx; `more` is TOML that stands before [network]."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    text = f'{more}\n[network]\nfile = "model.onnx"\nsha256 = "{digest}"\n'
    for observables, padding in inputs:
        text += f"\n[[network.inputs]]\nobservables = {list(observables)}\n"
        text += "" if padding is None else f"padding = {padding}\n"
    card = folder / "card.toml"
    card.write_text(text)
    return card
