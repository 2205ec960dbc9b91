"""Files are read up to a size, and written whole or not at all."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import uproot

from trigemu.base import files
from trigemu.base.errors import TrigemuError
from trigemu.base.files import (
    check_writable,
    new_folder,
    read_arrays,
    read_bounded,
    without_clock,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_is_written_is_there_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text in ("first: φ\n", "second", "a name m\udcff that is not UTF-8"):
        write_text(file, text)
        assert file.read_text(encoding="utf-8") == text.replace("\udcff", r"\udcff")
        assert names(tmp_path) == ["a.json"]


def test_where_no_file_or_folder_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    no_folder, a_folder, there = "there is no folder", "it is a folder", "it already exists"
    for name, message in (
        ("absent/a", no_folder),
        ("file/a", no_folder),
        ("folder", a_folder),
        ("", a_folder),
    ):
        for attempt in (check_writable, lambda name: write_text(name, "x")):
            with pytest.raises(TrigemuError, match=f"cannot write .*{message}"):
                attempt(name)
    for name, message in (("folder", there), ("file", there), ("link", there), ("absent/made", no_folder)):
        with pytest.raises(TrigemuError, match=f"cannot write .*{message}"), new_folder(tmp_path / name):
            pytest.fail("nothing may be done")
    assert names(tmp_path) == ["file", "folder", "link"]
    assert not list((tmp_path / "folder").iterdir())


def test_a_new_folder_is_there_when_it_is_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "made") as folder:
        (folder / "below").mkdir()
        (folder / "below" / "file").write_text("x")
        assert not (tmp_path / "made").exists()
    assert (tmp_path / "made" / "below" / "file").read_text() == "x"
    assert names(tmp_path) == ["made"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_new_folder_that_fails_is_not_there(tmp_path: Path, error: type[BaseException]) -> None:
    def fails() -> None:
        with new_folder(tmp_path / "made") as folder:
            (folder / "file").touch()
            raise error

    with pytest.raises(error):
        fails()
    assert names(tmp_path) == []


# ---- what is at the target already


def test_what_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").write_text("old")  # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "c")
    with pytest.raises(TrigemuError, match=r"cannot write .*c: the file is read-only"):
        write_text(tmp_path / "c", "new")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(TrigemuError, match="its folder is not writable"):
        check_writable(tmp_path / "d")


def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path: Path) -> None:
    """Another name of it keeps the old content."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "a").chmod(0o664)
    before = os.umask(0o027)
    try:
        for name in ("a", "c"):
            write_text(tmp_path / name, "new")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ac"] == [0o664, 0o640]
    assert [(tmp_path / name).read_text() for name in "abc"] == ["new", "old", "new"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to("below/other")
    (tmp_path / "below" / "other").symlink_to("file")
    for text in ("made", "replaced"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "below" / "other").is_symlink()
        assert (tmp_path / "below" / "file").read_text() == text
    assert names(tmp_path / "below") == ["file", "other"]


def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join(10)
    assert read == ["through"]
    assert (tmp_path / "pipe").is_fifo()
    write_text("/dev/null", "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(TrigemuError, match="cannot write /dev/full: No space left on device"):
        write_text("/dev/full", "x")


# ---- the disk


def test_what_a_killed_program_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    """And nothing of one that lives."""
    program = """
import os, sys
from trigemu.base import files
def halt(descriptor):
    print("there", flush=True)
    sys.stdin.read()
os.fsync = halt
files.write_text(sys.argv[1], "half")
"""
    command = [sys.executable, "-c", program, str(tmp_path / "a")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        (half,) = names(tmp_path)
        assert half.startswith(".trigemu-")
        write_text(tmp_path / "b", "x")
        assert names(tmp_path) == [half, "b"]
        other.kill()
        other.wait()
        files._remove_left.cache_clear()  # as another process
        write_text(tmp_path / "b", "y")
        assert names(tmp_path) == ["b"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit of the process takes its place: the error is another one, on the same way."""
    (tmp_path / "a").write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
    try:
        with pytest.raises(TrigemuError, match=r"cannot write .*a: File too large"):
            write_text(tmp_path / "a", "0123456789")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


# ---- outputs that are inputs


def test_a_root_file_without_the_clock_is_the_same_a_second_later() -> None:
    def content() -> bytes:
        file = io.BytesIO()
        with without_clock(), uproot.recreate(file, uuid_function=lambda: uuid.UUID(int=1)) as made:
            made.mktree("tree", {"x": np.arange(3)})
            return file.getvalue()

    known = uproot._util.datetime_to_code
    first = content()
    time.sleep(1.1)
    assert content() == first
    assert uproot._util.datetime_to_code is known


def test_what_is_read_up_to_a_size(tmp_path: Path) -> None:
    """What has no end, has a name that no file can have, or waits for others, is not."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    for file, message in (
        (tmp_path / "a", "is larger than 4 bytes"),
        (Path("/dev/zero"), "/dev/zero is larger than 4 bytes"),
        (Path("a\0b"), "no file can have this name"),
    ):
        with pytest.raises((TrigemuError, OSError), match=message):
            read_bounded(file, 4)


# ---- arrays


ARRAYS = {
    "x": np.arange(12, dtype=np.float32).reshape(3, 4),
    "text": np.array("µ"),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "none": np.empty((0, 3)),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_found(tmp_path: Path, save: Callable[..., None]) -> None:
    """zip keeps a checksum of each array; the few other bytes say where they are."""
    save(file := tmp_path / "a.npz", **ARRAYS)
    whole, found = file.read_bytes(), 0
    for position in range(0, len(whole), 7):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :])
        try:
            read = read_arrays(file, ARRAYS)
        except TrigemuError:
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
