"""The cache folder, whose content is executed or trusted when it is read again."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from trigemu.base.errors import TrigemuError

VARIABLE = "TRIGEMU_CACHE_DIR"
_ELSEWHERE = f"set XDG_CACHE_HOME or {VARIABLE} to a folder of your own"


class NoCacheError(TrigemuError):
    """The user has no cache folder, and none can be made."""


def folder_of_cache() -> Path:
    """Return the folder of TRIGEMU_CACHE_DIR, else `trigemu` in XDG_CACHE_HOME or in the cache folder of the
    system (`~/.cache`), and make it if needed."""
    variable = Path(os.environ.get(VARIABLE, ""))
    is_shared = variable.is_absolute()  # else it depends on the current folder
    try:
        folder = variable if is_shared else user_cache_path("trigemu")
    except RuntimeError:
        raise NoCacheError(f"there is no home folder to keep compiled models in: {_ELSEWHERE}") from None
    name = f"{folder} ({VARIABLE})" if is_shared else folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755 if is_shared else 0o700)
        status = folder.stat()
    except OSError as error:
        raise NoCacheError(
            f"cannot create {name}, where compiled models are kept: {error.strerror}; {_ELSEWHERE}"
        ) from None
    if not is_trusted(status):
        raise TrigemuError(
            f"{name}, where compiled models are kept, belongs to the user with number {status.st_uid} and "
            f"has mode {stat.S_IMODE(status.st_mode):o}: others could put code there: {_ELSEWHERE}, or "
            f"remove it"
        )
    return folder


def cache_folders() -> list[Path]:
    """Return the folders that are read: the cache folder, if there is one."""
    with suppress(TrigemuError):
        return [folder_of_cache()]
    return []


def is_trusted(status: os.stat_result) -> bool:
    """Return whether a file or folder was written by somebody who can change this process anyway.

    This is the user, the administrator, or the owner of the installation.
    """
    owners = {os.geteuid(), 0, Path(__file__).stat().st_uid}
    return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
