"""Arrays come back as numpy wrote them; damaged and lying files end in a message."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from trigemu.base.archives import read_arrays
from trigemu.base.errors import TrigemuError

ARRAYS = {
    "x": np.arange(12, dtype=np.float32).reshape(3, 4),
    "n": np.array([1, 2, 3], np.uint8),
    "text": np.array("µ"),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "none": np.empty((0, 3)),
}


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return stream.getvalue()


def header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_come_back(tmp_path: Path, compressed: bool) -> None:
    file = tmp_path / "a.npz"
    (np.savez_compressed if compressed else np.savez)(file, **ARRAYS)
    read = read_arrays(file, ARRAYS)
    for name, array in ARRAYS.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)
        assert read[name].flags.writeable


def test_every_damaged_byte_is_found(tmp_path: Path) -> None:
    """zip keeps a checksum of each array; the few other bytes say where they are."""
    whole = io.BytesIO()
    np.savez(whole, **ARRAYS)
    file = tmp_path / "a.npz"
    found = 0
    for at in range(0, len(whole.getvalue()), 7):
        content = bytearray(whole.getvalue())
        content[at] ^= 0x10
        file.write_bytes(content)
        try:
            read = read_arrays(file, ARRAYS)
        except TrigemuError:
            found += 1
        else:
            assert all(np.array_equal(read[name], array) for name, array in ARRAYS.items())
    assert found > 50


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged: File is not a zip file"),
        (archive(y=b""), "is damaged: .*no item named 'x.npy'"),
        (archive(x=b""), "is damaged: .*magic"),
        (archive(x=header("(1000000000000,)")), "has 64 bytes, its shape .* needs 8000000000000"),
        (archive(x=header("(-8, -1)")), "has 64 bytes, its shape"),
        (archive(x=header("(8,)", "'|O'")), "holds Python objects, which are never loaded"),
        (archive(x=header("(8,", "'|O'")), "is damaged: "),
        (archive(x=header("(10**5000,)")), "is damaged: "),
        (archive(x=header("('a',)")), "is damaged: "),
    ],
)
def test_messages(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    with pytest.raises(TrigemuError, match=message):
        read_arrays(file, ["x"])


def test_a_size_has_a_bound(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(10_000))
    with pytest.raises(TrigemuError, match=r"cannot read .*: No such file"):
        read_arrays(tmp_path / "b.npz", ["x"])
    with pytest.raises(TrigemuError, match=r"x.npy has 80128 bytes, at most 1000 are read"):
        read_arrays(tmp_path / "a.npz", ["x"], most=1000)
