"""What a report is made of.

Sections are made by functions `sections(contents)`, with the numbers of `studies.report_contents`. A plugin
that is a package makes some too, by a function of this name in its module `report`; it is asked once where a
menu of the report names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

#: In inches: on a wide screen, narrower figures stand three in a row, and wider ones alone.
SMALL, LARGE = 5.7, 8.5

#: A number or a text in each row; all columns of one length.
Numbers = Mapping[str, Sequence[object] | npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Picture:
    """A figure, told in a caption. name: of its files. numbers: what it shows.
    dense: with too many elements for a vector graphic."""

    name: str
    caption: str
    figure: Figure
    numbers: Numbers
    dense: bool = False

    @property
    def wide(self) -> bool:
        return bool(self.figure.get_figwidth() > LARGE)


@dataclass(frozen=True)
class ReportTable:
    """align: a letter for each column, l or r. strong: the rows that sum up others."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str
    caption: str = ""
    strong: frozenset[int] = frozenset()

    def trimmed(self) -> ReportTable:
        """Without columns that say nothing."""
        kept = [i for i in range(len(self.head)) if any(row[i] for row in self.rows)]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        head, align = tuple(self.head[i] for i in kept), "".join(self.align[i] for i in kept)
        return replace(self, head=head, rows=rows, align=align)


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it: paragraphs, tables, pictures, smaller sections, in this order.

    menu: the one it is about, if any. measured: (trigger, or None for the menu; quantity) → (value, error or
    None) of that menu, for references.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    parts: tuple[Section, ...] = ()
    menu: str = ""
    measured: Mapping[tuple[str | None, str], tuple[float, float | None]] | None = None

    def titled(self, title: str) -> Section:
        return replace(self, title=title)

    def all_pictures(self) -> Iterable[Picture]:
        yield from self.pictures
        for part in self.parts:
            yield from part.all_pictures()

    @property
    def large(self) -> bool:
        """Whether some figure is too wide to stand three in a row."""
        return any(SMALL < picture.figure.get_figwidth() <= LARGE for picture in self.pictures)

    @property
    def anchor(self) -> str:
        return slug(self.title)


def slug(text: str) -> str:
    """A name for files and anchors: jet_0_pt of `jet[0].pt`."""
    for sign, word in ((">=", " ge "), ("<=", " le "), ("==", " eq "), (">", " gt "), ("<", " lt ")):
        text = text.replace(sign, word)
    return re.sub(r"\W+", "_", text).strip("_")
