"""Private names of other libraries that trigemu depends on, all in this file.

They may change with any release. If one is missing, the error names it and the version of the library that
trigemu was checked with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import uproot
from numba.core.dispatcher import Dispatcher
from tomlkit.items import Table

from trigemu.support.errors import TrigemuError

#: Versions with which these names were checked.
CHECKED = {"numba": "0.68", "tomlkit": "0.15", "uproot": "5.7", "conifer": "1.11"}


def stamp_cache(compiled: Callable[..., Any], digest: str) -> None:
    """Invalidate numba's cache of a kernel when a digest changes, not only when its source file does."""
    if isinstance(compiled, Dispatcher):  # false if compilation is disabled
        kept = _needed("numba", _needed("numba", compiled, "_cache"), "_cache_file")
        kept._source_stamp = _needed("numba", kept, "_source_stamp"), digest


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


def without_origin(model: Any) -> None:
    """Keep a conifer model from recording the time, machine, user and folder."""
    for name, value in (("_stamp", 0), ("_metadata", [])):
        _needed("conifer", model, name)
        setattr(model, name, value)


def _needed(library: str, of: Any, name: str) -> Any:
    try:
        return getattr(of, name)
    except AttributeError:
        raise TrigemuError(
            f"{library} {version(library)} has no {type(of).__name__}.{name}, which trigemu needs: it was "
            f"checked with version {CHECKED[library]}"
        ) from None
