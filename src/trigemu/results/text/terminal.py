"""Tables and lines for a terminal, as wide as it is. Names come from menus, samples and files: characters of
theirs that would act on a terminal, or that its encoding lacks, are shown as escapes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, zip_longest
from typing import IO, Literal

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

from trigemu.results.signs import escaped, spelled
from trigemu.results.text.fitting import INDENT, Column, Layout, fit
from trigemu.support import printable

#: Columns of a pipe or a file.
WIDTH = 100
#: What is in a column: names, which come from files; own words; numbers; prose, which is broken at spaces.
Kind = Literal["name", "label", "number", "text"]


@dataclass(frozen=True)
class Head:
    """A heading and how its column is shown, as `Table.add_column` says."""

    text: str
    kind: Kind
    key: bool
    gives_way: int
    joined: bool


class Table:
    """A table without lines, with bold headings, that fits the width it is printed at.

    Where it is too wide, columns give way, and a note says so; `trigemu.results.text.fitting` has the order.
    Its columns are in `heads`, its rows in `rows`.

    Parameters
    ----------
    title : str
        A line above it.
    """

    def __init__(self, title: str = "") -> None:
        self.title = printable(title)
        self.heads: list[Head] = []
        self.rows: list[tuple[tuple[str, ...], str]] = []

    def add_column(
        self,
        header: str,
        kind: Kind = "number",
        *,
        key: bool | None = None,
        gives_way: int = 0,
        joined: bool = False,
    ) -> None:
        """Add a column.

        Parameters
        ----------
        header : str
            Its heading.
        kind : {"number", "name", "label", "text"}
            Numbers are aligned to the right; names come from files; labels are words; texts may be wrapped.
        key : bool, optional
            Whether it identifies the row; by default names and labels do.
        gives_way : int
            Where the table is too wide, columns with the highest number are left out first, those with 0
            never.
        joined : bool
            Whether it stays beside the column before it.
        """
        is_key = kind in ("name", "label") if key is None else key
        self.heads.append(Head(printable(header), kind, is_key, gives_way, joined))

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row of `cells`, in a `style` of rich; cells that are left out at its end are empty."""
        filled = (*map(printable, cells), *("" for _ in self.heads[len(cells) :]))
        self.rows.append((filled, style))

    def fits(self, options: ConsoleOptions) -> bool:
        """Return whether nothing gives way at the width in `options`."""
        return fit(self._columns(options.encoding), options.max_width).whole

    def left_out(self, options: ConsoleOptions) -> tuple[list[str], int]:
        """Return the columns that give way at the width in `options`, and the width at which none would have
        to."""
        layout = fit(self._columns(options.encoding), options.max_width)
        return [self.heads[i].text for i in layout.left_out], layout.needed

    def names(self) -> set[str]:
        """Return the names in it."""
        of = [i for i, head in enumerate(self.heads) if head.kind == "name"]
        return {cells[i] for cells, _ in self.rows for i in of}

    def lines(self, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines of the table, for the width and the encoding in `options`."""
        if self.title:
            title = spelled(self.title, options.encoding, self.names())
            yield from _wrapped(Text(title, "italic"), options.max_width)
        columns = self._columns(options.encoding)
        layout = fit(columns, options.max_width)
        for number, block in enumerate(layout.blocks):
            if number:
                yield Text()
            visible = self._visible(columns, layout, number)
            yield from _block(columns, block, layout, visible, options.max_width)

    def _columns(self, encoding: str) -> list[Column]:
        columns = []
        for i, head in enumerate(self.heads):
            spell = escaped if head.kind == "name" else spelled
            texts = [spell(text, encoding) for text in (head.text, *(cells[i] for cells, _ in self.rows))]
            right, text = head.kind == "number", head.kind == "text"
            made = Column(texts[0], texts[1:], head.key, right, text, head.gives_way, head.joined)
            columns.append(made)
        return columns

    def _visible(
        self, columns: Sequence[Column], layout: Layout, number: int
    ) -> list[tuple[int, str] | None]:
        """Return number and style of the rows of a block, None for an empty line: those with an entry in it;
        in the first also those without any entry. Rows of one name stay together."""
        shown = {i for block in layout.blocks for i in block if not columns[i].key}
        here = shown.intersection(layout.blocks[number])
        found: list[tuple[int, str] | None] = []
        for rows in self._groups():
            entries = {i for row in rows for i in shown if columns[i].cells[row]}
            if not any(self.rows[rows[0]][0]):
                found += [None] if found and found[-1] else []
            elif entries & here or not (entries or number):
                found += [(row, self.rows[row][1]) for row in rows]
        return found if not found or found[-1] else found[:-1]

    def _groups(self) -> list[list[int]]:
        """Return the rows that share a name, which only the first of them has."""
        name = next((i for i, head in enumerate(self.heads) if head.key), 0)
        groups: list[list[int]] = []
        for row, (cells, _) in enumerate(self.rows):
            if groups and any(cells) and not cells[name]:
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Page([self])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        layout = fit(self._columns(options.encoding), options.max_width)
        return Measurement(1, min(layout.needed, options.max_width))


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
    for line in text.wrap(_CONSOLE, width):
        line.rstrip()
        yield line


#: Rich asks for one to break lines, but only reads the size of a tab from it.
_CONSOLE = Console(width=80, color_system=None)


def width_of(stream: IO[str] | None) -> int | None:
    """Return the columns for a stream: those that the variable COLUMNS says, None for those of a terminal,
    100 for a pipe or a file."""
    columns = os.environ.get("COLUMNS", "")
    wanted = int(columns) if columns.isdecimal() and len(columns) < 6 else 0
    return wanted or (None if stream is not None and stream.isatty() else WIDTH)


class Line:
    """A line of text, broken at spaces where it is too long. names: those in it, which come from files."""

    def __init__(self, text: str, style: str, names: Iterable[str]) -> None:
        self.text, self.style, self._names = printable(text), style, names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = spelled(self.text, options.encoding, self._names)
        yield from _wrapped(Text(shown, self.style), options.max_width)


def plain(text: str, style: str = "", names: Iterable[str] = ()) -> RenderableType:
    """Return a line of text, which is broken at spaces where it is too long.

    Parameters
    ----------
    text : str
        The line.
    style : str
        A style of rich, such as "bold".
    names : iterable of str
        The names in it that come from files.

    Returns
    -------
    renderable of rich
        The line.
    """
    return Line(text, style, names)


class Page:
    """Tables and lines, with notes below them: first of what gave way, then the given ones.

    Parameters
    ----------
    parts : iterable of Table, str, or other renderables of rich
        Tables and lines.
    notes : iterable of str
        Lines.
    """

    def __init__(self, parts: Iterable[RenderableType], notes: Iterable[str] = ()) -> None:
        self.parts, self.notes = [*parts], [*notes]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        left_out, needed, names = dict[str, None](), 0, set[str]()
        for part in self.parts:
            shown = part.of(options) if isinstance(part, Widest) else part
            if isinstance(shown, Table):
                names |= shown.names()
                gone, width = shown.left_out(options)
                left_out |= dict.fromkeys(gone)
                needed = max(needed, width if gone else 0)
                yield from shown.lines(options)
            else:
                yield plain(shown) if isinstance(shown, str) else shown
        notes = [*dropwhile(lambda note: not note, self.notes)]
        if left_out:
            notes.insert(0, f"Not shown: {', '.join(left_out)} (with {needed} columns, or in --json).")
        if notes:
            yield Text()
        yield from (plain(note, "dim", names) for note in notes)


class Widest:
    """The first of some tables that fits, or the last."""

    def __init__(self, *tables: Table) -> None:
        self.tables = tables

    def of(self, options: ConsoleOptions) -> Table:
        """Return that table."""
        fitting = (table for table in self.tables if table.fits(options))
        return next(fitting, self.tables[-1])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.of(options)
