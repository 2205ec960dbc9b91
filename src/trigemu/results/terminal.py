"""Tables and lines for a terminal, as wide as it is. Names come from menus, samples and files: characters of
theirs that would act on a terminal are shown as escapes.

A table is text in columns without rules. Where it is too wide, columns give way, notes go below their rows,
and what is left is printed in blocks that begin with the names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import dropwhile, product, zip_longest
from typing import IO, Any

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from trigemu.base.errors import printable
from trigemu.rates.results import Rate
from trigemu.results.numbers import marked, signed, unsigned
from trigemu.results.table import LEFT, Column, Page, Role, RowStyle, Table

#: Columns of a pipe or a file.
WIDTH = 100
#: A note beside its row is at least this wide; a name has at least this room, or a line of its own.
_NOTE, _NAME = 24, 12
#: The indentation of a note below its row.
_INDENT = 4
#: Styles of rich for rows.
_STYLES: Mapping[RowStyle, str] = {"plain": "", "group": "cyan", "summary": "bold", "wrong": "bold red"}


def _rate(value: Any) -> str:
    return marked(value) if isinstance(value, Rate) else unsigned(*value)


_TEXTS: Mapping[Role, Callable[[Any], str]] = {
    "rate": _rate,
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
        for shown in objects:
            parts: Sequence[Table | str] = shown.split("\n") if isinstance(shown, str) else [shown]
            page = shown if isinstance(shown, Page) else Page(parts)
            text = Text("\n").join(_lines(page, self.width))
            super().print(text, no_wrap=True, overflow="ignore", crop=False)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has its own exit status."""
        raise


def _lines(page: Page, width: int) -> Iterator[Text]:
    """Yield the lines of a page: its tables and lines, then notes: first of what gave way, then its own."""
    left_out: dict[str, None] = {}
    needed = 0
    for part in page.parts:
        if isinstance(part, str):
            yield from _wrapped(part, width)
            continue
        if part.title:
            yield from _wrapped(part.title, width, "italic")
        text = _TableText(part, width)
        yield from text.lines()
        if text.left_out:
            left_out |= dict.fromkeys(text.left_out)
            needed = max(needed, text.needed)
    notes = [*dropwhile(lambda note: not note, page.notes)]
    if left_out:
        notes.insert(0, f"Not shown: {', '.join(left_out)} (with {needed} columns, or in --json).")
    if notes:
        yield Text()
    for note in notes:
        yield from _wrapped(note, width, "dim")


#: Rich needs a console to break lines, but reads only the size of a tab from it.
_CONSOLE = Console(width=80, color_system=None)


def _wrapped(text: str, width: int, style: str = "") -> Iterator[Text]:
    """Yield the lines of a text, broken at spaces."""
    for line in Text(printable(text), style).wrap(_CONSOLE, max(width, 1)):
        line.rstrip()
        yield line


class _TableText:
    """A table as lines of text that fit a width. Columns are identified by their numbers, rows too, where 0
    is the line of headings."""

    def __init__(self, table: Table, width: int) -> None:
        self._width = width
        self._styles = ["bold", *(_STYLES[row.style] for row in table.rows)]
        printed = [column for column in table.columns if column.heading is not None and not column.wide]
        cells = [
            [c.heading or "", *(text_of(c, row.values.get(c.name)) for row in table.rows)] for c in printed
        ]
        filled = [i for i, c in enumerate(printed) if c.identifies or any(cells[i][1:]) or not table.rows]
        self._columns = [printed[i] for i in filled]
        self._cells = [[*map(printable, cells[i])] for i in filled]
        self._widths = [max(map(cell_len, texts)) for texts in self._cells]
        self._notes = [i for i, column in enumerate(self._columns) if column.role == "note"]
        #: The width that each column needs.
        self._least = [*self._widths]
        for i in self._notes:
            words = (word for cell in self._cells[i] for word in cell.split())
            longest = max(map(cell_len, words), default=0)
            self._least[i] = max(min(self._widths[i], _NOTE), longest)
        numbers = [*range(len(self._columns))]
        self.needed = self._total(numbers)  #: The width at which no column has to give way
        self._below: list[int] = []
        shown = self._shown(numbers)
        self.left_out = [self._cells[i][0] for i in numbers if i not in (*shown, *self._below)]
        self._keys = [i for i in shown if self._columns[i].identifies]
        self._cut: int | None = None  #: The room for names, where longer ones get a line of their own
        self._blocks = self._split([i for i in shown if i not in self._keys])
        wide = self._total([*self._keys, *self._blocks[0]], 2) > width
        self._gap = " " * (1 if len(self._blocks) > 1 or wide else 2)

    def _total(self, numbers: Sequence[int], gap: int = 1) -> int:
        return sum(self._least[i] for i in numbers) + gap * max(len(numbers) - 1, 0)

    def _shown(self, numbers: Sequence[int]) -> list[int]:
        """Return the columns to print beside each other, or in blocks if even the fewest are too wide."""
        steps = [math.inf, *sorted({c.gives_way for c in self._columns} - {0}, reverse=True)]
        for level, with_notes in product(steps, (True, False)):
            shown = [i for i in numbers if self._columns[i].gives_way < level]
            self._below = [] if with_notes else [i for i in self._notes if i in shown]
            beside = [i for i in shown if i not in self._below]
            if self._total(beside) <= self._width:
                break
        return beside

    def _split(self, rest: list[int]) -> list[list[int]]:
        """Return the columns of each block: as few blocks as possible, about equally full."""
        room = self._total(self._keys)
        if not rest or self._total([*self._keys, *rest]) <= self._width:
            self._cut = None if room <= self._width else 0
            return [rest]
        widest = max(self._least[i] for i in rest)
        if room + 1 + widest > self._width:
            room = self._width - 1 - self._total(rest)
            room = self._cut = room if room >= _NAME else max(self._width - 1 - widest, 0)

        def filled(most: int) -> list[list[int]]:
            blocks: list[list[int]] = [[]]
            for i in rest:
                is_full = room + 1 + self._total([*blocks[-1], i]) > self._width
                if blocks[-1] and (is_full or len(blocks[-1]) == most):
                    blocks.append([])
                blocks[-1].append(i)
            return blocks

        fewest = filled(len(rest))
        even = filled(-(-len(rest) // len(fewest)))
        return even if len(even) == len(fewest) else fewest

    def lines(self) -> Iterator[Text]:
        """Yield the lines of the table."""
        for number, block in enumerate(self._blocks):
            if number:
                yield Text()
            yield from self._block(block, number == 0)

    def _block(self, block: list[int], is_first: bool) -> Iterator[Text]:
        """Yield the headings and the rows of a block: after the first, only of names with an entry in it."""
        widths = [*self._widths]
        for i in set(block).intersection(self._notes):
            beside = sum(widths[j] + len(self._gap) for j in (*self._keys, *block)) - len(self._gap)
            widths[i] = max(self._least[i], min(widths[i], widths[i] + self._width - beside))
        if any(self._cells[i][0] for i in (*self._keys, *block)):
            yield from self._row(0, block, widths, False)
        started = False  # whether a row was printed since the last empty line
        gap = False
        for rows in self._names():
            if not any(texts[rows[0]] for texts in self._cells):
                gap = started
            elif is_first or any(self._cells[i][row] for row in rows for i in block):
                if gap:
                    yield Text()
                for row in rows:
                    yield from self._row(row, block, widths, is_first)
                started, gap = True, False

    def _names(self) -> list[list[int]]:
        """Return the rows of each name, which only the first of them has."""
        names: list[list[int]] = []
        first = self._cells[self._keys[0] if self._keys else 0]
        for row in range(1, len(self._styles)):
            if names and not first[row] and any(texts[row] for texts in self._cells):
                names[-1].append(row)
            else:
                names.append([row])
        return names

    def _row(self, row: int, block: list[int], widths: list[int], with_notes: bool) -> Iterator[Text]:
        style = self._styles[row]
        name = self._gap.join(self._padded(i, self._cells[i][row], widths[i]) for i in self._keys)
        if self._cut is not None:
            name = name.rstrip()
            if cell_len(name) > self._cut:
                yield from (Text(part, style) for part in chop_cells(name, self._width))
                name = ""
            name += " " * (self._cut - cell_len(name))
        cells = [self._broken(i, self._cells[i][row], widths[i]) for i in block]
        for lines in zip_longest([name] * bool(self._keys), *cells, fillvalue=""):
            first, *texts = lines
            parts = [self._padded(i, text, widths[i]) for i, text in zip(block, texts, strict=True)]
            begin = [first or " " * cell_len(name)] if self._keys else []
            if text := self._gap.join([*begin, *parts]).rstrip():
                yield Text(text, style)
        for i in self._below if with_notes and row else ():
            for note in self._broken(i, self._cells[i][row], self._width - _INDENT):
                if note:
                    yield Text(" " * _INDENT + note, style)

    def _padded(self, i: int, cell: str, width: int) -> str:
        space = " " * (width - cell_len(cell))
        return cell + space if self._columns[i].role in LEFT else space + cell

    def _broken(self, i: int, cell: str, width: int) -> list[str]:
        """Return the lines of a cell: only notes have more than one."""
        return [line.plain for line in _wrapped(cell, width)] if i in self._notes else [cell]
