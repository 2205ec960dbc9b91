"""One typed table: what a result shows. `writers` say how it is written.

A column has a name, a role and what it means; a row has a value for each column, by its name. Terminal, HTML,
JSON, CSV, data frames and the reference of columns are written from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

#: What a column holds: names from files that identify a row; own words; rates; differences of rates; other
#: numbers; fractions; numbers of events; true or false; prose; digests of files.
Role = Literal["key", "label", "rate", "difference", "number", "share", "count", "flag", "note", "digest"]
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

#: Units that names of columns end with.
UNITS = {"hz": "Hz", "hz2": "Hz^2", "ns": "ns", "us": "us", "ms": "ms", "gev": "GeV"}


@dataclass(frozen=True)
class Column:
    """A column of a `Table`.

    Attributes
    ----------
    name : str
        Its key in rows, JSON, CSV and data frames.
    role : str
        What it holds, a `Role`. A rate has `hz` and `error_hz`, and in files a column for each of `parts`; so
        has a difference.
    heading : str or None
        Its heading where it is printed; None: it is in files only.
    meaning : str
        A sentence for the reference of columns.
    text : callable, optional
        Formats a value; by default the role does. A text is printed as it is.
    parts : tuple of str
        The numbers of a rate that files have, of `RATE_PARTS`.
    in_files : bool
        Whether it is in JSON, CSV and data frames.
    wide : bool
        Whether it is printed on pages (HTML) only, which have more room than a terminal.
    leads : bool, optional
        Whether it is repeated where a table is printed in several blocks; by default keys and labels are.
    gives_way : int
        Where a terminal is too narrow, columns with the highest number are left out first, those with 0
        never.
    joined : bool
        Whether it stays beside the column before it.
    errors : tuple of str
        The columns that have the uncertainty of a number: one, or the lower and the upper end of its
        interval.
    upper : str
        The column that has the upper edge of a bin, if this one has the lower edge.
    """

    name: str
    role: Role = "number"
    heading: str | None = None
    meaning: str = ""
    text: Callable[[Any], str] | None = None
    parts: tuple[str, ...] = tuple(RATE_PARTS)
    in_files: bool = True
    wide: bool = False
    leads: bool | None = None
    gives_way: int = 0
    joined: bool = False
    errors: tuple[str, ...] = ()
    upper: str = ""

    @property
    def unit(self) -> str:
        """The unit of its numbers: of a rate Hz, else that which its name ends with."""
        return (
            "Hz"
            if self.role in ("rate", "difference")
            else UNITS.get(self.name.rpartition("_")[2].lower(), "")
        )

    def headed(self, heading: str | None) -> Column:
        """Return the column with another `heading`."""
        return replace(self, heading=heading)


class Row(NamedTuple):
    """A row of a `Table`: values by the names of columns, where missing ones are empty, and a `Style`."""

    values: Mapping[str, Any]
    style: RowStyle = "plain"


@dataclass(frozen=True)
class Table:
    """A typed table.

    Attributes
    ----------
    columns : sequence of Column
        The columns.
    rows : list of Row
        The rows; one without values separates others in a terminal.
    title : str
        A line above it.
    """

    columns: Sequence[Column]
    rows: list[Row] = field(default_factory=list)
    title: str = ""

    @classmethod
    def of(cls, columns: Sequence[Column], records: Iterable[Mapping[str, Any]], title: str = "") -> Table:
        """Return a table with a plain row for each record.

        Parameters
        ----------
        columns : sequence of Column
            The columns.
        records : iterable of mappings
            Values by the names of columns.
        title : str
            A line above the table.

        Returns
        -------
        Table
            The table.
        """
        return cls(columns, [*map(Row, records)], title)

    def add(self, *values: Any, style: RowStyle = "plain") -> None:
        """Add a row.

        Parameters
        ----------
        *values : object
            In the order of the columns; the remaining ones are empty.
        style : {"plain", "group", "summary", "wrong"}
            What the row is.
        """
        names = (column.name for column in self.columns)
        self.rows.append(Row(dict(zip(names, values, strict=False)), style))

    def add_record(self, values: Mapping[str, Any], style: RowStyle = "plain") -> None:
        """Add a row.

        Parameters
        ----------
        values : mapping of str to object
            By the names of columns.
        style : {"plain", "group", "summary", "wrong"}
            What the row is.
        """
        self.rows.append(Row(values, style))

    def add_gap(self) -> None:
        """Add an empty line, which only a terminal shows."""
        self.rows.append(Row({}))


@dataclass(frozen=True)
class Page:
    """The page that a result shows.

    Tables and lines are followed by notes.

    Attributes
    ----------
    parts : sequence of Table or str
        Tables and lines; an empty text is an empty line.
    notes : sequence of str
        Lines below, which explain the tables.
    """

    parts: Sequence[Table | str]
    notes: Sequence[str] = ()


def stacked(tables: Iterable[Table]) -> list[Table | str]:
    """Return tables as the parts of a page."""
    parts: list[Table | str] = []
    for table in tables:
        parts += ["", table] if parts else [table]
    return parts
