"""Versions of the menu format: which menus are read, and how older ones are converted to the current format.

A menu gives its version as `format` under [menu]; without it, the version is 1. The number rises when menus
would otherwise change their meaning or be refused; new optional keys do not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from trigemu.support import Document, Problem, TableError, quoted

#: The format of the menus that trigemu writes, and the newest that it reads.
FORMAT = 1

#: Changes the content of a menu, read by `tomllib` or with its comments by `tomlkit`, in place. It ignores
#: unexpected content: mistakes are reported later.
Migration = Callable[[MutableMapping[str, Any]], None]
#: Format → the change from this format to the next.
MIGRATIONS: Mapping[int, Migration] = {}


def read_format(document: Document) -> None:
    """Convert the content of a menu to the current format.

    Raises TableError if its format is newer. Other mistakes are then not reported, because they may be valid
    in the newer format.
    """
    version = _version(document.data)
    if version > FORMAT:
        readable = "format 1" if FORMAT == 1 else f"formats 1 to {FORMAT}"
        newer = f"written for a newer trigemu; this one reads {readable}: install a newer one"
        problem = f"format = {quoted(version)}: {newer}"
        line = document.lines.get(("menu", "format"), 1)
        raise TableError([Problem(str(document.path), line, "[menu]", problem)])
    migrate(document.data)


def migrate(content: MutableMapping[str, Any]) -> None:
    """Convert the content of a menu, whose format is not newer, to the current format."""
    for older in range(_version(content), FORMAT):
        MIGRATIONS[older](content)


def _version(content: Mapping[str, Any]) -> int:
    """Return the format of a menu. An invalid version counts as the current one: it is reported with all
    other mistakes when [menu] is read."""
    head = content.get("menu", {})
    version = head.get("format", 1) if isinstance(head, dict) else 1
    valid = isinstance(version, int) and not isinstance(version, bool) and version >= 1
    return int(version) if valid else FORMAT
