"""Private names of other libraries that trigemu depends on, all in this file but those of conifer, which are
in `firmware/convert.py`: a script that starts without trigemu.

They may change with any release. If one is missing, the error names it and the version of the library that
trigemu was checked with.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uproot
from numba.core.caching import IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from tomlkit.items import Table

from trigemu.support.errors import TrigemuError

_DIGEST = hashlib.sha256().digest_size
#: Versions with which these names were checked.
CHECKED = {"numba": "0.68", "tomlkit": "0.15", "uproot": "5.7"}


def stamp_cache(compiled: Callable[..., Any], digest: str) -> None:
    """Invalidate numba's cache of a kernel when a digest changes, not only when its source file does."""
    if isinstance(compiled, Dispatcher):  # false if compilation is disabled
        cache = _needed("numba", compiled, "_cache")
        kept = _needed("numba", cache, "_cache_file")
        for name in ("_dump", "_load_data", "_data_path", "flush"):
            _needed("numba", kept, name)
        sound = _SoundCacheFile.__new__(_SoundCacheFile)
        sound.__dict__.update(vars(kept))
        sound._source_stamp = _needed("numba", kept, "_source_stamp"), digest
        cache._cache_file = sound


class _SoundCacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The cache of a kernel, with a digest behind each entry. One that is damaged is made again; numba would
    end with any error there is, or run the damaged code."""

    def load(self, key: Any) -> Any:
        try:
            if self._is_of_others():
                return None
            return super().load(key)
        except MemoryError:
            raise
        except Exception:  # of pickle, which may raise anything
            self._start_again()
            return None

    def save(self, key: Any, data: Any) -> None:
        try:
            super().save(key, data)
        except (OSError, MemoryError):
            raise
        except Exception:
            self._start_again()
            super().save(key, data)

    def _is_of_others(self) -> bool:
        """Whether somebody else could have put code into the folder: neither this user nor whoever owns the
        source, which is trusted as much."""
        folder = Path(self._data_path("x")).parent.stat()
        owners = {os.geteuid(), Path(__file__).stat().st_uid}
        by_group = folder.st_mode & stat.S_IWGRP and folder.st_gid != os.getegid()
        return folder.st_uid not in owners or bool(by_group or folder.st_mode & stat.S_IWOTH)

    def _start_again(self) -> None:
        with suppress(
            OSError
        ):  # of a folder that cannot be written: the damage stays, and is compiled around
            self.flush()

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()  # pickle ignores what follows

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        content, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("damaged")
        return pickle.loads(content)


def replace_key(table: Table, key: str, new: str, value: Any) -> None:
    """Replace a key and its value, and keep its place and comment."""
    _needed("tomlkit", table.value, "_replace")(key, new, value)


def insert_after(table: Table, key: str, new: str, value: Any) -> None:
    """Insert a key directly after another, before any comments on what follows."""
    _needed("tomlkit", table.value, "_insert_after")(key, new, value)


@contextmanager
def without_clock() -> Iterator[None]:
    """Keep uproot from writing the time into its files, so that equal contents give identical files."""
    known = _needed("uproot", uproot._util, "datetime_to_code")
    uproot._util.datetime_to_code = lambda time: 0
    try:
        yield
    finally:
        uproot._util.datetime_to_code = known


def _needed(library: str, of: Any, name: str) -> Any:
    try:
        return getattr(of, name)
    except AttributeError:
        raise TrigemuError(
            f"{library} {version(library)} has no {type(of).__name__}.{name}, which trigemu needs: it was "
            f"checked with version {CHECKED[library]}"
        ) from None
