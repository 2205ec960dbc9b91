"""Read the graph of an ONNX file, field by field (protobuf), with its weights as arrays.

ONNX Runtime gives no access to the nodes, and the package onnx is not needed to run a menu. Nothing in a file
leads to other files or to code: weights in other files and types that are not read are None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.errors import TrigemuError, excerpt

Array = npt.NDArray[Any]
#: Numbers of fields in onnx.proto: of ModelProto, GraphProto and TensorProto, NodeProto, AttributeProto.
_OPSETS, _GRAPH, _FUNCTIONS = 8, 7, 25
_NODE, _INITIALIZER, _INPUTS, _OUTPUTS, _SPARSE = 1, 5, 11, 12, 15
_INPUT, _OUTPUT, _TYPE, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7
_SUBGRAPH, _SUBGRAPHS = 6, 11
_DIMS, _DATA_TYPE, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
#: The types of tensors that are read, and the field of their numbers, if these are not raw.
FLOAT, DOUBLE, BOOL = 1, 11, 9
_TYPES = {1: (np.float32, 4), 6: (np.int32, 5), 7: (np.int64, 7), 9: (np.bool_, 5), 11: (np.float64, 10)}
_OF_INTEGERS = (5, 7)
#: The most integers of a tensor, and numbers of an attribute: they are indices and shapes.
MAX_NUMBERS = 2**20
#: Wire types: an integer, 8 bytes, bytes, 4 bytes.
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


@dataclass
class Node:
    """An operator. attributes: numbers, lists of numbers and arrays by name; None for others. nested: whether
    it has a graph of its own."""

    kind: str = ""
    domain: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    nested: bool = False


@dataclass
class Tensor:
    """An input or output of a graph: its name, type, and shape, in which None is variable."""

    name: str = ""
    kind: int = 0
    shape: list[int | None] | None = None


@dataclass
class Graph:
    """A graph. weights: by name; None if they are in another file or not of a type that is read. functions,
    sparse: whether there are such parts, which are not read."""

    nodes: list[Node] = field(default_factory=list)
    weights: dict[str, Array | None] = field(default_factory=dict)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    opset: int = 0
    functions: bool = False
    sparse: bool = False


def read_graph(content: bytes) -> Graph:
    """Read a file; raise IndexError or ValueError if it is damaged."""
    graph = Graph()
    for number, _, value in fields(memoryview(content)):
        if number == _FUNCTIONS:
            graph.functions = True
        elif number == _OPSETS:
            parts = {n: v for n, _, v in fields(value)}
            if _text(parts.get(1, memoryview(b""))) in ("", "ai.onnx"):
                graph.opset = max(graph.opset, _integer(parts.get(2, 0)))
        elif number == _GRAPH:
            _read_parts(graph, value)
    return graph


def _read_parts(graph: Graph, content: memoryview) -> None:
    for number, kind, value in fields(content):
        if kind != _BYTES:
            continue
        if number == _NODE:
            graph.nodes.append(_node(value))
        elif number == _INITIALIZER:
            name, array = _tensor(value)
            graph.weights[name] = array
        elif number in (_INPUTS, _OUTPUTS):
            (graph.inputs if number == _INPUTS else graph.outputs).append(_declared(value))
        graph.sparse |= number == _SPARSE


def _node(content: memoryview) -> Node:
    node = Node()
    for number, _, value in fields(content):
        if number == _INPUT:
            node.inputs.append(_text(value))
        elif number == _OUTPUT:
            node.outputs.append(_text(value))
        elif number == _TYPE:
            node.kind = _text(value)
        elif number == _DOMAIN:
            node.domain = _text(value)
        elif number == _ATTRIBUTE:
            name, attribute, nested = _attribute(value)
            node.attributes[name] = attribute
            node.nested |= nested
    return node


def _attribute(content: memoryview) -> tuple[str, Any, bool]:
    name, values, nested = "", dict[Any, Any](), False
    for number, _, value in fields(content):
        if number == 1:
            name = _text(value)
        elif number == 2:
            values[1] = float(np.frombuffer(value, "<f4")[0])
        elif number == 3:
            values[2] = _integer(value)
        elif number == 5:
            values[4] = _tensor(value)[1]
        elif number == 7:
            values.setdefault(6, []).extend(np.frombuffer(value[: 4 * MAX_NUMBERS], "<f4").tolist())
        elif number == 8:
            values.setdefault(7, []).extend(_integers(value))
        elif number == 20:
            values["type"] = _integer(value)
        nested |= number in (_SUBGRAPH, _SUBGRAPHS)
    kind = values.pop("type", None)
    empty = {1: 0.0, 2: 0, 6: [], 7: []}.get(kind)  # protobuf omits zeros
    return name, values.get(kind, empty), nested


def _tensor(content: memoryview) -> tuple[str, Array | None]:
    dims: list[int] = []
    name, kind, elsewhere = "", 0, False
    integers, data = dict[int, list[int]](), dict[int, bytes]()
    for number, wire, value in fields(content):
        if number == _DIMS:
            dims += _integers(value)
        elif number == _DATA_TYPE:
            kind = _integer(value)
        elif number == _NAME:
            name = _text(value)
        elif number == _EXTERNAL or (number == _LOCATION and value):
            elsewhere = True
        elif number in _OF_INTEGERS:
            integers.setdefault(number, []).extend(_integers(value))
        elif wire != _VARINT:
            data[number] = data.get(number, b"") + bytes(value)
    if kind not in _TYPES or elsewhere:
        return name, None
    if min(dims, default=0) < 0:
        raise ValueError(dims)
    dtype, field = _TYPES[kind]
    if _RAW not in data and field in _OF_INTEGERS:
        array: Array = np.array(integers.get(field, []), np.int64)
    else:
        array = np.frombuffer(data.get(_RAW, data.get(field, b"")), np.dtype(dtype).newbyteorder("<"))
    return name, array.astype(dtype).reshape(dims)


def _declared(content: memoryview) -> Tensor:
    tensor = Tensor()
    for number, _, value in fields(content):
        if number == 1:
            tensor.name = _text(value)
        elif number == 2:
            for _, _, of_type in (part for part in fields(value) if part[0] == 1):
                for part, _, of_tensor in fields(of_type):
                    if part == 1:
                        tensor.kind = _integer(of_tensor)
                    elif part == 2:
                        dims = ({n: v for n, _, v in fields(d)} for _, _, d in fields(of_tensor))
                        tensor.shape = [dim.get(1) for dim in dims]
    return tensor


def _text(value: Any) -> str:
    if not isinstance(value, memoryview):
        raise ValueError("a number in place of text")
    return bytes(value).decode()


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes in place of a number")
    return value


def _integers(values: Any) -> list[int]:
    """Return integers, which are packed or one by one."""
    if isinstance(values, int):
        return [values]
    numbers, position = list[int](), 0
    while position < len(values):
        if len(numbers) == MAX_NUMBERS:
            raise ValueError("too many integers")
        number, position = _varint(values, position)
        numbers.append(number)
    return numbers


def fields(message: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield the fields of a protobuf message: number, wire type, and an integer or bytes."""
    if not isinstance(message, memoryview):
        raise ValueError("a number in place of a message")
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield key >> 3, kind, value
            continue
        if kind == _BYTES:
            size, position = _varint(message, position)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(kind)
        if size < 0 or position + size > len(message):
            raise ValueError(size)
        yield key >> 3, kind, message[position : position + size]
        position += size


def _varint(message: memoryview, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return (value - 2**64 if value >= 2**63 else value), offset
        if shift > 63:
            raise ValueError(shift)


#: Largest file; weights of 64 million parameters.
MAX_BYTES = 2**28
MAX_NODES = 100_000
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")
#: Operators whose output shape depends on the values of inputs, from the first, second or third input on.
_SHAPING = (
    ("ConstantOfShape", "Range", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
    ("Expand", "Tile", "Pad", "Resize", "Upsample", "OneHot", "CenterCropPad", "Col2Im", "AffineGrid"),
    ("MaxUnpool",),
)
#: Operators whose output length depends on the values of their input; the same if the second input varies.
_SELECTING = ("NonZero", "Compress", "Unique", "NonMaxSuppression")
_CUTTING = ("Slice", "TopK", "Split", "SplitToSequence", "Reshape")
#: Operators that read only the shape of their input.
_OF_SHAPES = ("Shape", "Size")


def checked_graph(content: bytes) -> Graph:
    """Read a model; raise TrigemuError if it is damaged, or needs unlimited time or memory."""
    if len(content) > MAX_BYTES:
        raise TrigemuError(f"has {len(content)} bytes: expected at most {MAX_BYTES}")
    try:
        graph = read_graph(content)
    except (IndexError, ValueError, TypeError):
        raise TrigemuError(
            "is not an ONNX model that ONNX Runtime can load: its fields are damaged"
        ) from None
    _check(graph)
    return graph


def _check(graph: Graph) -> None:
    if graph.functions:
        raise TrigemuError("has functions of its own, which is not supported: inline them (onnx.inliner)")
    if len(graph.nodes) > MAX_NODES:
        raise TrigemuError(f"has {len(graph.nodes)} nodes: expected at most {MAX_NODES}")
    varying = _varying(graph, _OF_SHAPES)
    if any(node.kind in _SELECTING or _takes(node, varying, 1, _CUTTING) for node in graph.nodes):
        varying = _varying(graph, ())  # shapes depend on numbers of an event, too
    for node in graph.nodes:
        _check_node(node, varying)


def _varying(graph: Graph, except_of: tuple[str, ...]) -> set[str]:
    """Return the names of values that depend on numbers of an event other than through these operators."""
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    computed = {name for node in graph.nodes for name in node.outputs}
    pending = list(readers.keys() - graph.weights.keys() - computed)
    varying = set(pending)
    while pending:
        for node in readers.get(pending.pop(), ()):
            if node.kind not in except_of:
                pending += set(node.outputs) - varying
                varying.update(node.outputs)
    return varying - {""}


def _takes(node: Node, names: set[str], first: int, kinds: tuple[str, ...]) -> bool:
    """Return whether it is one of these operators and reads one of these values after `first` other
    inputs."""
    return node.kind in kinds and not names.isdisjoint(node.inputs[first:])


def _check_node(node: Node, varying: set[str]) -> None:
    kind = repr(excerpt(node.kind))
    if node.nested:
        raise TrigemuError(
            f"has an operator {kind} with a graph of its own, which may run for ever: expected a model "
            f"without loops and branches"
        )
    if node.domain not in _DOMAINS:
        raise TrigemuError(f"has an operator {kind} of the unknown domain {excerpt(node.domain)!r}")
    if any(_takes(node, varying, first, kinds) for first, kinds in enumerate(_SHAPING)):
        raise TrigemuError(
            f"has an operator {kind} whose shape depends on numbers of an event, and may take any memory"
        )
