"""Read the graph of an ONNX file (protobuf), with its weights as arrays.

ONNX Runtime gives no access to the nodes, and the package onnx (30 MB, a second to import) is not needed to
run a menu. Nothing in a file leads to other files or to code: weights in other files and types that are not
read are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trigemu.base.arrays import Array

#: A message: its fields by name, those that repeat as lists; 0 or empty where a field is left out.
Message = dict[str, Any]
#: The types of tensors that are read, and the field of their numbers, if these are not raw.
FLOAT, DOUBLE, BOOL = 1, 11, 9
TYPES = {FLOAT: np.float32, 6: np.int32, 7: np.int64, BOOL: np.bool_, DOUBLE: np.float64}
_NUMBERS = {FLOAT: "floats", 6: "ints", 7: "longs", BOOL: "ints", DOUBLE: "doubles"}
#: Messages of onnx.proto, of which these fields are read: number → name, with * if it repeats, and form.
_TENSOR = {
    1: ("dims*", int), 2: ("type", int), 4: ("floats*", "<f4"), 5: ("ints*", int), 7: ("longs*", int),
    8: ("name", str), 9: ("raw", bytes), 10: ("doubles*", "<f8"), 13: ("external", bytes),
    14: ("location", int),
}  # fmt: skip
_ATTRIBUTE = {
    1: ("name", str), 2: ("float", "<f4"), 3: ("int", int), 5: ("tensor", _TENSOR), 7: ("floats*", "<f4"),
    8: ("ints*", int), 20: ("type", int),
}  # fmt: skip
_NODE = {
    1: ("inputs*", str), 2: ("outputs*", str), 4: ("kind", str), 5: ("attributes*", _ATTRIBUTE),
    7: ("domain", str),
}  # fmt: skip
_TENSOR_TYPE = {1: ("type", int), 2: ("shape", {1: ("dims*", {1: ("size", int)})})}
_VALUE = {1: ("name", str), 2: ("type", {1: ("tensor", _TENSOR_TYPE)})}
_GRAPH = {1: ("nodes*", _NODE), 5: ("weights*", _TENSOR), 11: ("inputs*", _VALUE), 12: ("outputs*", _VALUE)}
_MODEL = {7: ("graph", _GRAPH), 8: ("opsets*", {1: ("domain", str), 2: ("version", int)})}
#: The field of an attribute of each type.
_ATTRIBUTES = {1: "float", 2: "int", 6: "floats", 7: "ints"}


def read_graph(content: bytes) -> Message:
    """Read the graph of a file: nodes with `attributes` by name, `weights` by name, inputs, outputs, and the
    version `opset` of the operators. Raises LookupError, TypeError or ValueError if it is damaged."""
    model = _message(memoryview(content), _MODEL)
    graph: Message = model["graph"]
    for node in graph["nodes"]:
        node["attributes"] = {one["name"]: _attribute(one) for one in node["attributes"]}
    graph["weights"] = {one["name"]: _array(one) for one in graph["weights"]}
    own = (one["version"] for one in model["opsets"] if one["domain"] in ("", "ai.onnx"))
    return graph | {"opset": max(own, default=0)}


def _attribute(attribute: Message) -> Any:
    """Return the value of an attribute; None for one of text or graphs."""
    if attribute["type"] == 4:
        return _array(attribute["tensor"])
    return attribute[_ATTRIBUTES[attribute["type"]]] if attribute["type"] in _ATTRIBUTES else None


def _array(tensor: Message) -> Array | None:
    kind = tensor["type"]
    if kind not in TYPES or tensor["external"] or tensor["location"]:
        return None
    dtype = np.dtype(TYPES[kind])
    raw: Array = np.frombuffer(tensor["raw"], dtype.newbyteorder("<"))
    array = raw if tensor["raw"] else np.array(tensor[_NUMBERS[kind]])
    return array.astype(dtype).reshape(tensor["dims"])


def _message(data: memoryview, fields: dict[int, tuple[str, Any]]) -> Message:
    """Read the fields of a protobuf message."""
    zeros: dict[Any, Any] = {int: 0, str: "", bytes: b"", "<f4": 0.0}
    result: Message = {
        name.rstrip("*"): [] if name.endswith("*") else {} if isinstance(form, dict) else zeros[form]
        for name, form in fields.values()
    }
    place = 0
    while place < len(data):
        key, first = _varint(data, place)
        wire = key & 7
        size, place = _varint(data, first) if wire in (0, 2) else ({1: 8, 5: 4}.get(wire, -1), first)
        part = data[first:place]
        if wire:
            part, place = data[place : place + size], place + size
            if size < 0 or place > len(data):
                raise ValueError(size)
        name, form = fields.get(key >> 3, ("", bytes))
        values = [_message(part, form)] if isinstance(form, dict) else _values(part, form)
        if name.endswith("*"):
            result[name[:-1]] += values
        elif name:
            result[name] = values[-1]
    return result


def _values(part: memoryview, form: Any) -> list[Any]:
    """Return the numbers in a field, which may be packed, or its text or bytes."""
    if form in (str, bytes):
        return [bytes(part).decode() if form is str else bytes(part)]
    if form is not int:
        return list(np.frombuffer(part, form).tolist())
    numbers, place = [], 0
    while place < len(part):
        number, place = _varint(part, place)
        numbers.append(number)
    return numbers


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    """Read an integer; return it, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place + shift // 7]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value - 2**64 if value >= 2**63 else value), place + shift // 7 + 1
    raise ValueError(value)
