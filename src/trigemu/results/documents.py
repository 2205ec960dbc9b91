"""Documents for other programs: JSON that every parser reads, CSV that a spreadsheet cannot run, data frames,
histograms (UHI)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import module_of_extra, printable
from trigemu.base.shown import part_of
from trigemu.results.table import Column, Table
from trigemu.samples.catalogue import Catalogue


@dataclass(frozen=True)
class Histograms:
    """Histograms over common bins."""

    label: str  #: The label of the axis, with its unit
    edges: FloatArray  #: float64[bins + 1]
    #: Values and variances, float64[bins] each, by name; the name of a single one is empty
    named: Mapping[str, tuple[FloatArray, FloatArray]]


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


def as_frame(table: Table) -> Any:
    """Return a table as a pandas.DataFrame whose index are the keys. Names in a list are joined by
    semicolons, absent numbers are NaN. After a column of samples that are unseen, another says whether the
    error is too small."""
    pandas = module_of_extra("pandas", "to_pandas()", "pandas", "pandas")
    rows, texts = (
        records(table),
        {column.name for column in table.columns if column.role in ("label", "note")},
    )
    columns: dict[str, list[Any]] = {}
    for name in file_columns(table):
        values = [row.get(name) for row in rows]
        joined = [";".join(value) if isinstance(value, list) else value for value in values]
        are_numbers = all(value is None or isinstance(value, int | float) for value in joined)
        if are_numbers and name not in texts:
            joined = [math.nan if value is None else value for value in joined]
        columns[name] = joined
        if name.endswith("_unseen"):
            columns[f"{name.removesuffix('_unseen')}_error_too_small"] = [*map(bool, values)]
    index = [column.name for column in table.columns if column.role == "key" and column.in_files]
    frame = pandas.DataFrame(columns)
    return frame.set_index(index) if index else frame


def as_histogram(histograms: Histograms, name: str | None) -> Any:
    """Return a hist.Hist without flow bins: the histogram of a name, the only one, or all with a category
    axis."""
    import hist  # here, because the import takes a tenth of a second and is needed nowhere else

    axis = hist.axis.Variable(histograms.edges, flow=False, name="observable", label=histograms.label)
    single = "" if name is None and "" in histograms.named else name
    if single is not None:
        values, variances = part_of(single, "histogram", histograms.named)
        made = hist.Hist(axis, storage="Weight")
    else:
        values, variances = (np.stack(part) for part in zip(*histograms.named.values(), strict=True))
        names = hist.axis.StrCategory(list(histograms.named), flow=False, name="name")
        made = hist.Hist(names, axis, storage="Weight")
    view = made.view()
    view.value, view.variance = values, variances
    return made
