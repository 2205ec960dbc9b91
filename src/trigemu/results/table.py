"""One typed table: what a result shows, and how its numbers are written to files.

A column says what it holds, how it is headed and formatted, and what it means; a row has a value for each
column, by its name. Terminal, HTML, JSON, CSV, data frames and the reference are written from that.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_type_hints

import numpy as np

from trigemu.base.errors import printable

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
#: First characters of a text that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@")


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
    of: Callable[[Any], Any] | None = None  #: Its value of an object; by default the attribute of its name

    @property
    def identifies(self) -> bool:
        """Whether its values identify a row."""
        return self.leads or self.role in ("key", "label")

    def headed(self, heading: str | None) -> Column:
        """Return the column with another `heading`."""
        return replace(self, heading=heading)

    def numbers(self, value: Any) -> dict[str, Any]:
        """Return a value by the names of its columns in files; without a rate, its numbers are None."""
        if self.role == "difference":
            hz, error_hz = (None, None) if value is None else value
            return {f"{self.name}_hz": hz, f"{self.name}_error_hz": error_hz}
        if self.role != "rate":
            return {self.name: value}
        numbers = {f"{self.name}_{part}": getattr(value, part, None) for part in self.parts}
        unseen = f"{self.name}_unseen"
        return numbers | ({unseen: list(numbers[unseen] or ())} if unseen in numbers else {})


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
    def of(cls, columns: Sequence[Column], records: Iterable[object], title: str = "") -> Table:
        """Return a table of `columns` below a `title` with a plain row for each of the `records`: mappings
        with values by the names of columns, or objects that columns take their values `of`."""
        table = cls(columns, title=title)
        for record in records:
            table.add_record(record)
        return table

    def add(self, *values: Any, style: RowStyle = "plain") -> None:
        """Add a row of `values` in the order of the columns, in a `style`; the remaining ones are empty."""
        names = (column.name for column in self.columns)
        self.rows.append(Row(dict(zip(names, values, strict=False)), style))

    def add_record(self, record: object, style: RowStyle = "plain") -> None:
        """Add a row of a record, as in `of`, in a `style`."""
        if not isinstance(record, Mapping):
            record = {c.name: c.of(record) if c.of else getattr(record, c.name) for c in self.columns}
        self.rows.append(Row(record, style))

    def add_gap(self) -> None:
        """Add an empty line, which only a terminal shows."""
        self.rows.append(Row({}))


@dataclass(frozen=True)
class Page:
    """The page that a result shows: tables and lines, followed by notes."""

    #: Tables and lines; an empty text is an empty line, and one separates a table from that before it
    parts: Sequence[Table | str]
    notes: Sequence[str] = ()  #: Lines below, which explain the tables


def records(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table as they are in JSON; columns of which a row says nothing are left out."""
    columns, numbers = [column for column in table.columns if column.in_files], []
    for row in table.rows:
        known = (column.numbers(row.values[column.name]) for column in columns if column.name in row.values)
        numbers.append({name: value for part in known for name, value in part.items()})
    return numbers


def in_json(document: Any) -> str:
    """Return a document as JSON that every parser reads: numbers that are not finite are null."""
    try:
        text = json.dumps(document, indent=2, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(document), parse_constant=lambda name: None)
        text = json.dumps(finite, indent=2)
    return text + "\n"


def file_columns(table: Table) -> list[str]:
    """Return the names that the columns of a table have in files."""
    return [name for column in table.columns if column.in_files for name in column.numbers(None)]


def csv_of(table: Table) -> str:
    """Return a table as CSV."""
    head = file_columns(table)
    return in_csv([head, *([row.get(name) for name in head] for row in records(table))])


def in_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV that a spreadsheet cannot run."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    value = ";".join(value) if isinstance(value, list) else value
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isnan(value):
        return ""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
