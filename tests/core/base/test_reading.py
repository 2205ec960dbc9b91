from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trigemu.base.errors import TrigemuError
from trigemu.base.files import is_file, is_folder, is_there, read_arrays, read_bounded


def test_a_file_may_be_as_large_as_allowed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(TrigemuError, match="is larger than 4 bytes"):
        read_bounded(tmp_path / "a", 4)


def test_what_has_no_end_is_not_read_to_its_end() -> None:
    with pytest.raises(TrigemuError, match="/dev/zero is larger than 1000 bytes"):
        read_bounded(Path("/dev/zero"), 1000)


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(OSError, match="no file can have this name"):
        read_bounded(Path("a\0b"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    with pytest.raises(TrigemuError, match="p is a pipe, not a file"):
        read_bounded(tmp_path / "p")


def test_a_pipe_of_the_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x = 1")
    os.close(writing)
    assert read_bounded(Path(f"/dev/fd/{reading}")) == b"x = 1"
    os.close(reading)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("file", (True, True, False)),
        ("folder", (True, False, True)),
        ("pipe", (True, False, False)),
        ("link", (True, True, False)),
        ("dangling", (False, False, False)),
        ("none", (False, False, False)),
        ("file/inside", (False, False, False)),
        ("a" * 10_000, (False, False, False)),
        ("a\0b", (False, False, False)),
    ],
)
def test_what_is_there(tmp_path: Path, name: str, expected: tuple[bool, bool, bool]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    path = tmp_path / name
    assert (is_there(path), is_file(str(path)), is_folder(path)) == expected


# ---- arrays


ARRAYS = {
    "x": np.arange(12, dtype=np.float32).reshape(3, 4),
    "text": np.array("µ"),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "none": np.empty((0, 3)),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_damaged_byte_of_an_archive_is_found(tmp_path: Path, save: Callable[..., None]) -> None:
    """zip keeps a checksum of each array; the few other bytes say where they are."""
    stream = io.BytesIO()
    save(stream, **ARRAYS)
    whole, file = stream.getvalue(), tmp_path / "a.npz"
    found = 0
    for position in (None, *range(0, len(whole), 7)):
        content = bytearray(whole)
        if position is not None:
            content[position] ^= 0x10
        file.write_bytes(content)
        try:
            read = read_arrays(file, ARRAYS)
        except TrigemuError:
            assert position is not None
            found += 1
        else:
            assert all(np.array_equal(read[name], array) for name, array in ARRAYS.items())
    assert found > 50


def test_messages_on_archives(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    with pytest.raises(TrigemuError, match=r"cannot read .*: No such file"):
        read_arrays(file, ["x"])
    file.touch()
    with pytest.raises(TrigemuError, match="is damaged: "):
        read_arrays(file, ["x"])
    np.savez_compressed(file, objects=np.array([{}], dtype=object))
    with pytest.raises(TrigemuError, match="y is not a file in the archive"):
        read_arrays(file, ["y"])
    with pytest.raises(TrigemuError, match="Object arrays cannot be loaded"):
        read_arrays(file, ["objects"])
