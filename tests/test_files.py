from __future__ import annotations

import os
from pathlib import Path

import pytest

from trigemu.errors import TrigemuError
from trigemu.files import check_writable, write_text


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
