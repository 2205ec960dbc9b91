"""Random ONNX graphs of the operators that become machine code, and what a model gives in float64 and by ONNX
Runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_toys import model


@dataclass
class Graph:
    """Grows node by node. values: names and widths of values float[n, width]."""

    rng: np.random.Generator
    features: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    values: list[tuple[str, int]] = field(default_factory=list)

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((scale * self.rng.normal(size=shape)).astype(np.float32))

    def constant(self, values: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = values
        return name

    def node(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def any(self) -> tuple[str, int]:
        return self.values[self.rng.integers(len(self.values))]


def _dense(g: Graph) -> tuple[str, int]:
    x, n = g.any()
    m = int(g.rng.integers(1, 20))
    if g.rng.random() < 0.5:
        return g.node("MatMul", x, g.weight(n, m, scale=n**-0.5)), m
    transposed = bool(g.rng.random() < 0.5)
    w = g.weight(*((m, n) if transposed else (n, m)), scale=n**-0.5)
    return g.node("Gemm", x, w, g.weight(m), transB=int(transposed), alpha=0.5, beta=1.5), m


def _unary(kind: str, **attributes: object) -> Callable[[Graph], tuple[str, int]]:
    def make(g: Graph) -> tuple[str, int]:
        x, n = g.any()
        return g.node(kind, x, **attributes), n

    return make


def _positive(kind: str) -> Callable[[Graph], tuple[str, int]]:
    """Of |x| + 0.5, or exp of tanh x, so that results stay of order 1."""

    def make(g: Graph) -> tuple[str, int]:
        x, n = g.any()
        if kind == "Exp":
            return g.node("Exp", g.node("Tanh", x)), n
        above = g.node("Add", g.node("Abs", x), g.constant(np.array([0.5], np.float32)))
        if kind == "Pow":
            return g.node("Pow", above, g.constant(np.array([0.5], np.float32))), n
        return (g.node("Div", x, above) if kind == "Div" else g.node(kind, above)), n

    return make


def _binary(kind: str) -> Callable[[Graph], tuple[str, int]]:
    def make(g: Graph) -> tuple[str, int]:
        x, n = g.any()
        others = [name for name, width in g.values if width == n]
        other = others[g.rng.integers(len(others))] if g.rng.random() < 0.5 else g.weight(n)
        return g.node(kind, x, other), n

    return make


def _moved(g: Graph) -> tuple[str, int]:
    x, n = g.any()
    kind = g.rng.integers(5)
    if kind == 0:
        m = int(g.rng.integers(1, 8))
        return g.node("Gather", x, g.constant(g.rng.integers(0, n, m)), axis=1), m
    if kind == 1:
        stop = int(g.rng.integers(1, n + 1))
        ends = [g.constant(np.array([i])) for i in (0, stop, 1)]
        return g.node("Slice", x, *ends), stop
    if kind == 2:
        y, m = g.any()
        return g.node("Concat", x, y, axis=1), n + m
    if kind == 3:
        return g.node("Reshape", x, g.constant(np.array([-1, n]))), n
    return g.node("Flatten", g.node("Identity", x), axis=1), n


def _masked(g: Graph) -> tuple[str, int]:
    """What masks of missing objects are made of."""
    n = g.features
    there = g.node("Not", g.node("Equal", "x", g.constant(np.array([0.0], np.float32))))
    if g.rng.random() < 0.5:
        return g.node("Cast", there, to=TensorProto.FLOAT), n
    return g.node("Where", there, "x", g.weight(n)), n


def _reduced(g: Graph) -> tuple[str, int]:
    x, _ = g.any()
    kind = str(g.rng.choice(["ReduceMean", "ReduceSumSquare"]))
    if kind == "ReduceSumSquare":
        x = g.node("Tanh", x)
    return g.node(kind, x, axes=[1], keepdims=1), 1


def _summed(g: Graph) -> tuple[str, int]:
    return g.node("ReduceSum", g.node("Tanh", g.any()[0]), g.constant(np.array([1])), keepdims=1), 1


def _clipped(g: Graph) -> tuple[str, int]:
    x, n = g.any()
    low, high = (g.constant(np.array(value, np.float32)) for value in (-1.0, 2.0))
    return g.node("Clip", x, low, high), n


STEPS: tuple[Callable[[Graph], tuple[str, int]], ...] = (
    _dense, _dense, _dense, _moved, _masked, _reduced, _summed, _clipped,
    *(_unary(kind) for kind in ("Relu", "Sigmoid", "Tanh", "Abs", "Neg")),
    _unary("LeakyRelu", alpha=0.1),
    *(_binary(kind) for kind in ("Add", "Sub", "Mul", "Min", "Max")),
    *(_positive(kind) for kind in ("Sqrt", "Log", "Pow", "Exp", "Div")),
)  # fmt: skip


def random_graph(seed: int) -> tuple[bytes, int]:
    """Return a model with one score per event, and its number of features."""
    rng = np.random.default_rng(seed)
    g = Graph(rng, int(rng.integers(1, 30)))
    g.values.append(("x", g.features))
    for _ in range(int(rng.integers(3, 30))):
        g.values.append(STEPS[rng.integers(len(STEPS))](g))
    squashed = [g.node("Tanh", name) for name, _ in g.values[-4:]]
    whole = g.node("Concat", *squashed, axis=1) if len(squashed) > 1 else squashed[0]
    flat = bool(rng.random() < 0.5)
    mean = helper.make_node("ReduceMean", [whole], ["y"], axes=[1], keepdims=int(not flat))
    return model([*g.nodes, mean], g.weights, g.features, output=("n",) if flat else ("n", 1)), g.features


def in_double(content: bytes, x: np.ndarray) -> np.ndarray:
    """Scores float64[n], from the reference implementation of ONNX (NumPy) on the same weights."""
    model = onnx.load_from_string(content)
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(weight).astype(np.float64)
            weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    with np.errstate(all="ignore"):
        (scores,) = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x.astype(np.float64)})
    return np.ravel(scores)


def by_onnx_runtime(content: bytes, x: np.ndarray) -> np.ndarray:
    """Scores float32[n], on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {session.get_inputs()[0].name: x})
    return np.ravel(scores)
