"""Write a network as C, for one event, with the largest difference of two evaluations (`network_error.py`):
`python -m trigemu_anomaly.network_source < model.onnx > main.c`.

This runs as a separate program, with limits on time and memory, because it reads an untrusted file. The graph
is rebuilt from known parts: operators, their numeric attributes, and weights. No text of the file reaches the
C code, which emx-onnx-cgen writes.

Exit status 3: an operator or a shape is not a known one; the reason is on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

#: Operators of fully connected networks and of their pre- and postprocessing.
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
#: A compiler needs some seconds for so many weights; a network of a trigger has thousands.
MAX_WEIGHTS = 200_000
STATUS = 3


class UnknownError(Exception):
    """Raised for an unknown part of a model."""


def rebuilt(content: bytes) -> Any:
    """Return the model for one event, rebuilt from known parts only."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load_from_string(content)
    graph = model.graph
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}") if name else ""

    def tensor(weight: Any, name: str) -> Any:
        if weight.data_location == onnx.TensorProto.EXTERNAL:
            raise UnknownError("weights in another file")
        if weight.data_type not in TYPES:
            raise UnknownError(f"weights of type {weight.data_type}")
        values = numpy_helper.to_array(weight)
        return numpy_helper.from_array(np.ascontiguousarray(values), name)

    def attributes(node: Any) -> Iterable[Any]:
        for attribute in node.attribute:
            name = next((name for name in _ATTRIBUTES if name == attribute.name), None)
            if name is None:
                raise UnknownError(f"{_known(node.op_type)} with an attribute that is not known")
            if attribute.type == _TENSOR:
                yield helper.make_attribute(name, tensor(attribute.t, ""))
            elif attribute.type in (_FLOAT, _INT):
                yield helper.make_attribute(name, attribute.f if attribute.type == _FLOAT else attribute.i)
            elif attribute.type in (_FLOATS, _INTS):
                values = list(attribute.floats if attribute.type == _FLOATS else attribute.ints)
                yield helper.make_attribute(name, values, attr_type=attribute.type)
            else:
                raise UnknownError(f"{_known(node.op_type)} with an attribute that is no number")

    nodes = []
    for node in graph.node:
        kind = _known(node.op_type)
        if kind is None or node.domain not in ("", "ai.onnx"):
            raise UnknownError(f"the operator {node.op_type[:50]!r}")
        copy = helper.make_node(kind, [renamed(n) for n in node.input], [renamed(n) for n in node.output])
        copy.attribute.extend(attributes(node))
        nodes.append(copy)
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
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=17)
    if inputs[0].type.tensor_type.elem_type != 1 or len(features) != 1 or not features[0] > 0:
        raise UnknownError("an input that is not float[n, k]")
    result = helper.make_model(
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
    return onnx.shape_inference.infer_shapes(result, strict_mode=True, data_prop=True)


_ATTRIBUTES = (
    "alpha", "axes", "axis", "beta", "epsilon", "keepdims", "momentum", "noop_with_empty_axes", "spatial",
    "to", "transA", "transB", "value", "value_float", "value_floats", "value_int", "value_ints", "allowzero",
    "training_mode", "max", "min",
)  # fmt: skip


def _refuse_jumps(nodes: Iterable[Any]) -> None:
    """Raise UnknownError if a rounded value selects one of two numbers that are far apart: machine code and
    ONNX Runtime could then decide differently."""
    rounded: set[str] = set()
    for node in nodes:
        inexact = not rounded.isdisjoint(node.input)
        to_float = any(a.name == "to" and a.i in (1, 11) for a in node.attribute)
        if inexact and (node.op_type in ("Equal", "Not") or (node.op_type == "Cast" and not to_float)):
            raise UnknownError(f"the operator '{node.op_type}' on a number that is rounded")
        if inexact or node.op_type not in _EXACT:
            rounded.update(node.output)


def _known(kind: str) -> str | None:
    """Return the name of an operator from this file's own list, or None."""
    return next((known for known in OPERATORS if known == kind), None)


def source(model: Any) -> str:
    """Return the C code of `void model(const float input[1][k], float output[…])`."""
    from emx_onnx_cgen import Compiler
    from emx_onnx_cgen.compiler import CompilerOptions

    options = CompilerOptions(
        model_name="model", large_temp_threshold_bytes=0, large_weight_threshold=0, restrict_arrays=True
    )
    return str(Compiler(options).compile(model))


def _compile_templates_when_used() -> None:
    """Let this program compile only the templates that a network needs: emx-onnx-cgen compiles those of all
    170 operators, which takes a second."""
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
    """Return the C code of `const double apart`, the largest difference of two evaluations on trial rows."""
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
    except Exception as error:  # emx-onnx-cgen and onnx raise many kinds of errors
        sys.stderr.write(f"emx-onnx-cgen: {error}")
        return STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
