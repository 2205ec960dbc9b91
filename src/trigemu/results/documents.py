"""Documents for other programs: JSON that every parser reads, and CSV that a spreadsheet cannot run."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trigemu.base.errors import printable
from trigemu.results.table import Column, Table
from trigemu.samples.catalogue import Catalogue

#: First characters of a text that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@")


def in_json(document: Any) -> str:
    """Return a document as JSON."""
    try:
        text = json.dumps(document, indent=2, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), indent=2, allow_nan=False)
    return text + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def left_out(catalogue: Catalogue) -> dict[str, Any] | None:
    """Return what a document says of files that are left out."""
    if not catalogue.left_out:
        return None
    files = [
        {"sample": file.sample, "file": file.path, "reason": file.reason, "events": file.entries}
        for file in catalogue.left_out
    ]
    return {"share_of_events": catalogue.share_left_out, "files": files}


def records(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table as they are in JSON."""
    return [record(table.columns, row.values) for row in table.rows]


def record(columns: Iterable[Column], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it is in JSON; columns of which it says nothing are left out."""
    numbers: dict[str, Any] = {}
    for column in columns:
        if column.in_files and column.name in values:
            numbers |= _numbers(column, values[column.name])
    return numbers


def _numbers(column: Column, value: Any) -> dict[str, Any]:
    """Return a value by the names of its columns in files; without a rate, its numbers are None."""
    if column.role == "difference":
        hz, error_hz = (None, None) if value is None else value
        return {f"{column.name}_hz": hz, f"{column.name}_error_hz": error_hz}
    if column.role != "rate":
        return {column.name: value}
    numbers = {f"{column.name}_{part}": getattr(value, part, None) for part in column.parts}
    unseen = f"{column.name}_unseen"
    return numbers | ({unseen: list(numbers[unseen] or ())} if unseen in numbers else {})


def csv_of(table: Table) -> str:
    """Return a table as CSV."""
    head = file_columns(table)
    return in_csv([head, *([row.get(name) for name in head] for row in records(table))])


def file_columns(table: Table) -> list[str]:
    """Return the names that the columns of a table have in files."""
    return [name for column in table.columns if column.in_files for name in _numbers(column, None)]


def in_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    value = ";".join(value) if isinstance(value, list) else value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return ""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
