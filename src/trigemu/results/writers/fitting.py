"""Which columns of a table are shown at a width, and how.

Names and numbers are never cut, and columns without any entry are not printed. A table that is too wide
loses, one after the other: the second space between columns, the place of texts beside the numbers, and
columns that may give way. What
is still too wide is printed in several blocks, which all begin with the names; a name that leaves no room for
the numbers gets a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

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
class Column:
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


def fit(columns: Sequence[Column], width: int) -> Layout:
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
    columns: Sequence[Column], shown: tuple[int, ...], width: int, left_out: tuple[int, ...], needed: int
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


def _long(columns: Sequence[Column], keys: Sequence[int], row: int, gap: int) -> int:
    """Return the width of the names of a row, when those before the last are aligned."""
    return sum(columns[i].width + gap for i in keys[:-1]) + cell_len(columns[keys[-1]].cells[row])


def _groups(columns: Sequence[Column], shown: Iterable[int]) -> list[list[int]]:
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


def _total(columns: Sequence[Column], gap: int) -> int:
    return sum(column.least for column in columns) + gap * max(len(columns) - 1, 0)
