"""The user's cache folder, for what is executed or believed when it is found there again."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from trigemu.support.errors import TrigemuError

_ELSEWHERE = "set XDG_CACHE_HOME to a folder of your own"


def folder_of_cache() -> Path:
    """Return the folder `trigemu` in XDG_CACHE_HOME, else in `~/.cache`, which is made for this user alone.

    Raises TrigemuError if it cannot be made, or if others may write to it: they could put code there.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(home) if home and Path(home).is_absolute() else Path.home() / ".cache"
        folder = base / "trigemu"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except RuntimeError:
        raise TrigemuError(f"there is no home folder to keep compiled models in: {_ELSEWHERE}") from None
    except OSError as error:
        raise TrigemuError(
            f"cannot create {folder}, where compiled models are kept: {error.strerror}; {_ELSEWHERE}"
        ) from None
    if not is_private(found):
        raise TrigemuError(
            f"{folder}, where compiled models are kept, {of_others(found)}, who could put other code there: "
            f"{_ELSEWHERE}, or remove it"
        )
    return folder


def is_private(found: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user, and only this user may write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def of_others(found: os.stat_result) -> str:
    """Return why a file or folder is not private, as the end of a sentence."""
    if found.st_uid != os.geteuid():
        return f"belongs to the user with number {found.st_uid}"
    return f"may be written by others (mode {stat.S_IMODE(found.st_mode):o})"
