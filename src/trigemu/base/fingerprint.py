"""Fingerprints, which are the same for equal values in every process and differ for different values."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from trigemu.base.plugin_search import installed
from trigemu.base.plugins import digest_of_plugin

_ROOT = Path(__file__).parents[1]


def fingerprint(*values: object, without: Iterable[str] = ()) -> str:
    """Return a text that is the same for equal values in every process, and differs for different values.

    Values are numbers, texts, bytes, arrays, dataclasses, msgspec structs, enumerations, functions and
    classes of modules, and tuples, lists, sets and mappings of these; a TypeError is raised for others.
    without: fields of dataclasses and structs that are left out.
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
def digest_of_code() -> str:
    """Return a digest of the Python files of trigemu and of the plugins that come with it, to recognise
    results of other versions of the code."""
    files = [_ROOT / "__init__.py", *sorted(p.file for p in installed() if p.comes_with_trigemu)]
    return hashlib.sha256("".join(map(digest_of_plugin, files)).encode()).hexdigest()
