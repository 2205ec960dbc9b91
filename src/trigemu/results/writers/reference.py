"""Columns as the reference of the documentation lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trigemu.results.table import RATE_PARTS, Column


def columns_reference(columns: Sequence[Column], printed: bool) -> Iterator[str]:
    """Yield the lines of a list in Markdown.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    printed : bool
        Whether printed columns are listed, by their headings; else those of files, by their names, and the
        numbers of a rate.

    Yields
    ------
    str
        A line.
    """
    if printed:
        headed = (column for column in columns if column.heading and not column.wide)
        for column in headed:
            yield f"- {column.heading}: {column.meaning}"
        return
    in_files = [column for column in columns if column.in_files]
    for column in in_files:
        names = {"rate": f"`{column.name}_…`", "difference": f"`{column.name}_hz`, `{column.name}_error_hz`"}
        yield f"- {names.get(column.role, f'`{column.name}`')}: {column.meaning}"
    parts = dict.fromkeys(part for column in in_files if column.role == "rate" for part in column.parts)
    for part in parts:
        yield f"- `…_{part}` of a rate: {RATE_PARTS[part]}"
