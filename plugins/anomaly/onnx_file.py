"""Refuse ONNX models whose time or memory depends on the numbers of an event.

The file is read field by field (protobuf), since ONNX Runtime gives no access to the nodes and the package
onnx is not needed to run a menu. Without loops, subgraphs, functions, and shapes computed from numbers of an
event, the time and memory of a model depend only on the number of events, and one trial measures them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trigemu.api import TrigemuError, excerpt

#: Largest file; weights of 64 million parameters.
MAX_BYTES = 2**28
MAX_NODES = 100_000
#: Numbers of fields in onnx.proto: of ModelProto, GraphProto and TensorProto, NodeProto, AttributeProto.
_GRAPH, _FUNCTIONS = 7, 25
_NODE, _INITIALIZER, _NAME = 1, 5, 8
_INPUT, _OUTPUT, _TYPE, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7
_SUBGRAPH, _SUBGRAPHS = 6, 11
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


def check_onnx(content: bytes) -> None:
    """Raise TrigemuError for a model with unlimited time or memory. ONNX Runtime refuses files that are
    damaged or not ONNX models."""
    if len(content) > MAX_BYTES:
        raise TrigemuError(f"has {len(content)} bytes: expected at most {MAX_BYTES}")
    try:
        _check(memoryview(content))
    except (IndexError, ValueError):
        raise TrigemuError(
            "is not an ONNX model that ONNX Runtime can load: its fields are damaged"
        ) from None


def _check(model: memoryview) -> None:
    graphs = []
    for number, value in _fields(model):
        if number == _FUNCTIONS:
            raise TrigemuError("has functions of its own, which is not supported: inline them (onnx.inliner)")
        if number == _GRAPH:
            graphs.append(value)
    parts = [part for graph in graphs for part in _fields(graph)]
    nodes = [_Node.read(value) for number, value in parts if number == _NODE]
    if len(nodes) > MAX_NODES:
        raise TrigemuError(f"has {len(nodes)} nodes: expected at most {MAX_NODES}")
    weights = {name for number, value in parts if number == _INITIALIZER for name in _names(value)}
    varying = _varying(nodes, weights, _OF_SHAPES)
    if any(node.kind in _SELECTING or node.takes(varying, 1, _CUTTING) for node in nodes):
        varying = _varying(nodes, weights, ())  # shapes depend on numbers of an event, too
    for node in nodes:
        node.check(varying)


def _varying(nodes: list[_Node], weights: set[str], except_of: tuple[str, ...]) -> set[str]:
    """Return the names of values that depend on numbers of an event other than through these operators."""
    readers: dict[str, list[_Node]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    pending = list(readers.keys() - weights - {name for node in nodes for name in node.outputs})
    varying = set(pending)
    while pending:
        for node in readers.get(pending.pop(), ()):
            if node.kind not in except_of:
                pending += set(node.outputs) - varying
                varying.update(node.outputs)
    return varying - {""}


@dataclass
class _Node:
    kind: str = ""
    domain: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    nested: bool = False

    @classmethod
    def read(cls, content: memoryview) -> _Node:
        node = cls()
        for number, value in _fields(content):
            if number == _INPUT:
                node.inputs.append(_text(value))
            elif number == _OUTPUT:
                node.outputs.append(_text(value))
            elif number == _TYPE:
                node.kind = _text(value)
            elif number == _DOMAIN:
                node.domain = _text(value)
            elif number == _ATTRIBUTE:
                node.nested |= any(key in (_SUBGRAPH, _SUBGRAPHS) for key, _ in _fields(value))
        return node

    def takes(self, names: set[str], first: int, kinds: tuple[str, ...]) -> bool:
        """Return whether it is one of these operators and reads one of these values after `first` other
        inputs."""
        return self.kind in kinds and not names.isdisjoint(self.inputs[first:])

    def check(self, varying: set[str]) -> None:
        kind = repr(excerpt(self.kind))
        if self.nested:
            raise TrigemuError(
                f"has an operator {kind} with a graph of its own, which may run for ever: expected a model "
                f"without loops and branches"
            )
        if self.domain not in _DOMAINS:
            raise TrigemuError(f"has an operator {kind} of the unknown domain {excerpt(self.domain)!r}")
        if any(self.takes(varying, first, kinds) for first, kinds in enumerate(_SHAPING)):
            raise TrigemuError(
                f"has an operator {kind} whose shape depends on numbers of an event, and may take any memory"
            )


def _names(tensor: memoryview) -> Iterator[str]:
    return (_text(value) for number, value in _fields(tensor) if number == _NAME)


def _text(value: memoryview) -> str:
    return bytes(value).decode()


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the fields of a protobuf message that have bytes: their numbers and contents."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, size = key & 7, 0
        if kind == 0:
            _, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _varint(message, at)
            yield key >> 3, message[at : at + size]
        else:
            raise ValueError(kind)
        at += size
    if at != len(message):
        raise ValueError(at)


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError(shift)
