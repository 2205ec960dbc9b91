"""Write a network as C, for one event, with how far two evaluations can be apart (`network_error.py`):
`python -m trigemu_anomaly.network_source < model.onnx > main.c`.

This runs as a program of its own, with limits on time and memory, because it reads a file that nobody vouches
for. The graph is made anew from parts that are known: operators, their attributes that are numbers, and
weights. No text of the file reaches the C. The C itself is written by emx-onnx-cgen.

Exit status 3: an operator or a shape is not one of those that are known; the reason is on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

#: Operators of fully connected networks, and of what is around them.
OPERATORS = (
    "Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Neg", "Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh",
    "Softmax", "BatchNormalization", "Gather", "Slice", "Concat", "Reshape", "Flatten", "Squeeze",
    "Unsqueeze", "Cast", "Equal", "Not", "Where", "Min", "Max", "Clip", "Abs", "Sqrt", "Exp", "Log", "Pow",
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1",
    "ReduceL2", "Constant", "Identity",
)  # fmt: skip
#: Operators whose result has no rounding if their inputs have none.
_EXACT = (
    "Gather", "Slice", "Concat", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "Equal", "Not",
    "Where", "Min", "Max", "Clip", "Abs", "Neg", "Relu", "Constant", "Identity", "ReduceMax", "ReduceMin",
)  # fmt: skip
#: Attributes that are numbers, or tensors of numbers, by the numbers of their types in onnx.proto.
_FLOAT, _INT, _TENSOR, _FLOATS, _INTS = 1, 2, 4, 6, 7
#: Types of values: float, int32, int64, bool, double.
TYPES = frozenset({1, 6, 7, 9, 11})
#: A compiler takes some seconds for as many weights; a network of a trigger has thousands.
MAX_WEIGHTS = 200_000
STATUS = 3


class UnknownError(Exception):
    """Raised for a part that is not known."""


def rebuilt(content: bytes) -> Any:
    """Return the model for one event, made of known parts only."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    given = onnx.load_from_string(content)
    graph = given.graph
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}") if name else ""

    def tensor(given: Any, name: str) -> Any:
        if given.data_location == onnx.TensorProto.EXTERNAL:
            raise UnknownError("weights in another file")
        if given.data_type not in TYPES:
            raise UnknownError(f"weights of type {given.data_type}")
        values = numpy_helper.to_array(given)
        return numpy_helper.from_array(np.ascontiguousarray(values), name)

    def attributes(node: Any) -> Iterable[Any]:
        for given in node.attribute:
            name = next((name for name in _ATTRIBUTES if name == given.name), None)
            if name is None:
                raise UnknownError(f"{_known(node.op_type)} with an attribute that is not known")
            if given.type == _TENSOR:
                yield helper.make_attribute(name, tensor(given.t, ""))
            elif given.type in (_FLOAT, _INT):
                yield helper.make_attribute(name, given.f if given.type == _FLOAT else given.i)
            elif given.type in (_FLOATS, _INTS):
                values = list(given.floats if given.type == _FLOATS else given.ints)
                yield helper.make_attribute(name, values, attr_type=given.type)
            else:
                raise UnknownError(f"{_known(node.op_type)} with an attribute that is no number")

    nodes = []
    for node in graph.node:
        kind = _known(node.op_type)
        if kind is None or node.domain not in ("", "ai.onnx"):
            raise UnknownError(f"the operator {node.op_type[:50]!r}")
        made = helper.make_node(kind, [renamed(n) for n in node.input], [renamed(n) for n in node.output])
        made.attribute.extend(attributes(node))
        nodes.append(made)
    _refuse_jumps(nodes)
    weights = [tensor(weight, renamed(weight.name)) for weight in graph.initializer]
    if sum(int(np.prod(weight.dims)) for weight in weights) > MAX_WEIGHTS:
        raise UnknownError(f"more than {MAX_WEIGHTS} weights")
    inside = {weight.name for weight in weights}
    inputs = [value for value in graph.input if renamed(value.name) not in inside]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise UnknownError("several inputs or outputs")
    features = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim][1:]
    (output,) = graph.output
    opset = max((o.version for o in given.opset_import if o.domain in ("", "ai.onnx")), default=17)
    if inputs[0].type.tensor_type.elem_type != 1 or len(features) != 1 or not features[0] > 0:
        raise UnknownError("an input that is not float[n, k]")
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "score",
            [helper.make_tensor_value_info(renamed(inputs[0].name), 1, [1, features[0]])],
            [helper.make_tensor_value_info(renamed(output.name), output.type.tensor_type.elem_type, None)],
            weights,
        ),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )
    return onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True)


_ATTRIBUTES = (
    "alpha", "axes", "axis", "beta", "epsilon", "keepdims", "momentum", "noop_with_empty_axes", "spatial",
    "to", "transA", "transB", "value", "value_float", "value_floats", "value_int", "value_ints", "allowzero",
    "training_mode", "max", "min",
)  # fmt: skip


def _refuse_jumps(nodes: Iterable[Any]) -> None:
    """Raise UnknownError if a value that may be rounded decides between numbers that are far apart: machine
    code and ONNX Runtime could then decide differently."""
    rounded: set[str] = set()
    for node in nodes:
        inexact = not rounded.isdisjoint(node.input)
        to_float = any(a.name == "to" and a.i in (1, 11) for a in node.attribute)
        if inexact and (node.op_type in ("Equal", "Not") or (node.op_type == "Cast" and not to_float)):
            raise UnknownError(f"the operator '{node.op_type}' on a number that is rounded")
        if inexact or node.op_type not in _EXACT:
            rounded.update(node.output)


def _known(kind: str) -> str | None:
    """Return the name of an operator as it is written here."""
    return next((known for known in OPERATORS if known == kind), None)


def source(model: Any) -> str:
    """Return the C of `void model(const float input[1][k], float output[…])`."""
    from emx_onnx_cgen import Compiler
    from emx_onnx_cgen.compiler import CompilerOptions

    options = CompilerOptions(
        model_name="model", large_temp_threshold_bytes=0, large_weight_threshold=0, restrict_arrays=True
    )
    return str(Compiler(options).compile(model))


def _compile_templates_when_used() -> None:
    """Have this program compile the templates that a network needs: emx-onnx-cgen asks for those of all
    operators, 170 of them, which takes a second."""
    import jinja2

    compiled = jinja2.Environment.get_template
    jinja2.Environment.get_template = lambda *of: _Template(lambda: compiled(*of))  # type: ignore[assignment,method-assign]


class _Template:
    """A template of jinja2 that is compiled when it is used."""

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled = cache(compiled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled(), name)


def bound(model: Any) -> str:
    """Return the C of `const double apart`: the most by which two evaluations can differ on trial rows."""
    from .network_error import largest_difference, trial_rows

    features = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    apart = largest_difference(model, trial_rows(features))
    if not apart >= 0:
        raise UnknownError("no finite score")
    return f"const double apart = {apart!r};\n"


def main() -> int:
    try:
        _compile_templates_when_used()
        model = rebuilt(sys.stdin.buffer.read())
        sys.stdout.write(source(model) + bound(model))
    except UnknownError as error:
        sys.stderr.write(f"{error}")
        return STATUS
    except Exception as error:  # emx-onnx-cgen and onnx refuse what they do not know in many ways
        sys.stderr.write(f"emx-onnx-cgen: {error}")
        return STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
