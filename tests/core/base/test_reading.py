from __future__ import annotations

import os
from pathlib import Path

import pytest

from trigemu.base.errors import TrigemuError
from trigemu.base.files import is_file, is_folder, is_there, read_bounded


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
