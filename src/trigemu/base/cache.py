"""The cache folders, whose content is executed or trusted when it is read again.

There are two: that of the variable TRIGEMU_CACHE_DIR, which may belong to the administrator and be read-only,
as in the image of a container, and that of the user. Both are read; new files go to the first writable one.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from trigemu.base.errors import TrigemuError

VARIABLE = "TRIGEMU_CACHE_DIR"
_ELSEWHERE = f"set XDG_CACHE_HOME or {VARIABLE} to a folder of your own"


class NoCacheError(TrigemuError):
    """The user has no cache folder, and none can be made."""


def folder_of_cache() -> Path:
    """Return the folder that new files go to, and make it if needed.

    This is the folder of the variable TRIGEMU_CACHE_DIR, unless somebody else owns it; otherwise `trigemu` in
    XDG_CACHE_HOME, or in the cache folder of the system (`~/.cache`).
    """
    folder = folder_from_environment()
    if folder is not None and not (
        folder.is_dir() and is_trusted(folder.stat()) and not _is_writable(folder)
    ):
        return _made(folder, 0o755, f"{folder} ({VARIABLE})")
    folder = own_folder()
    if folder is None:
        raise NoCacheError(f"there is no home folder to keep compiled models in: {_ELSEWHERE}")
    return _made(folder, 0o700, str(folder))


def cache_folders() -> list[Path]:
    """Return the folders that are read: that of TRIGEMU_CACHE_DIR, and the user's own."""
    folders = []
    for folder in (folder_from_environment(), own_folder()):
        try:
            if folder is not None and is_trusted(folder.stat()):
                folders.append(folder)
        except OSError:
            continue
    return folders


def folder_from_environment() -> Path | None:
    """Return the folder of TRIGEMU_CACHE_DIR; None without one, or if it depends on the current folder."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name and Path(name).is_absolute() else None


def own_folder() -> Path | None:
    """Return the folder of this user, which may not exist yet; None if there is no home folder."""
    try:
        return user_cache_path("trigemu")
    except RuntimeError:
        return None


def _made(folder: Path, mode: int, name: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
        status = folder.stat()
    except OSError as error:
        raise NoCacheError(
            f"cannot create {name}, where compiled models are kept: {error.strerror}; {_ELSEWHERE}"
        ) from None
    if not is_private(status):
        raise TrigemuError(
            f"{name}, where compiled models are kept, {of_others(status)}, who could put other code there: "
            f"{_ELSEWHERE}, or remove it"
        )
    return folder


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def is_private(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user, and only this user may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_trusted(status: os.stat_result) -> bool:
    """Return whether a file or folder was written by somebody who can change this process anyway.

    This is the user, the administrator, or the owner of the installation.
    """
    owners = {os.geteuid(), 0, _installer()}
    return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _installer() -> int:
    return Path(__file__).stat().st_uid


def of_others(status: os.stat_result) -> str:
    """Return why a file or folder is not private, as the end of a sentence."""
    if status.st_uid != os.geteuid():
        return f"belongs to the user with number {status.st_uid}"
    return f"may be written by others (mode {stat.S_IMODE(status.st_mode):o})"
