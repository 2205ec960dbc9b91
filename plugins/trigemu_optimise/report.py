"""The section of `trigemu report` on menus that `trigemu optimise` wrote."""

from __future__ import annotations

from collections.abc import Iterator

from trigemu.results.section import Contents, Section

from .figures import pictures
from .view import notes_of, tables_of
from .write_menu import read_summary


def sections(contents: Contents) -> Iterator[Section]:
    """Yield a section for each menu with the numbers of its optimisation beside it."""
    for variant in contents.variants:
        summary = read_summary(variant.menu)
        if summary is not None:
            yield Section(
                "How the menu was optimised",
                tuple(notes_of(summary)),
                tuple(table for table in tables_of(summary) if table.rows),
                tuple(pictures(summary)),
                menu=variant.menu.name,
            )
