"""Versions of the menu format: which menus are read, and how older ones are brought to the present format.

A menu gives its version as `format` under [menu]; one without it is of version 1. The number rises when menus
would otherwise change their meaning or be refused; new optional keys leave it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from trigemu.support import Document, Problem, TableError, quoted

#: The format of the menus that trigemu writes, and the newest that it reads.
FORMAT = 1

#: Changes the content of a menu, read by `tomllib` or with its comments by `tomlkit`, in place. It leaves
#: alone what it does not expect: mistakes are reported later.
Migration = Callable[[MutableMapping[str, Any]], None]
#: Format → the change that makes a menu of this format one of the next.
MIGRATIONS: Mapping[int, Migration] = {}


def read_format(document: Document) -> None:
    """Bring the content of a menu to the present format.

    Raises TableError if its format is newer; no other mistake is then reported, since a newer menu may be
    right where this trigemu sees mistakes.
    """
    version = _version(document.data)
    if version > FORMAT:
        known = "format 1" if FORMAT == 1 else f"formats 1 to {FORMAT}"
        newer = f"written for a newer trigemu; this one reads {known}: install a newer one"
        problem = f"format = {quoted(version)}: {newer}"
        line = document.lines.get(("menu", "format"), 1)
        raise TableError([Problem(str(document.path), line, "[menu]", problem)])
    migrate(document.data)


def migrate(content: MutableMapping[str, Any]) -> None:
    """Bring the content of a menu, which is not of a newer format, to the present one."""
    for older in range(_version(content), FORMAT):
        MIGRATIONS[older](content)


def _version(content: Mapping[str, Any]) -> int:
    """Return the format of a menu. What is no version counts as the present one: it is refused where [menu]
    is read, with all other mistakes."""
    head = content.get("menu", {})
    version = head.get("format", 1) if isinstance(head, dict) else 1
    valid = isinstance(version, int) and not isinstance(version, bool) and version >= 1
    return int(version) if valid else FORMAT
