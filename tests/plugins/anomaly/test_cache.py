"""The cache folder: whose it is, and who may write to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trigemu_anomaly import cache
from trigemu_anomaly.cache import NoCacheError, folder_of_cache

from trigemu.base.errors import TrigemuError


def test_it_is_made_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a"))
    before = os.umask(0)
    try:
        assert folder_of_cache() == tmp_path / "a" / "trigemu"
    finally:
        os.umask(before)
    assert folder_of_cache().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("home", ["", "relative"])
def test_home_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """A relative folder, which would depend on the current one, does not count, as XDG demands."""
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder_of_cache() == tmp_path / ".cache" / "trigemu"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "TRIGEMU_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    assert cache.cache_folders() == []
    with pytest.raises(NoCacheError, match="there is no home folder to keep compiled models in: set XDG"):
        folder_of_cache()


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_one_that_others_may_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "trigemu").mkdir()
    (tmp_path / "trigemu").chmod(mode)
    with pytest.raises(TrigemuError, match=rf"has mode {mode:o}: others could put code there: set XDG"):
        folder_of_cache()


def test_one_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the administrator or the owner of the installation is read, as in the image of a container."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    status = folder_of_cache().stat()
    other = list(status)
    other[4] = 12345
    assert cache.is_trusted(status)
    assert not cache.is_trusted(os.stat_result(other))
    monkeypatch.setattr(cache, "is_trusted", lambda status: False)
    with pytest.raises(TrigemuError, match=rf"belongs to the user with number {os.getuid()} and has mode"):
        folder_of_cache()
    assert cache.cache_folders() == []


@pytest.mark.parametrize("mode", [0o757])
def test_the_folder_of_the_variable_is_refused_where_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("TRIGEMU_CACHE_DIR", str(tmp_path / "image"))
    assert folder_of_cache() == tmp_path / "image"
    assert folder_of_cache().stat().st_mode & 0o777 == 0o755
    folder_of_cache().chmod(mode)
    assert tmp_path / "image" not in cache.cache_folders()
    with pytest.raises(TrigemuError, match=rf"image \(TRIGEMU_CACHE_DIR\), .* mode {mode:o}"):
        folder_of_cache()
