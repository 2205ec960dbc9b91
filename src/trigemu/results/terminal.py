"""Tables and lines for a terminal, as wide as it is. Names come from menus, samples and files: characters of
theirs that would act on a terminal are shown as escapes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, zip_longest
from typing import IO, Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from trigemu.base.errors import printable
from trigemu.rates.results import Rate
from trigemu.results import table
from trigemu.results.numbers import marked, signed, unsigned
from trigemu.results.table import Column, Page, Role, Row, RowStyle, Table


def text_of(column: Column, value: Any) -> str:
    """Format a value of a table."""
    if value is None or isinstance(value, str):
        return value or ""
    return (column.text or _TEXTS[column.role])(value)


def _rate(value: Any) -> str:
    return marked(value) if isinstance(value, Rate) else unsigned(*value)


_TEXTS: Mapping[Role, Callable[[Any], str]] = {
    "key": str,
    "label": str,
    "rate": _rate,
    "difference": lambda value: signed(*value),
    "number": lambda value: f"{value:.6g}",
    "share": lambda value: f"{100 * value:.3g} %",
    "count": str,
    "flag": lambda value: "yes" if value else "",
    "note": str,
    "digest": str,
}


#: Spaces between columns, as long as there is room, and at least.
GAPS = (2, 1)
#: A text that is broken into lines is at least this wide, or is printed below its row.
_NARROWEST_TEXT = 24
#: Longer names get lines of their own rather than being the reason for another block.
_NARROWEST_NAMES = 12
#: Up to this share of the rows.
_MANY = 0.25
#: The indentation of what stands below a name.
INDENT = 4


@dataclass(frozen=True)
class FittedColumn:
    """A column as it is printed.

    key: it is repeated in each block. right: its cells are aligned on the right. text: its cells may be
    broken at spaces. gives_way: columns with the highest number are left out first, those with 0 never.
    joined: it stays beside the column before it.
    """

    header: str
    cells: Sequence[str]
    key: bool = False
    right: bool = True
    text: bool = False
    gives_way: int = 0
    joined: bool = False

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.header, *self.cells)))

    @property
    def least(self) -> int:
        """The width that it needs."""
        if not self.text:
            return self.width
        words = (word for cell in (self.header, *self.cells) for word in cell.split())
        return max(min(self.width, _NARROWEST_TEXT), max(map(cell_len, words), default=0))

    @property
    def filled(self) -> bool:
        return any(self.cells)


@dataclass(frozen=True)
class Layout:
    """How a table is printed. Columns are identified by their numbers.

    blocks: the columns of each block. gap: spaces between columns. keys: the room for names, where longer
    ones get a line of their own. below: whether texts are printed below their rows. left_out: columns that
    gave way. needed: the width at which none would have to.
    """

    blocks: tuple[tuple[int, ...], ...]
    gap: int
    keys: int | None = None
    below: bool = False
    left_out: tuple[int, ...] = ()
    needed: int = 0


def fit(columns: Sequence[FittedColumn], width: int) -> Layout:
    """Return how a table is printed at a width."""
    filled = tuple(i for i, column in enumerate(columns) if column.key or column.filled or not column.cells)
    needed = _total([columns[i] for i in filled], GAPS[-1])
    steps = [filled]
    for level in sorted({columns[i].gives_way for i in filled} - {0}, reverse=True):
        steps.append(tuple(i for i in steps[-1] if columns[i].gives_way != level))
    for shown in steps:
        left_out = tuple(i for i in filled if i not in shown)
        for below in (False, True)[: 1 + any(columns[i].text for i in shown)]:
            beside = [columns[i] for i in shown if not (below and columns[i].text)]
            for gap in GAPS:
                if _total(beside, gap) <= width:
                    return Layout((shown,), gap, None, below, left_out, needed)
    return _narrow(columns, steps[-1], width, left_out, needed)


def _narrow(
    columns: Sequence[FittedColumn],
    shown: tuple[int, ...],
    width: int,
    left_out: tuple[int, ...],
    needed: int,
) -> Layout:
    """Return a layout with names on lines of their own, or of several blocks."""
    gap = GAPS[-1]
    keys = tuple(i for i in shown if columns[i].key)
    texts = tuple(i for i in shown if columns[i].text and not columns[i].key)
    groups = _groups(columns, [i for i in shown if i not in (*keys, *texts)])
    rest = [columns[i] for group in groups for i in group]
    room = width - _total(rest, gap) - gap
    names = _total([columns[i] for i in keys], gap)
    widths = [_total([columns[i] for i in group], gap) for group in groups]
    beside = bool(groups) and names + gap + max(widths) <= width
    long = [_long(columns, keys, row, gap) > room for row in range(len(columns[0].cells))]
    if not groups or (room >= _NARROWEST_NAMES and not (beside and sum(long) > _MANY * len(long))):
        return Layout((shown,), gap, max(room, INDENT), bool(texts), left_out, needed)
    narrow = None if beside else max(width - max(widths) - gap, 0)
    room = width - (names if narrow is None else narrow) - gap
    packed = _packed(widths, room, gap)
    blocks = [(*keys, *(i for n in numbers for i in groups[n])) for numbers in packed]
    blocks[0] = (*blocks[0], *texts)
    return Layout(tuple(blocks), gap, narrow, bool(texts), left_out, needed)


def _long(columns: Sequence[FittedColumn], keys: Sequence[int], row: int, gap: int) -> int:
    """Return the width of the names of a row, when those before the last are aligned."""
    return sum(columns[i].width + gap for i in keys[:-1]) + cell_len(columns[keys[-1]].cells[row])


def _groups(columns: Sequence[FittedColumn], shown: Iterable[int]) -> list[list[int]]:
    """Return the columns that stay beside each other."""
    groups: list[list[int]] = []
    for i in shown:
        if groups and columns[i].joined:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def _packed(widths: Sequence[int], room: int, gap: int) -> list[list[int]]:
    """Return the numbers of the groups of each block: as few blocks as possible, about equally full."""
    fewest = len(_filled(widths, room, gap, len(widths)))
    each = -(-len(widths) // fewest)
    even = _filled(widths, room, gap, each)
    return even if len(even) == fewest else _filled(widths, room, gap, len(widths))


def _filled(widths: Sequence[int], room: int, gap: int, most: int) -> list[list[int]]:
    blocks: list[list[int]] = []
    free = 0
    for number, width in enumerate(widths):
        if blocks and len(blocks[-1]) < most and width + gap <= free:
            blocks[-1].append(number)
            free -= width + gap
        else:
            blocks.append([number])
            free = room - width
    return blocks


def _total(columns: Sequence[FittedColumn], gap: int) -> int:
    return sum(column.least for column in columns) + gap * max(len(columns) - 1, 0)


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

    def _column(self, i: int, column: table.Column) -> FittedColumn:
        head, cells = self._heads[i], [cells[i] for cells, _ in self._rows]
        leads = column.role in ("key", "label") if column.leads is None else column.leads
        right, prose = column.role not in _LEFT, column.role == "note"
        return FittedColumn(head, cells, leads, right, prose, column.gives_way, column.joined)

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
    columns: Sequence[FittedColumn],
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


def _texts(column: FittedColumn, rows: Iterable[int]) -> list[str]:
    return [column.header, *(column.cells[row] for row in rows)]


def _narrow_texts(columns: Sequence[FittedColumn], widths: dict[int, int], room: int) -> None:
    """Take the width that is missing from the columns of texts, but not more than they can do without."""
    for i in widths:
        if columns[i].text and sum(widths.values()) > room:
            widths[i] = max(columns[i].least, room - sum(widths.values()) + widths[i])


def _padded(cell: str, width: int, column: FittedColumn) -> str:
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
    """Return a page, a table or a line for the `print` of a console of rich."""
    if isinstance(shown, Page | Table):
        return _PrintedPage(shown if isinstance(shown, Page) else Page([shown]))
    return _PrintedLine(shown)


class FittingConsole(Console):
    """A console that prints pages and lines within its width, and control characters of texts as escapes."""

    def print(self, *objects: Any, **options: Any) -> None:
        parts = chain.from_iterable(o.split("\n") if isinstance(o, str) else [o] for o in objects)
        ours = (str, Page, Table)
        super().print(*(printed(o) if isinstance(o, ours) else o for o in parts), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has its own exit status."""
        raise
