"""The version of the menu format: `format` under [menu], without which it is 1.

It rises when menus would otherwise change their meaning or be refused; new optional keys do not change it.
"""

from __future__ import annotations

from trigemu.support import Document, Problem, TableError, quoted

#: The format of the menus that trigemu writes, and the newest that it reads.
FORMAT = 1


def check_format(document: Document) -> None:
    """Raise TableError if the format of a menu is newer. Other mistakes are then not reported, because they
    may be valid in the newer format; an invalid format is reported with all others."""
    head = document.data.get("menu")
    version = head.get("format") if isinstance(head, dict) else None
    if isinstance(version, int) and version > FORMAT:
        newer = f"written for a newer trigemu; this one reads format {FORMAT}: install a newer one"
        line = document.lines.get(("menu", "format"), 1)
        problem = f"format = {quoted(version)}: {newer}"
        raise TableError([Problem(str(document.path), line, "[menu]", problem)])
