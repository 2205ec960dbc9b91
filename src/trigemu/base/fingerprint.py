"""Fingerprints, which are the same for equal values in every process and differ for different values, and
results as bytes."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import TrigemuError
from trigemu.base.plugins import NAMES, OWN

_ROOT = Path(__file__).parents[1]


def fingerprint(*values: object, without: Iterable[str] = ()) -> str:
    """Return a text that is the same for equal values in every process, and differs for different values.

    Parameters
    ----------
    *values : object
        Numbers, texts, bytes, arrays, dataclasses, msgspec structs, enumerations, functions and classes of
        modules, and tuples, lists, sets and mappings of these.
    without : iterable of str
        Fields of dataclasses and structs that are left out.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    TypeError
        If a value is of another type.

    Examples
    --------
    >>> fingerprint({"pt": 20.0, "eta": 2.4}) == fingerprint({"eta": 2.4, "pt": 20.0})
    True
    """
    return _digest(values, frozenset(without)).hex()


def _digest(value: Any, without: frozenset[str]) -> bytes:
    digest = hashlib.sha256()
    for part in _parts(value, without):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _parts(value: Any, without: frozenset[str]) -> Iterable[bytes]:
    kind = f"{type(value).__module__}.{type(value).__qualname__}".encode()
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return kind, repr(value).encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return kind, value
    if isinstance(value, Path):
        return b"path", str(value).encode("utf-8", "surrogatepass")
    if isinstance(value, enum.Enum):
        return kind, value.name.encode()
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of objects has no fingerprint")
        return kind, f"{value.dtype.descr}{value.shape}".encode(), value.tobytes()
    if isinstance(value, tuple | list):
        return b"row", *(_digest(item, without) for item in value)
    if isinstance(value, set | frozenset):
        return b"set", *sorted(_digest(item, without) for item in value)
    if isinstance(value, Mapping):
        return b"map", *sorted(_digest(item, without) for item in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name not in without]
    elif isinstance(value, msgspec.Struct):
        names = [name for name in value.__struct_fields__ if name not in without]
    elif callable(value) and "<" not in getattr(value, "__qualname__", "<") and not _is_bound(value):
        return b"name", f"{value.__module__}.{value.__qualname__}".encode()
    else:
        raise TypeError(f"{type(value).__name__} has no fingerprint")
    return kind, *(_digest((name, getattr(value, name)), without) for name in names)


def _is_bound(function: Any) -> bool:
    """Return whether a function is bound to an object that its name does not identify."""
    return not isinstance(getattr(function, "__self__", None), ModuleType | type | None)


@cache
def digest_of_code(*folders: Path) -> str:
    """Return a digest of the Python files of trigemu and of the plugins that come with it, to recognise
    results of other versions of the code."""
    digest = hashlib.sha256()
    packages = (_ROOT.with_name(f"{OWN}{name}") for name in sorted(NAMES))
    for folder in (_ROOT, *packages, *folders):
        for file in sorted(folder.rglob("*.py")):
            digest.update(
                file.relative_to(folder.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0"
            )
    return digest.hexdigest()


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
