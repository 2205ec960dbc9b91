"""Checkpoints: the results of finished tasks in a folder, one file each.

The name of a file is a digest of everything that its result depends on. It consists of a line with the digest
of the rest, and an archive of NumPy with the arrays of the result and how they belong together. Reading it
runs no code.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_writable, read_bounded, write_bytes
from trigemu.base.fingerprint import fingerprint

SUFFIX = ".task"
_MAGIC = b"trigemu checkpoint 2 "
#: Largest result of a task that is read, in bytes.
_MOST = 2**31


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
        check_writable(folder / "of a task")


def path_of(checkpoint: Checkpoint, work: str, unit: str) -> Path:
    """Return the file of a unit of a work, by their keys."""
    return checkpoint.folder / f"{fingerprint(work, unit)}{SUFFIX}"


def load_result(path: Path, warn: Callable[[str], None]) -> Any:
    """Return the result in a file; None, after a warning, if it is damaged."""
    try:
        content = read_bounded(path, _MOST)
        body = memoryview(content)[len(_MAGIC) + 65 :]
        if content[: len(_MAGIC) + 65] == _header(body):
            return unpack(body)
        reason = "is damaged or of another program"
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
        if isinstance(part, np.ndarray | np.generic):
            if part.dtype.hasobject:
                raise TypeError("an array of objects cannot be stored")
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
        if not isinstance(part, dict):
            return part
        if "of" in part:
            values = {name: value(item) for name, item in part["with"].items()}
            return _instance(part["of"][0], part["of"][1], values)
        ((kind, inside),) = part.items()
        if kind == "dict":
            return {value(key): value(item) for key, item in inside}
        if kind in ("array", "number"):
            return arrays[inside] if kind == "array" else arrays[inside][()]
        return {"tuple": tuple, "list": list}[kind](map(value, inside))

    return value(json.loads(tree.tobytes()))


def _instance(module: str, name: str, values: dict[str, Any]) -> Any:
    """Return an instance of a dataclass of a module that is loaded, without a call of its code."""
    cls = getattr(sys.modules[module], name)
    if not is_dataclass(cls) or {field.name for field in fields(cls)} != values.keys():
        raise TypeError(f"{name} has other fields")
    instance: Any = object.__new__(cls)  # type: ignore[arg-type]
    for field, item in values.items():
        object.__setattr__(instance, field, item)
    return instance
