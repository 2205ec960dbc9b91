"""One typed table: what a result shows. `terminal`, `html`, `documents` and `exports` say how it is written.

A column has a name, a role and what it means; a row has a value for each column, by its name. Terminal, HTML,
JSON, CSV, data frames and the reference of columns are written from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_type_hints

#: What a column holds: names from files that identify a row; own words; rates; differences of rates; other
#: numbers; fractions; numbers of events; true or false; prose; digests of files.
Role = Literal["key", "label", "rate", "difference", "number", "share", "count", "flag", "note", "digest"]
#: Roles whose cells are aligned on the left.
LEFT = ("key", "label", "note", "digest")
#: What a row is: one of many, a group of these, their summary (a menu, a level), or one with a mistake.
RowStyle = Literal["plain", "group", "summary", "wrong"]
#: The numbers of a rate in files, and what they mean.
RATE_PARTS = {
    "hz": "The rate in Hz.",
    "error_hz": "Its statistical uncertainty in Hz.",
    "events": "The number of events that contribute.",
    "effective_events": "The effective number of these: the rate squared over its variance.",
    "upper_limit_hz": "The upper limit at 68 % in Hz if no event contributes; else null.",
    "unseen": (
        "Samples without an event in this rate, by chance, although a single one would change it by more "
        "than its error and by more than 10 %: the mark `*`."
    ),
}


@dataclass(frozen=True)
class Column:
    """A column of a `Table`."""

    name: str  #: Its key in rows, JSON, CSV and data frames
    role: Role = "number"  #: What it holds; in files, a rate has a column for each of `parts`
    heading: str | None = None  #: Its heading where it is printed; None: it is in files only
    meaning: str = ""  #: A sentence for the reference of columns
    text: Callable[[Any], str] | None = None  #: Formats a value; by default the role does. Texts stay
    parts: tuple[str, ...] = tuple(RATE_PARTS)  #: The numbers of a rate that files have
    in_files: bool = True  #: Whether it is in JSON, CSV and data frames
    wide: bool = False  #: Whether it is printed on pages (HTML) only, which have more room than a terminal
    leads: bool = False  #: Whether it identifies a row, as keys and labels do
    gives_way: int = 0  #: Narrow terminals leave out columns with the highest number first, with 0 never
    errors: tuple[str, ...] = ()  #: The columns of its uncertainty: one, or the ends of its interval
    upper: str = ""  #: The column of the upper edge of a bin, if this one has the lower edge

    @property
    def identifies(self) -> bool:
        """Whether its values identify a row."""
        return self.leads or self.role in ("key", "label")

    def headed(self, heading: str | None) -> Column:
        """Return the column with another `heading`."""
        return replace(self, heading=heading)


def columns_of(row: type) -> tuple[Column, ...]:
    """Return the columns that annotate the fields of a class, by default with the names of these."""
    hints = get_type_hints(row, include_extras=True).items()
    annotated = ((name, part) for name, hint in hints for part in getattr(hint, "__metadata__", ()))
    return tuple(replace(part, name=part.name or name) for name, part in annotated)


class Row(NamedTuple):
    """A row of a `Table`: values by the names of columns, where missing ones are empty, and a `Style`."""

    values: Mapping[str, Any]
    style: RowStyle = "plain"


@dataclass(frozen=True)
class Table:
    """A typed table: columns, and rows with values by the names of columns."""

    columns: Sequence[Column]  #: The columns
    rows: list[Row] = field(default_factory=list)  #: One without values separates others in a terminal
    title: str = ""  #: A line above it

    @classmethod
    def of(cls, columns: Sequence[Column], records: Iterable[Mapping[str, Any]], title: str = "") -> Table:
        """Return a table of `columns` below a `title` with a plain row for each of the `records`, which have
        values by the names of columns."""
        return cls(columns, [*map(Row, records)], title)

    def add(self, *values: Any, style: RowStyle = "plain") -> None:
        """Add a row of `values` in the order of the columns, in a `style`; the remaining ones are empty."""
        names = (column.name for column in self.columns)
        self.rows.append(Row(dict(zip(names, values, strict=False)), style))

    def add_record(self, values: Mapping[str, Any], style: RowStyle = "plain") -> None:
        """Add a row of `values` by the names of columns, in a `style`."""
        self.rows.append(Row(values, style))

    def add_gap(self) -> None:
        """Add an empty line, which only a terminal shows."""
        self.rows.append(Row({}))


@dataclass(frozen=True)
class Page:
    """The page that a result shows: tables and lines, followed by notes."""

    parts: Sequence[Table | str]  #: Tables and lines; an empty text is an empty line
    notes: Sequence[str] = ()  #: Lines below, which explain the tables


def stacked(tables: Iterable[Table]) -> list[Table | str]:
    """Return tables as the parts of a page."""
    parts: list[Table | str] = []
    for table in tables:
        parts += ["", table] if parts else [table]
    return parts
