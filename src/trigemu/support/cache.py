"""The folders of what is executed or believed when it is found there again.

There are two: that of the variable TRIGEMU_CACHE_DIR, which may belong to the administrator and be read-only,
as in the image of a container, and that of the user. Both are read; what is new goes to the first that can be
written to.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from trigemu.support.errors import TrigemuError

VARIABLE = "TRIGEMU_CACHE_DIR"
_ELSEWHERE = f"set XDG_CACHE_HOME or {VARIABLE} to a folder of your own"


class NoCacheError(TrigemuError):
    """There is no folder of the user's own to keep anything in."""


def folder_of_cache() -> Path:
    """Return the folder that is written to, and make it if needed.

    It is that of the variable TRIGEMU_CACHE_DIR, unless that belongs to somebody else; else `trigemu` in
    XDG_CACHE_HOME, or in the folder of the system for it (`~/.cache`).

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    NoCacheError
        If it cannot be made.
    TrigemuError
        If others may write to it: they could put code there.
    """
    given = folder_from_environment()
    if given is not None and not (given.is_dir() and is_trusted(given.stat()) and not _is_writable(given)):
        return _made(given, 0o755, f"{given} ({VARIABLE})")
    folder = own_folder()
    if folder is None:
        raise NoCacheError(f"there is no home folder to keep compiled models in: {_ELSEWHERE}")
    return _made(folder, 0o700, str(folder))


def cache_folders() -> list[Path]:
    """Return the folders that are read: that of TRIGEMU_CACHE_DIR, and the user's own.

    Returns
    -------
    list of Path
        Those that exist and into which nobody else could have put code.
    """
    folders = []
    for folder in (folder_from_environment(), own_folder()):
        try:
            if folder is not None and is_trusted(folder.stat()):
                folders.append(folder)
        except OSError:
            continue
    return folders


def folder_from_environment() -> Path | None:
    """Return the folder of TRIGEMU_CACHE_DIR; a relative one, which would depend on the current one, does not
    count."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given and Path(given).is_absolute() else None


def own_folder() -> Path | None:
    """Return the folder of this user alone, which need not be there; None if there is no home."""
    try:
        return user_cache_path("trigemu")
    except RuntimeError:
        return None


def _made(folder: Path, mode: int, name: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
        found = folder.stat()
    except OSError as error:
        raise NoCacheError(
            f"cannot create {name}, where compiled models are kept: {error.strerror}; {_ELSEWHERE}"
        ) from None
    if not is_private(found):
        raise TrigemuError(
            f"{name}, where compiled models are kept, {of_others(found)}, who could put other code there: "
            f"{_ELSEWHERE}, or remove it"
        )
    return folder


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def is_private(found: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user, and only this user may write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_trusted(found: os.stat_result, *, by_group: bool = False) -> bool:
    """Return whether only those can have written a file or folder who could change this process anyway.

    These are the user, the administrator, and the owner of the installation.

    Parameters
    ----------
    found : os.stat_result
        What `Path.stat` returns for it.
    by_group : bool
        Whether the user's own group may write to it too.

    Returns
    -------
    bool
        Whether its content may be executed.
    """
    group = 0 if by_group and found.st_gid == os.getegid() else stat.S_IWGRP
    return found.st_uid in {os.geteuid(), 0, _installer()} and not found.st_mode & (group | stat.S_IWOTH)


@cache
def _installer() -> int:
    return Path(__file__).stat().st_uid


def of_others(found: os.stat_result) -> str:
    """Return why a file or folder is not private, as the end of a sentence."""
    if found.st_uid != os.geteuid():
        return f"belongs to the user with number {found.st_uid}"
    return f"may be written by others (mode {stat.S_IMODE(found.st_mode):o})"
