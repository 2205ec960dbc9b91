"""Checkpoints: finished tasks are found again, and nothing that is damaged is."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from work_toys import Item, Numbers, Recital, items, numbers

from trigemu.base.checkpoint import Checkpoint, Head, Part, listed_tasks, prune
from trigemu.base.errors import TrigemuError

WORK = Recital("nowhere")


def keep(folder: Path, units: Sequence[Item], work: Recital = WORK) -> Path:
    """Keep the result of some units, and return its file."""
    before = {*folder.glob("*")}
    head = Head(work.key, tuple(unit.key for unit in units), work.about, len(units), "1.0")
    Checkpoint(folder).keep(head, Numbers(np.array([unit.number for unit in units])))
    (path,) = {*folder.glob("*")} - before
    return path


def found(folder: Path, units: Sequence[Item], work: Recital = WORK) -> tuple[list[int], list[str]]:
    """Return the numbers that are found, after a check that parts follow each other; and what was told."""
    told: list[str] = []
    parts: list[Part[Item, Numbers]] = [*Checkpoint(folder).divided(work, units, told.append)]
    assert [unit for part in parts for unit in part.units] == [*units]
    for part in parts:
        assert part.result is None or numbers([part.result]) == [unit.number for unit in part.units]
    return numbers(part.result for part in parts if part.result), told


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([], []),
        ([(0, 8)], [0, 1, 2, 3, 4, 5, 6, 7]),
        ([(k, k + 1) for k in range(8)], [0, 1, 2, 3, 4, 5, 6, 7]),
        ([(0, 2), (5, 6)], [0, 1, 5]),
        ([(1, 3), (6, 8)], [1, 2, 6, 7]),
        ([(0, 2), (0, 4), (3, 8)], [0, 1, 2, 3]),  # the longest; what overlaps it is not used
        ([(0, 2), (6, 9)], [0, 1]),  # 8 is not of this run
    ],
)
def test_units_are_found_whatever_tasks_they_were_done_in(
    tmp_path: Path, kept: list[tuple[int, int]], expected: list[int]
) -> None:
    for begin, end in kept:
        keep(tmp_path, items(9)[begin:end])
    assert found(tmp_path, items(8)) == (expected, [])


def test_other_works_and_other_units_find_nothing(tmp_path: Path) -> None:
    keep(tmp_path, items(3))
    assert found(tmp_path, items(3), Recital("nowhere", name="other")) == ([], [])
    assert found(tmp_path, items(6)[3:]) == ([], [])
    assert found(tmp_path, items(2)) == ([], [])
    assert found(tmp_path, items(3)[::-1]) == ([], [])
    assert found(tmp_path, []) == ([], [])


def test_a_flipped_byte_anywhere_is_told_and_the_part_done_again(tmp_path: Path) -> None:
    keep(tmp_path, items(1))
    path = keep(tmp_path, items(3)[1:])
    content = path.read_bytes()
    for at in range(0, len(content), 3):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        result, (message,) = found(tmp_path, items(3))
        assert result == [0], at
        assert message == f"{path} is damaged or of another program: its part is done again"
    path.write_bytes(content)
    assert found(tmp_path, items(3)) == ([0, 1, 2], [])


def test_a_file_that_is_cut_short_or_foreign_is_told_and_replaced(tmp_path: Path) -> None:
    path = keep(tmp_path, items(2))
    content = path.read_bytes()
    damaged = [content[:length] for length in (*range(0, len(content), 7), len(content) - 1)]
    for foreign in (*damaged, content + b"\0", b"\x80\x04" + bytes(300), b"\n" * 500):
        path.write_bytes(foreign)
        result, (message,) = found(tmp_path, items(2))
        assert (result, message.split(":")[0]) == ([], f"{path} is damaged or of another program")
    assert [kept.head for kept in listed_tasks(tmp_path)] == [None]
    path.unlink()
    assert keep(tmp_path, items(2)) == path
    assert found(tmp_path, items(2)) == ([0, 1], [])


def test_a_pipe_under_the_name_of_a_task_blocks_nothing(tmp_path: Path) -> None:
    path = keep(tmp_path, items(2))
    path.unlink()
    os.mkfifo(path)
    result, (message,) = found(tmp_path, items(2))
    assert (result, message.split(" ")[0]) == ([], str(path))
    assert [*listed_tasks(tmp_path)] == []


def test_a_folder_that_cannot_be_made_or_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is done."""
    (tmp_path / "file").touch()
    for name, reason in (("file", "File exists"), ("file/below", "Not a directory"), ("a\0b", "null byte")):
        with pytest.raises(TrigemuError, match=f"cannot make the checkpoint folder .*{reason}"):
            Checkpoint(tmp_path / name)
    assert Checkpoint(tmp_path / "new" / "below").folder.is_dir()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    with pytest.raises(TrigemuError, match="its folder is not writable"):
        Checkpoint(tmp_path)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrigemuError, match=r"cannot write .*\.task: No space left on device"):
        keep(tmp_path, items(2))
    assert [*tmp_path.iterdir()] == []


def test_listing_shows_what_there_is_and_nothing_of_others(tmp_path: Path) -> None:
    first, second = keep(tmp_path, items(2)), keep(tmp_path, items(5)[2:])
    (tmp_path / "notes.task").write_text("mine")
    (tmp_path / ("0" * 32 + "-" + "0" * 32 + ".task")).mkdir()
    second.write_bytes(second.read_bytes()[:-1])
    kept = {kept.path: kept for kept in listed_tasks(tmp_path)}
    assert kept.keys() == {first, second}
    assert kept[first].bytes == first.stat().st_size
    assert kept[first].head == Head(WORK.key, tuple(unit.key for unit in items(2)), "recital", 2, "1.0")
    assert kept[second].head is None
    with pytest.raises(TrigemuError, match=r"no folder .*: expected one that was given as --checkpoint"):
        next(listed_tasks(tmp_path / "missing"))


def aged(path: Path, days: float) -> Path:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))
    return path


def test_pruning_removes_by_age_and_what_is_damaged_and_nothing_of_others(tmp_path: Path) -> None:
    old, new, damaged = (keep(tmp_path, items(6)[k : k + 2]) for k in (0, 2, 4))
    aged(old, 3)
    damaged.write_bytes(b"trigemu")
    left = tmp_path / ".trigemu-left"
    left.touch()
    aged(left, 3)
    (tmp_path / ".trigemu-being-written").touch()
    mine = [tmp_path / name for name in ("notes.task", ".hidden", "old.txt")]
    for file in mine:
        file.write_text("mine")
        aged(file, 1000)
    size = sum(file.stat().st_size for file in (old, damaged, left))
    assert prune(tmp_path, 2.5) == (3, size)
    assert {*tmp_path.iterdir()} == {new, tmp_path / ".trigemu-being-written", *mine}
    assert prune(tmp_path, 2.5) == (0, 0)
    assert prune(tmp_path, 0)[0] == 2
    assert {*tmp_path.iterdir()} == {*mine}
