"""Tables and lines for a terminal, as wide as it is. Names come from menus, samples and files: characters of
theirs that would act on a terminal are shown as escapes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, zip_longest
from typing import IO

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from trigemu.results import table
from trigemu.results.table import Page, Row, RowStyle, Table
from trigemu.results.writers.cells import text_of
from trigemu.results.writers.fitting import INDENT, Column, Layout, fit
from trigemu.support import printable

#: Columns of a pipe or a file.
WIDTH = 100
#: Styles of rich for rows.
_STYLES: Mapping[RowStyle, str] = {"plain": "", "group": "cyan", "summary": "bold", "wrong": "bold red"}
#: Roles whose cells are aligned on the left.
_LEFT = ("key", "label", "note", "digest")


class _Printed:
    """A table as text without lines, with bold headings, that fits a width.

    Where it is too wide, columns give way, and a note says so; `fitting.py` has the order.
    """

    def __init__(self, typed: Table, options: ConsoleOptions) -> None:
        self._width = options.max_width
        shown = [c for c in typed.columns if c.heading is not None and not c.wide]
        self._rows = [(_cells(shown, row), _STYLES[row.style]) for row in typed.rows]
        self._title = printable(typed.title)
        self._heads = [printable(column.heading or "") for column in shown]
        self._columns = [self._column(i, column) for i, column in enumerate(shown)]
        self._layout = fit(self._columns, self._width)
        #: The headings of columns that give way, and the width at which none would have to.
        self.left_out = [self._heads[i] for i in self._layout.left_out]
        self.needed = self._layout.needed if self.left_out else 0

    def _column(self, i: int, column: table.Column) -> Column:
        head, cells = self._heads[i], [cells[i] for cells, _ in self._rows]
        leads = column.role in ("key", "label") if column.leads is None else column.leads
        right, prose = column.role not in _LEFT, column.role == "note"
        return Column(head, cells, leads, right, prose, column.gives_way, column.joined)

    def lines(self) -> Iterator[Text]:
        """Yield the lines of the table."""
        if self._title:
            yield from _wrapped(Text(self._title, "italic"), self._width)
        for number, block in enumerate(self._layout.blocks):
            if number:
                yield Text()
            yield from _block(self._columns, block, self._layout, self._visible(number), self._width)

    def _visible(self, number: int) -> list[tuple[int, str] | None]:
        """Return number and style of the rows of a block, None for an empty line: those with an entry in it;
        in the first also those without any entry. Rows of one name stay together."""
        columns, blocks = self._columns, self._layout.blocks
        shown = {i for block in blocks for i in block if not columns[i].key}
        here = shown.intersection(blocks[number])
        visible: list[tuple[int, str] | None] = []
        for rows in self._groups():
            entries = {i for row in rows for i in shown if columns[i].cells[row]}
            if not any(self._rows[rows[0]][0]):
                visible += [None] if visible and visible[-1] else []
            elif entries & here or not (entries or number):
                visible += [(row, self._rows[row][1]) for row in rows]
        return visible if not visible or visible[-1] else visible[:-1]

    def _groups(self) -> list[list[int]]:
        """Return the rows that share a name, which only the first of them has."""
        name = next((i for i, column in enumerate(self._columns) if column.key), 0)
        groups: list[list[int]] = []
        for row, (cells, _) in enumerate(self._rows):
            if groups and any(cells) and not cells[name]:
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups


def _cells(columns: Sequence[table.Column], row: Row) -> tuple[str, ...]:
    return tuple(printable(text_of(column, row.values.get(column.name))) for column in columns)


def _block(
    columns: Sequence[Column],
    block: Sequence[int],
    layout: Layout,
    rows: Sequence[tuple[int, str] | None],
    width: int,
) -> Iterator[Text]:
    """Yield the header and rows of a block of columns."""
    below = [i for i in block if columns[i].text] if layout.below else []
    keys = [i for i in block if columns[i].key]
    rest = [i for i in block if i not in (*keys, *below)]
    shown = [row for row, _ in filter(None, rows)]
    widths = {i: max(map(cell_len, _texts(columns[i], shown))) for i in (*keys, *rest)}
    _narrow_texts(columns, widths, width - layout.gap * (len(widths) - 1))
    between = " " * layout.gap

    def lines(row: int | None, style: str) -> Iterator[Text]:
        cells = {i: columns[i].header if row is None else columns[i].cells[row] for i in block}
        name = between.join(_padded(cells[i], widths[i], columns[i]) for i in keys)
        if layout.keys is not None:
            name = name.rstrip()
            if cell_len(name) > layout.keys:
                yield from (Text(part, style) for part in chop_cells(name, width))
                name = ""
            name += " " * (layout.keys - cell_len(name))
        parts = [_broken(cells[i], widths[i]) if columns[i].text else [cells[i]] for i in rest]
        for number, line in enumerate(zip_longest(*parts, fillvalue="")):
            padded = [_padded(cell, widths[i], columns[i]) for i, cell in zip(rest, line, strict=True)]
            if shown_line := between.join([" " * cell_len(name) if number else name, *padded]).rstrip():
                yield Text(shown_line, style)
        if not rest and name.strip():
            yield Text(name.rstrip(), style)
        for i in below if row is not None else ():
            for part in _broken(cells[i], width - INDENT):
                yield Text(" " * INDENT + part, style)

    if any(columns[i].header for i in (*keys, *rest)):
        yield from lines(None, "bold")
    for row in rows:
        if row is None:
            yield Text()
        else:
            yield from lines(*row)


def _texts(column: Column, rows: Iterable[int]) -> list[str]:
    return [column.header, *(column.cells[row] for row in rows)]


def _narrow_texts(columns: Sequence[Column], widths: dict[int, int], room: int) -> None:
    """Take the width that is missing from the columns of texts, but not more than they can do without."""
    for i in widths:
        if columns[i].text and sum(widths.values()) > room:
            widths[i] = max(columns[i].least, room - sum(widths.values()) + widths[i])


def _padded(cell: str, width: int, column: Column) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if column.right else cell + space


def _broken(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken at spaces."""
    return [line.plain for line in _wrapped(Text(text), max(width, 1))] if text else []


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text, broken at spaces; a path longer than a line is broken behind slashes."""
    folded = Text(_WORD.sub(lambda word: _folded(word[0], width), text.plain), text.style)
    for line in folded.wrap(_CONSOLE, width):
        line.rstrip()
        yield line


def _folded(word: str, width: int) -> str:
    """Return a word with an end of the line behind slashes where it is longer than a line."""
    lines = [""]
    for part in _PART.findall(word) if cell_len(word) > width else (word,):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


_WORD = re.compile(r"\S+")
#: A part of a path, with the slash behind it.
_PART = re.compile(r"[^/]*/|[^/]+")


#: Rich needs a console to break lines, but reads only the size of a tab from it.
_CONSOLE = Console(width=80, color_system=None)


def width_of(stream: IO[str] | None) -> int | None:
    """Return the columns for a stream: those that the variable COLUMNS says, None for those of a terminal,
    100 for a pipe or a file."""
    columns = os.environ.get("COLUMNS", "")
    chosen = int(columns) if columns.isdecimal() and len(columns) < 6 else 0
    return chosen or (None if stream is not None and stream.isatty() else WIDTH)


class _PrintedLine:
    """A line of text, broken at spaces where it is too long."""

    def __init__(self, text: str, style: str = "") -> None:
        self.text, self._style = printable(text), style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _wrapped(Text(self.text, self._style), options.max_width)


class _PrintedPage:
    """A page: its tables and lines, then notes: first of what gave way, then its own."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        left_out, needed = dict[str, None](), 0
        for part in self._page.parts:
            if isinstance(part, str):
                yield printed(part)
                continue
            shown = _Printed(part, options)
            left_out |= dict.fromkeys(shown.left_out)
            needed = max(needed, shown.needed)
            yield from shown.lines()
        notes = [*dropwhile(lambda note: not note, self._page.notes)]
        if left_out:
            notes.insert(0, f"Not shown: {', '.join(left_out)} (with {needed} columns, or in --json).")
        if notes:
            yield Text()
        yield from (_PrintedLine(note, "dim") for note in notes)


def printed(shown: Page | Table | str) -> _PrintedPage | _PrintedLine:
    """Return a page, a table or a line for the `print` of a console of rich.

    Parameters
    ----------
    shown : Page, Table or str
        What is printed.

    Returns
    -------
    renderable of rich
        As wide as the console; what is too long is broken at spaces.
    """
    if isinstance(shown, Page | Table):
        return _PrintedPage(shown if isinstance(shown, Page) else Page([shown]))
    return _PrintedLine(shown)
