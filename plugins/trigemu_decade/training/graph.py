"""Networks as ONNX graphs: an autoencoder and its score, from raw features on; and Y(x)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from .autoencoder import LEAST, PADDING, TINY, Block, Network, Standard

#: Supported by ONNX Runtime since 2022; the newest versions of `onnx` may not be.
OPSET, IR_VERSION = 17, 8


def onnx_model(
    network: Network, standard: Standard, blocks: Sequence[Block], variational: bool = False
) -> bytes:
    """Return a model of raw features float32[n, k], with mask, standardisation and score inside, so that the
    score does not depend on the runtime. variational: the score is the sum of the squares of the outputs. A
    padded block is present if its first entry, its pT, differs from the padding."""
    graph = _Graph()
    k = len(standard.mean)
    present = _mask(graph, blocks, k)
    values = "features"
    if standard.log:
        logged = np.isin(np.arange(k), standard.log)
        least = graph.node("Max", values, graph.constant(np.array([LEAST])))
        values = graph.node("Where", graph.constant(logged, np.bool_), graph.node("Log", least), values)
    centred = graph.node("Sub", values, graph.constant(standard.mean))
    scaled = graph.node("Div", centred, graph.constant(standard.std))
    x = graph.node("Mul", scaled, present)
    hidden = _dense(graph, network, x)
    axes = graph.constant(np.array([1]), np.int64)
    if variational:
        graph.node("ReduceSum", graph.node("Mul", hidden, hidden), axes, output="score", keepdims=0)
        return graph.model(k)
    difference = graph.node("Mul", graph.node("Sub", hidden, x), present)
    square = graph.node("ReduceSum", graph.node("Mul", difference, difference), axes, keepdims=0)
    count = graph.node("ReduceSum", present, axes, keepdims=0)
    mean = graph.node("Div", square, graph.node("Max", count, graph.constant(np.ones(1))))
    graph.node("Log", graph.node("Add", mean, graph.constant(np.array([TINY]))), output="score")
    return graph.model(k)


def quantile_model(network: Network, features: int) -> bytes:
    """Return Y(x) of observables, whose encoding (`regression.encoded`) is part of it."""
    graph = _Graph()
    shifted = graph.node("Add", graph.node("Abs", "features"), graph.constant(np.ones(1)))
    missing = graph.node("Equal", "features", graph.constant(np.zeros(1)))
    present = graph.node("Cast", graph.node("Not", missing), to=TensorProto.FLOAT)
    x = graph.node("Concat", "features", graph.node("Log", shifted), present, axis=1)
    axes = graph.constant(np.array([1]), np.int64)
    graph.node("Squeeze", _dense(graph, network, x), axes, output="score")
    return graph.model(features)


def _dense(graph: _Graph, network: Network, hidden: str) -> str:
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        hidden = graph.node("Gemm", hidden, graph.constant(weight), graph.constant(bias))
        if layer < len(network.weights) - 1:
            hidden = graph.node("Relu", hidden)
    return hidden


def _mask(graph: _Graph, blocks: Sequence[Block], k: int) -> str:
    """Return a mask float32[n, k] of present objects: the first entry of a block is no padding."""
    first = np.arange(k)
    always = np.zeros(k, np.float32)
    for start, stop, padded in blocks:
        first[start:stop] = start
        always[start:stop] = not padded
    key = graph.node("Gather", "features", graph.constant(first, np.int64), axis=1)
    missing = graph.node("Equal", key, graph.constant(np.array([PADDING])))
    present = graph.node("Cast", graph.node("Not", missing), to=TensorProto.FLOAT)
    return graph.node("Max", present, graph.constant(always))


class _Graph:
    """Nodes and constants, named by number so that equal models have identical bytes."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, values: npt.NDArray[Any], kind: type[np.generic] = np.float32) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values, kind), name))
        return name

    def node(self, operation: str, *inputs: str, output: str = "", **attributes: int) -> str:
        output = output or f"{operation.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    def model(self, features: int) -> bytes:
        graph = helper.make_graph(
            self._nodes,
            "score",
            [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", features])],
            [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n"])],
            self._constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="trigemu",
        )
        onnx.checker.check_model(model)
        content: bytes = model.SerializeToString(deterministic=True)
        return content
