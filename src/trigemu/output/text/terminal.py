"""Tables and lines for a terminal. Names come from menus, samples and files: characters of theirs that would
act on a terminal are shown as escapes."""

from __future__ import annotations

from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from trigemu.support import printable


class Table(RichTable):
    """A table without lines, with bold headings."""

    def __init__(self, title: str = "") -> None:
        super().__init__(
            box=None,
            pad_edge=False,
            header_style="bold",
            title=printable(title) or None,
            title_justify="left",
        )

    def add_column(  # type: ignore[override]
        self,
        header: str,
        *,
        justify: Literal["left", "right"] = "left",
        overflow: Literal["fold", "ellipsis"] = "ellipsis",
        no_wrap: bool = False,
    ) -> None:
        super().add_column(printable(header), justify=justify, overflow=overflow, no_wrap=no_wrap)

    def add_row(self, *cells: str, style: str = "") -> None:  # type: ignore[override]
        super().add_row(*map(printable, cells), style=style)


def plain(text: str, style: str = "") -> Text:
    """Return a line of text."""
    return Text(printable(text), style=style)
