from __future__ import annotations

import os
from pathlib import Path

import pytest

from trigemu.support.errors import TrigemuError
from trigemu.support.files import check_writable, new_folder, write_text


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_what_is_written_is_there_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text in ("first: φ\n", "second"):
        write_text(file, text)
        assert file.read_text(encoding="utf-8") == text
        assert names(tmp_path) == ["a.json"]


def test_a_name_without_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("a.csv", "x")
    assert (tmp_path / "a.csv").read_text() == "x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent/a.json", "there is no folder"),
        ("file/a.json", "there is no folder"),
        ("folder", "it is a folder"),
        (".", "it is a folder"),
        ("", "it is a folder"),
    ],
)
def test_where_no_file_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for attempt in (lambda: check_writable(name), lambda: write_text(name, "x")):
        with pytest.raises(TrigemuError, match=f"cannot write .*{message}"):
            attempt()
    assert names(tmp_path) == ["file", "folder"]
    assert not list((tmp_path / "folder").iterdir())


def test_a_failure_on_the_way_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(TrigemuError, match=r"cannot write .*a\.json: No space left on device"):
        write_text(file, "new")
    assert file.read_text() == "old"
    assert names(tmp_path) == ["a.json"]


def test_a_folder_that_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    with pytest.raises(TrigemuError, match="its folder is not writable"):
        check_writable(tmp_path / "a.json")


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


def test_where_no_new_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, message in (
        ("folder", "it already exists"),
        ("file", "it already exists"),
        ("link", "it already exists"),
        ("absent/made", "there is no folder"),
    ):
        with pytest.raises(TrigemuError, match=f"cannot write .*{message}"), new_folder(tmp_path / name):
            pytest.fail("nothing may be done")
    assert names(tmp_path) == ["file", "folder", "link"]


def test_a_folder_that_came_in_between_is_left_alone(tmp_path: Path) -> None:
    def late() -> None:
        with new_folder(tmp_path / "made"):
            (tmp_path / "made").mkdir()
            (tmp_path / "made" / "file").touch()

    with pytest.raises(TrigemuError, match=r"cannot write .*made: Directory not empty"):
        late()
    assert names(tmp_path) == ["made"]
    assert names(tmp_path / "made") == ["file"]
