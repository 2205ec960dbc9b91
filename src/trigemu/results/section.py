"""The parts of a report: sections, tables and pictures.

A function that is given the `Contents` of a report returns its sections. The functions of a plugin are called
once if a menu of the report names the plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from trigemu.menus import Menu
from trigemu.rates import MenuRates
from trigemu.samples import Catalogue
from trigemu.studies import Comparison, Efficiencies, ExclusiveRates, Observable, ProfileSet, Scan
from trigemu.support import file_stem

#: Widths in inches: on a wide screen, figures narrower than SMALL are three in a row, wider than LARGE alone.
SMALL, LARGE = 5.7, 8.5

#: Columns by name, with a number or a text in each row; all of one length.
Numbers = Mapping[str, Sequence[object] | npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Profiles:
    """The efficiencies that a report shows. given: the set of profiles that they were measured for, if a file
    was given."""

    observables: tuple[Observable, ...]
    efficiencies: Efficiencies
    given: ProfileSet | None


@dataclass(frozen=True)
class Contents:
    """All numbers of a report; `variants` and `combinations` have one entry per menu.

    comparison: None for a single menu. scans: pairs of a menu and a scan of one of its triggers. command: the
    command line, for the provenance.
    """

    variants: tuple[MenuRates, ...]
    comparison: Comparison | None
    combinations: tuple[ExclusiveRates, ...]
    scans: tuple[tuple[Menu, Scan], ...]
    profiles: tuple[ProfileSet, ...]
    turnons: tuple[Profiles, ...]
    command: str = ""

    @property
    def catalogue(self) -> Catalogue:
        return self.variants[0].catalogue


@dataclass(frozen=True)
class Picture:
    """A figure with a caption.

    name: stem of its files. numbers: the values that it shows. dense: whether it has too many elements for a
    vector graphic.
    """

    name: str
    caption: str
    figure: Figure
    numbers: Numbers
    dense: bool = False

    @property
    def wide(self) -> bool:
        """Whether the figure takes a row of its own."""
        return bool(self.figure.get_figwidth() > LARGE)


@dataclass(frozen=True)
class ReportTable:
    """A table of text. align: a letter for each column, l or r. strong: rows that sum up others, in bold."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str
    caption: str = ""
    strong: frozenset[int] = frozenset()

    def trimmed(self) -> ReportTable:
        """Return the table without empty columns."""
        kept = [i for i in range(len(self.head)) if any(row[i] for row in self.rows)]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        head, align = tuple(self.head[i] for i in kept), "".join(self.align[i] for i in kept)
        return replace(self, head=head, rows=rows, align=align)


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, tables, pictures and smaller sections below it, in this order.

    menu: name of the menu that the section is about, if any. measured: (trigger, or None for the menu;
    quantity) → (value, error or None) of that menu, to compare with published numbers.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    parts: tuple[Section, ...] = ()
    menu: str = ""
    measured: Mapping[tuple[str | None, str], tuple[float, float | None]] | None = None

    def titled(self, title: str) -> Section:
        """Return the section with another title."""
        return replace(self, title=title)

    def all_pictures(self) -> Iterable[Picture]:
        """Yield the pictures of the section and of its parts."""
        yield from self.pictures
        for part in self.parts:
            yield from part.all_pictures()

    @property
    def large(self) -> bool:
        """Whether some figure is too wide for three in a row, but does not take a row of its own."""
        return any(SMALL < picture.figure.get_figwidth() <= LARGE for picture in self.pictures)

    @property
    def anchor(self) -> str:
        """The name of the section in links."""
        return slug(self.title)


def slug(text: str) -> str:
    """Return a name for files and links: jet_0_pt for `jet[0].pt`."""
    return file_stem(text)
