"""Fingerprints of values, and checkpoints: the results of finished tasks in a folder, one file each.

The name of a file is a fingerprint of everything that its result depends on. It consists of a line with the
digest of the rest, and an archive of NumPy with the arrays of the result and how they belong together.
Reading it runs no code.
"""

from __future__ import annotations

import enum
import hashlib
import io
import json
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_writable, read_bounded, write_bytes
from trigemu.base.plugins import digest_of_plugin, installed

_ROOT = Path(__file__).parents[1]
_MAGIC = b"trigemu checkpoint 2 "
#: Largest result of a task that is read, in bytes.
_MOST = 2**31


def fingerprint(*values: object, without: Collection[str] = ()) -> str:
    """Return a text that is the same for equal values in every process, and differs for different values.

    Values are numbers, texts, bytes, arrays, dataclasses, msgspec structs, enumerations, functions and
    classes of modules, partial functions, and tuples, lists, sets and mappings of these; a TypeError is
    raised for others.
    without: fields of dataclasses and structs that are left out.
    """

    def text(value: Any) -> str:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, enum.Enum):
            return f"{kind} {value.name}"
        if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
            return f"{kind} {value!r}"
        if isinstance(value, Path):
            return f"path {str(value)!r}"
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return f"array {value.dtype.descr} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, tuple | list):
            return f"row({', '.join(map(text, value))})"
        if isinstance(value, set | frozenset):
            return f"set({', '.join(sorted(map(text, value)))})"
        if isinstance(value, Mapping):
            return f"map({', '.join(sorted(map(text, value.items())))})"
        if isinstance(value, msgspec.Struct) or (is_dataclass(value) and not isinstance(value, type)):
            of_struct = isinstance(value, msgspec.Struct) and value.__struct_fields__
            names = of_struct or [field.name for field in fields(value)]  # type: ignore[arg-type]
            return f"{kind}({', '.join(text((n, getattr(value, n))) for n in names if n not in without)})"
        if isinstance(value, partial):
            return f"partial{text((value.func, value.args, value.keywords))}"
        bound = not isinstance(getattr(value, "__self__", None), ModuleType | type | None)  # to an object
        if not callable(value) or bound or "<" in getattr(value, "__qualname__", "<"):
            raise TypeError(f"{type(value).__name__} has no fingerprint")
        return f"name {value.__module__}.{value.__qualname__}"

    return hashlib.sha256(text(values).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def digest_of_code() -> str:
    """Return a digest of the Python files of trigemu and of the plugins that come with it, to recognise
    results of other versions of the code."""
    files = [_ROOT / "__init__.py", *sorted(p.file for p in installed() if p.comes_with_trigemu)]
    return hashlib.sha256("".join(map(digest_of_plugin, files)).encode()).hexdigest()


class Checkpoint:
    """A folder with the results of finished tasks; it is made if it does not exist.

    Parameters
    ----------
    folder : Path
        The folder.

    Raises
    ------
    TrigemuError
        If it cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            reason = getattr(error, "strerror", error)
            raise TrigemuError(f"cannot make the checkpoint folder {folder}: {reason}") from None
        check_writable(self.file("of a task"))

    def file(self, key: str) -> Path:
        """Return the file of the result with the fingerprint `key`."""
        return self.folder / f"{key}.task"


def load_result(path: Path, warn: Callable[[str], None]) -> Any:
    """Return the result in a file; None if there is none, or, after a warning, if it is damaged."""
    try:
        content = read_bounded(path, _MOST)
        body = memoryview(content)[len(_MAGIC) + 65 :]
        if content[: len(_MAGIC) + 65] == _header(body):
            return unpack(body)
        reason = "is damaged or of another program"
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except Exception:
        reason = "is not of this program"
    warn(f"{path} {reason}: its part is done again")
    return None


def keep_result(path: Path, result: object) -> None:
    """Write a result to the disk; raise TrigemuError if that fails."""
    body = pack(result)
    write_bytes(path, _header(body) + body)


def _header(body: bytes | memoryview) -> bytes:
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n"


def pack(value: object) -> bytes:
    """Return numbers, texts, arrays, and dataclasses, lists, tuples and mappings of these as bytes."""
    arrays: list[Array] = []

    def form(part: Any) -> Any:
        if part is None or type(part) in (bool, int, float, str):
            return part
        if isinstance(part, np.ndarray | np.generic) and not part.dtype.hasobject:
            arrays.append(np.asarray(part))
            return {"array" if isinstance(part, np.ndarray) else "number": len(arrays) - 1}
        if type(part) in (tuple, list):
            return {type(part).__name__: [form(item) for item in part]}
        if isinstance(part, Mapping):
            return {"dict": [[form(key), form(item)] for key, item in part.items()]}
        if is_dataclass(part) and not isinstance(part, type):
            values = {field.name: form(getattr(part, field.name)) for field in fields(part)}
            return {"of": [type(part).__module__, type(part).__qualname__], "with": values}
        raise TypeError(f"{type(part).__name__} cannot be stored")

    stream = io.BytesIO()
    tree = json.dumps(form(value)).encode()
    np.savez(stream, np.frombuffer(tree, np.uint8), *arrays)
    return stream.getvalue()


def unpack(content: bytes | memoryview) -> Any:
    """Return the value that `pack` stored. Raises an error for other bytes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        tree, *arrays = (archive[f"arr_{number}"] for number in range(len(archive.files)))

    def value(part: Any) -> Any:
        match part:
            case {"of": [module, name], "with": values}:  # of a loaded module, and without a call of its code
                cls = getattr(sys.modules[module], name)
                if not is_dataclass(cls) or {field.name for field in fields(cls)} != values.keys():
                    raise TypeError(f"{name} has other fields")
                instance: Any = object.__new__(cls)  # type: ignore[arg-type]
                for field, item in values.items():
                    object.__setattr__(instance, field, value(item))
                return instance
            case {"dict": items}:
                return {value(key): value(item) for key, item in items}
            case {"array": number}:
                return arrays[number]
            case {"number": number}:
                return arrays[number][()]
            case {"tuple": items}:
                return tuple(map(value, items))
            case {"list": items}:
                return list(map(value, items))
        return part

    return value(json.loads(tree.tobytes()))
