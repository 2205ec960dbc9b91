"""Read the graph of an ONNX file, field by field (protobuf), with its weights as arrays.

ONNX Runtime gives no access to the nodes, and the package onnx is not needed to run a menu. Nothing in a file
leads to other files or to code: weights in other files and types that are not read are None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Values by the number of their field in onnx.proto: integers, or bytes.
Fields = defaultdict[int, list[Any]]
#: The types of tensors that are read, and the field of their numbers, if these are not raw.
FLOAT, DOUBLE, BOOL = 1, 11, 9
_TYPES = {1: (np.float32, 4), 6: (np.int32, 5), 7: (np.int64, 7), 9: (np.bool_, 5), 11: (np.float64, 10)}
_OF_INTEGERS = (5, 7)
#: Wire types: an integer, 8 bytes, bytes, 4 bytes.
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


@dataclass
class Node:
    """An operator. attributes: numbers, lists of numbers and arrays by name; None for others."""

    kind: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


@dataclass
class Tensor:
    """An input or output of a graph: its name, type, and shape, in which None is variable."""

    name: str
    kind: int
    shape: list[int | None] | None


@dataclass
class Graph:
    """A graph. weights: by name; None if they are in another file or not of a type that is read."""

    nodes: list[Node]
    weights: dict[str, Array | None]
    inputs: list[Tensor]
    outputs: list[Tensor]
    opset: int


def read_graph(content: bytes) -> Graph:
    """Read a file; raise IndexError, TypeError or ValueError if it is damaged."""
    model = _fields(memoryview(content))
    opsets = [_fields(one) for one in model[8]]
    graph = _fields(model[7][-1])
    return Graph(
        nodes=[_node(_fields(one)) for one in graph[1]],
        weights=dict(_tensor(_fields(one)) for one in graph[5]),
        inputs=[_declared(_fields(one)) for one in graph[11]],
        outputs=[_declared(_fields(one)) for one in graph[12]],
        opset=max([_last(o[2], 0) for o in opsets if _text(o[1]) in ("", "ai.onnx")], default=0),
    )


def _node(node: Fields) -> Node:
    inputs, outputs = ([_text([name]) for name in node[number]] for number in (1, 2))
    attributes = dict(_attribute(_fields(one)) for one in node[5])
    return Node(_text(node[4]), _text(node[7]), inputs, outputs, attributes)


def _attribute(attribute: Fields) -> tuple[str, Any]:
    kind = _last(attribute[20], 0)
    value: Any = None
    if kind == 1:  # protobuf omits zeros
        value = float(np.frombuffer(_last(attribute[2], bytes(4)), "<f4")[0])
    elif kind == 2:
        value = _last(attribute[3], 0)
    elif kind == 4:
        value = _tensor(_fields(attribute[5][-1]))[1]
    elif kind == 6:
        value = np.frombuffer(b"".join(attribute[7]), "<f4").tolist()
    elif kind == 7:
        value = _integers(attribute[8])
    return _text(attribute[1]), value


def _tensor(tensor: Fields) -> tuple[str, Array | None]:
    name, kind = _text(tensor[8]), _last(tensor[2], 0)
    if kind not in _TYPES or tensor[13] or _last(tensor[14], 0):  # the last two: it is in another file
        return name, None
    dtype, field = _TYPES[kind]
    if not tensor[9] and field in _OF_INTEGERS:
        array: Array = np.array(_integers(tensor[field]), np.int64)
    else:
        array = np.frombuffer(b"".join(tensor[9] or tensor[field]), np.dtype(dtype).newbyteorder("<"))
    dims = _integers(tensor[1])
    if min(dims, default=0) < 0:
        raise ValueError(dims)
    return name, array.astype(dtype).reshape(dims)


def _declared(value: Fields) -> Tensor:
    of_type = _fields(_last(value[2], b""))
    tensor = _fields(_last(of_type[1], b""))
    shape = None
    if tensor[2]:
        shape = [_last(_fields(dim)[1], None) for dim in _fields(tensor[2][-1])[1]]
    return Tensor(_text(value[1]), _last(tensor[1], 0), shape)


def _last(values: Sequence[Any], default: Any) -> Any:
    return values[-1] if values else default


def _text(values: Sequence[Any]) -> str:
    value = _last(values, b"")
    if isinstance(value, int):
        raise ValueError("a number in place of text")
    return bytes(value).decode()


def _integers(values: Sequence[Any]) -> list[int]:
    """Return integers, which are packed or one by one."""
    numbers = list[int]()
    for value in values:
        position = 0
        while not isinstance(value, int) and position < len(value):
            number, position = _varint(value, position)
            numbers.append(number)
        numbers += [value] if isinstance(value, int) else []
    return numbers


def _fields(message: Any) -> Fields:
    """Return the fields of a protobuf message."""
    fields: Fields = defaultdict(list)
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            fields[key >> 3].append(value)
            continue
        if kind == _BYTES:
            size, position = _varint(message, position)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(kind)
        if size < 0 or position + size > len(message):
            raise ValueError(size)
        fields[key >> 3].append(message[position : position + size])
        position += size
    return fields


def _varint(message: Any, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return (value - 2**64 if value >= 2**63 else value), offset
        if shift > 63:
            raise ValueError(shift)
