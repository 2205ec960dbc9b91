"""Results as bytes: numbers, texts, arrays, and tuples, lists, dictionaries and dataclasses of these.

A file of results may come from anywhere, so it is not a pickle: reading one makes nothing but arrays, and
instances of the classes that the reader names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from trigemu.support.arrays import Array
from trigemu.support.errors import TrigemuError

_LENGTH = 8
#: Kinds of arrays: booleans, integers and floats, of which any bytes are a value.
_KINDS = "biuf"
_DAMAGED = "is not what trigemu writes"


def pack(value: object) -> bytes:
    """Return a value as bytes; raise TypeError for what has no such form."""
    arrays: list[bytes] = []
    at = 0

    def form(part: object) -> Any:
        nonlocal at
        if part is None or isinstance(part, bool | int | float | str):
            return part
        if isinstance(part, np.ndarray) and part.dtype.kind in _KINDS:
            content = np.ascontiguousarray(part).tobytes()
            arrays.append(content)
            at += len(content)
            return {"array": part.dtype.str, "shape": list(part.shape), "at": at - len(content)}
        if isinstance(part, tuple | list):
            return {type(part).__name__: [form(item) for item in part]}
        if isinstance(part, Mapping):
            return {"dict": [[form(key), form(item)] for key, item in part.items()]}
        if is_dataclass(part):
            return {"of": type(part).__name__, "with": [form(getattr(part, f.name)) for f in fields(part)]}
        raise TypeError(f"{type(part).__name__} cannot be kept")

    head = json.dumps(form(value)).encode()
    return b"".join([len(head).to_bytes(_LENGTH, "little"), head, *arrays])


def unpack(content: bytes, classes: Iterable[type] = ()) -> Any:
    """Return the value in some bytes, with instances of the given dataclasses.

    Raises TrigemuError if the bytes are anything else. Arrays are new and can be written to.
    """
    known = {cls.__name__: cls for cls in classes}
    size = int.from_bytes(content[:_LENGTH], "little")
    data = memoryview(content)[_LENGTH + size :]

    def value(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        if "array" in part:
            return _array(data, part["array"], part["shape"], part["at"])
        if "of" in part:
            return known[part["of"]](*map(value, part["with"]))
        if "dict" in part:
            return {value(key): value(item) for key, item in part["dict"]}
        ((kind, items),) = part.items()
        return {"tuple": tuple, "list": list}[kind](map(value, items))

    try:
        return value(json.loads(content[_LENGTH : _LENGTH + size]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise TrigemuError(_DAMAGED) from None


def _array(data: memoryview, kind: str, shape: Sequence[int], at: int) -> Array:
    dtype = np.dtype(kind)
    n = 1
    for length in shape:
        n *= length
    if (
        dtype.kind not in _KINDS
        or not 0 <= at <= at + n * dtype.itemsize <= len(data)
        or min(shape, default=0) < 0
    ):
        raise ValueError(_DAMAGED)
    flat: Array = np.frombuffer(data, dtype, n, at) if n else np.zeros(0, dtype)
    return flat.reshape(shape).copy()
