"""Read arrays from npz files that may be damaged or malicious."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from trigemu.base.arrays import Array
from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_no_pipe

#: Largest size of one array in bytes; those of projects and interactions have a few megabytes.
MAX_BYTES = 1 << 31
#: About the longest header of an array that NumPy reads.
_HEADER = 1 << 16
#: What zipfile, zlib and numpy raise for damaged files.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, KeyError, ValueError),
    *(NotImplementedError, OverflowError, RuntimeError, SyntaxError, TypeError),
)


def read_arrays(path: Path, names: Iterable[str], most: int = MAX_BYTES) -> dict[str, Array]:
    """Read arrays of an npz file that may be damaged or malicious.

    Objects are never unpickled, and no more memory is reserved than the file holds.
    """
    check_no_pipe(path)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return {name: _array(archive, f"{name}.npy", most) for name in names}
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror or error}") from None
    except _DAMAGED as error:
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(f"{path} is damaged: {reason or type(error).__name__}") from None


def _array(archive: zipfile.ZipFile, name: str, most: int) -> Array:
    size = archive.getinfo(name).file_size
    if size > most + _HEADER:
        raise ValueError(f"{name} has {size} bytes, at most {most} are read")
    with archive.open(name) as stream:
        shape, column_major, dtype = _header(stream)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects, which are never loaded")
        content = stream.read(size)
    expected = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or len(content) != expected:
        raise ValueError(f"{name} has {len(content)} bytes, its shape {shape} needs {expected}")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape, order="F" if column_major else "C").copy()


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format npy is not read")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, column_major, dtype = read(stream)
    return shape, column_major, dtype
