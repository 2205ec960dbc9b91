"""Private names of tomlkit and uproot that trigemu uses. Those of numba are in `kernels.py`, those of conifer
in `firmware/convert.py`, a script that runs without trigemu.

They may change with any release. If one is missing, the error names it and the version of the library that
trigemu was checked with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from trigemu.base.errors import TrigemuError

if TYPE_CHECKING:
    from tomlkit.items import Table

#: Versions with which these names were checked.
CHECKED = {"tomlkit": "0.15", "uproot": "5.7"}


def replace_key(table: Table, key: str, new: str, value: Any) -> None:
    """Replace a key and its value, and keep its place and comment."""
    _needed("tomlkit", table.value, "_replace")(key, new, value)


def insert_after(table: Table, key: str, new: str, value: Any) -> None:
    """Insert a key into a table of tomlkit directly after another, before any comments on what follows."""
    _needed("tomlkit", table.value, "_insert_after")(key, new, value)


@contextmanager
def without_clock() -> Iterator[None]:
    """Keep uproot from writing the time into its files within a block: equal contents give identical
    files."""
    import uproot

    original = _needed("uproot", uproot._util, "datetime_to_code")
    uproot._util.datetime_to_code = lambda time: 0
    try:
        yield
    finally:
        uproot._util.datetime_to_code = original


def _needed(library: str, owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise TrigemuError(
            f"{library} {version(library)} has no {type(owner).__name__}.{name}, which trigemu needs: it was "
            f"checked with version {CHECKED[library]}"
        ) from None
