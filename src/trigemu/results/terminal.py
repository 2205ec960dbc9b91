"""Tables and lines for a terminal, as wide as it is. Names come from menus, samples and files: characters of
theirs that would act on a terminal are shown as escapes.

A table is text in columns without rules. Where it is too wide, notes go below their rows, columns give way,
and what is left is printed in blocks that begin with the names, unless broken names leave room.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import dropwhile, pairwise, zip_longest
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from trigemu.base.errors import printable
from trigemu.rates.results import Rate
from trigemu.results.numbers import marked, signed, unsigned
from trigemu.results.table import LEFT, Column, Page, Role, RowStyle, Table

#: Columns of a pipe or a file.
WIDTH = 100
#: The least width of a column of notes; of names, where numbers stay beside each other; of names in blocks;
#: the indentation of a note below its row.
_NOTE, _NAME, _LEAST, _INDENT = 24, 24, 6, 4
#: Styles of rich for rows.
_STYLES: Mapping[RowStyle, str] = {"plain": "", "group": "cyan", "summary": "bold", "wrong": "bold red"}
_TEXTS: Mapping[Role, Callable[[Any], str]] = {
    "rate": lambda value: marked(value) if isinstance(value, Rate) else unsigned(*value),
    "difference": lambda value: signed(*value),
    "number": lambda value: f"{value:.6g}",
    "share": lambda value: f"{100 * value:.3g} %",
    "flag": lambda value: "yes" if value else "",
}


def text_of(column: Column, value: Any) -> str:
    """Format a value of a table."""
    if value is None or isinstance(value, str):
        return value or ""
    return (column.text or _TEXTS.get(column.role, str))(value)


def width_of(stream: IO[str] | None) -> int | None:
    """Return the columns for a stream: those that the variable COLUMNS says, None for those of a terminal,
    100 for a pipe or a file."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and len(columns) < 6 else 0
    return width or (None if stream is not None and stream.isatty() else WIDTH)


class FittingConsole(Console):
    """A console that prints pages and lines within its width, and control characters of texts as escapes."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print pages: their tables and lines, then notes: first of what gave way, then their own."""
        for shown in objects:
            parts = shown.split("\n") if isinstance(shown, str) else [shown]
            page, left_out = shown if isinstance(shown, Page) else Page(parts), dict[str, int]()
            lines: list[Text] = []
            for before, part in pairwise(["", *page.parts]):
                if isinstance(part, str):
                    lines += _wrapped(part, self.width)
                    continue
                if isinstance(before, Table):
                    lines.append(Text())
                if part.title:
                    lines += _wrapped(part.title, self.width, "italic")
                lines += _of_table(part, self.width, left_out)
            notes = [*dropwhile(lambda note: not note, page.notes)]
            if left_out:
                needed = max(left_out.values())
                notes.insert(0, f"Not shown: {', '.join(left_out)} (with {needed} columns, or in --json).")
            for note in ["", *notes] if notes else ():
                lines += _wrapped(note, self.width, "dim")
            super().print(Text("\n").join(lines), no_wrap=True, overflow="ignore", crop=False)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has its own exit status."""
        raise


#: Rich needs a console to break lines, but reads only the size of a tab from it.
_CONSOLE = Console(width=80, color_system=None)


def _wrapped(text: str, width: int, style: str = "") -> Iterator[Text]:
    """Yield the lines of a text, broken at spaces."""
    for line in Text(printable(text), style).wrap(_CONSOLE, max(width, 1)):
        line.rstrip()
        yield line


class _Printed:
    """A column as texts, and the width that it needs: of notes that of their longest word, at least."""

    def __init__(self, column: Column, table: Table) -> None:
        self.column, self.is_note = column, column.role == "note"
        self.head = printable(column.heading or "")
        self.cells = [printable(text_of(column, row.values.get(column.name))) for row in table.rows]
        self.width = self.widest = max(map(cell_len, (self.head, *self.cells)))
        if self.is_note:
            words = (cell_len(word) for cell in self.cells for word in cell.split())
            self.width = max(min(self.widest, _NOTE), *words, 0)


def _total(columns: Sequence[_Printed], gap: int = 1) -> int:
    return sum(column.width + gap for column in columns) - gap


def _of_table(table: Table, width: int, left_out: dict[str, int]) -> Iterator[Text]:
    """Yield the lines of a table; add the columns that give way to those `left_out`, with the width at which
    none has to."""
    printed = [_Printed(c, table) for c in table.columns if c.heading is not None and not c.wide]
    filled = [p for p in printed if p.column.identifies or any(p.cells) or not table.rows]
    needed = _total(filled)
    below = [column for column in filled if column.is_note and needed > width]
    columns = offered = [column for column in filled if column not in below]
    while _total(columns) > width and (first := max(p.column.gives_way for p in columns)):
        columns = [p for p in columns if p.column.gives_way != first]
    left_out |= {column.head: needed for column in offered if column not in columns}
    keys, rest = ([p for p in columns if p.column.identifies is is_key] for is_key in (True, False))
    room = width - sum(column.width + 1 for column in rest)
    if room < _NAME:  # then in blocks
        room = width - max((column.width + 1 for column in rest), default=0)
    while keys and _total(keys) > room and (longest := max(keys, key=lambda key: key.width)).width > _LEAST:
        longest.width -= 1
    for number in range(1, len(rest) + 1):
        most = -(-len(rest) // number)
        blocks = [rest[i : i + most] for i in range(0, len(rest), most)]
        if all(_total([*keys, *block]) <= width for block in blocks):
            break
    for number, block in enumerate(blocks if rest else [[]]):
        if number:
            yield Text()
        beside = [*keys, *block]
        gap = 1 if _total(beside, 2) > width else 2
        for column in block:
            if column.is_note:
                column.width = min(column.widest, column.width + max(width - _total(beside, gap), 0))
        if any(column.head for column in beside):
            yield from _row([(column, column.head) for column in beside], gap, "bold")
        for i, row in enumerate(table.rows):
            style = _STYLES[row.style]
            yield from _row([(column, column.cells[i]) for column in beside], gap, style)
            for column in below if not number else ():
                for line in _wrapped(column.cells[i], width - _INDENT, style) if column.cells[i] else ():
                    yield Text(" " * _INDENT, style) + line


def _row(cells: Sequence[tuple[_Printed, str]], gap: int, style: str) -> Iterator[Text]:
    """Yield the lines of a row: only notes, and names that are too long, have more than one."""
    broken = (
        [cell] if cell_len(cell) <= c.width else [*map(str, _wrapped(cell, c.width))] for c, cell in cells
    )
    for texts in zip_longest(*broken, fillvalue=""):
        padded = []
        for (c, _), text in zip(cells, texts, strict=True):
            space = " " * (c.width - cell_len(text))
            padded.append(text + space if c.column.role in LEFT else space + text)
        yield Text((" " * gap).join(padded).rstrip(), style)
