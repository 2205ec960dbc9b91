"""Serialise results: numbers, texts, arrays, and tuples, lists, dictionaries and dataclasses of these.

A file of results may come from anywhere, so it is not a pickle: reading it creates only arrays, and instances
of the classes that the reader names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from trigemu.support.arrays import Array
from trigemu.support.errors import TrigemuError

_LENGTH = 8
#: Kinds of arrays: booleans, integers and floats, of which any bytes are a value.
_KINDS = "biuf"
_DTYPE = re.compile(rf"[<>|][{_KINDS}]\d{{1,2}}")
_DAMAGED = "is not what trigemu writes"


def pack(value: object) -> bytes:
    """Return a value as bytes; raise TypeError for other types."""
    arrays: list[bytes] = []

    def form(part: object) -> Any:
        if part is None or type(part) in (bool, int, float, str):
            return part
        if isinstance(part, np.ndarray | np.generic) and part.dtype.kind in _KINDS:
            arrays.append(part.tobytes())
            kind = "array" if isinstance(part, np.ndarray) else "number"
            return {kind: part.dtype.str, "shape": part.shape}
        if type(part) in (tuple, list):
            return {type(part).__name__: [form(item) for item in part]}  # type: ignore[attr-defined]
        if isinstance(part, Mapping):
            return {"dict": [[form(key), form(item)] for key, item in part.items()]}
        if (names := _plain_fields(part)) is not None:
            return {"of": type(part).__name__, "with": [form(getattr(part, name)) for name in names]}
        raise TypeError(f"{type(part).__name__} cannot be stored")

    head = json.dumps(form(value)).encode()
    return b"".join([len(head).to_bytes(_LENGTH, "little"), head, *arrays])


def _plain_fields(part: Any) -> list[str] | None:
    """Return the fields of a dataclass; None for objects that cannot be created from their fields."""
    if isinstance(part, type) or not is_dataclass(part):
        return None
    all_fields = fields(part)
    return [f.name for f in all_fields] if all(f.init and not f.kw_only for f in all_fields) else None


def unpack(content: bytes, classes: Iterable[type] = ()) -> Any:
    """Return the value that `pack` serialised, with instances of some dataclasses, `classes`.

    Raises TrigemuError for other bytes. Arrays are copies and can be written to.
    """
    by_name = {cls.__name__: cls for cls in classes}
    size = int.from_bytes(content[:_LENGTH], "little")
    arrays = _Arrays(memoryview(content)[_LENGTH + size :])

    def value(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        if "array" in part:
            return arrays.next(part["array"], part["shape"])
        if "number" in part:
            return arrays.next(part["number"], [])[()]
        if "of" in part:
            return by_name[part["of"]](*map(value, part["with"]))
        if "dict" in part:
            return {value(key): value(item) for key, item in part["dict"]}
        ((kind, items),) = part.items()
        return {"tuple": tuple, "list": list}[kind](map(value, items))

    try:
        if size > len(content):
            raise ValueError(_DAMAGED)
        result = value(json.loads(content[_LENGTH : _LENGTH + size]))
        arrays.end()
    except Exception:  # also of a class that gets wrong values
        raise TrigemuError(_DAMAGED) from None
    return result


class _Arrays:
    """Consecutive arrays. Each byte belongs to one array, so they need no more memory than the bytes."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def next(self, kind: str, shape: Sequence[int]) -> Array:
        if not _DTYPE.fullmatch(kind) or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
            raise ValueError(_DAMAGED)
        dtype, number = np.dtype(kind), math.prod(shape)
        begin, self._at = self._at, self._at + number * dtype.itemsize
        if self._at > len(self._data):
            raise ValueError(_DAMAGED)
        flat: Array = np.frombuffer(self._data[begin : self._at], dtype)
        return flat.reshape(shape).copy()

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError(_DAMAGED)
