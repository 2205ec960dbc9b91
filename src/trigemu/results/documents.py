"""Documents for other programs: JSON that every parser reads, CSV that a spreadsheet cannot run, data frames,
histograms (UHI)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import module_of_extra, printable
from trigemu.base.shown import part_of
from trigemu.results.table import RATE_PARTS, Column, Table
from trigemu.samples.catalogue import Catalogue


@dataclass(frozen=True)
class Histograms:
    """Histograms over common bins.

    Attributes
    ----------
    label : str
        The label of the axis, with its unit.
    edges : float64[bins + 1]
        The edges of the bins.
    of : mapping of str to (float64[bins], float64[bins])
        Values and variances by name; the name "" is that of a single one.
    """

    label: str
    edges: FloatArray
    of: Mapping[str, tuple[FloatArray, FloatArray]]


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


_UNSEEN = "_unseen"


def as_frame(table: Table) -> Any:
    """Return a table as a pandas.DataFrame whose index are the keys. Names in a list are joined by
    semicolons, absent numbers are NaN. After a column of samples that are unseen, another says whether the
    error is too small."""
    pandas = module_of_extra("pandas", "to_pandas()", "pandas", "pandas")
    rows = [_flagged(row) for row in records(table)]
    index = [column.name for column in table.columns if column.role == "key" and column.in_files]
    names = _flagged(dict.fromkeys(file_columns(table)))
    texts = {column.name for column in table.columns if column.role in ("label", "note")}
    values = {name: _filled([row.get(name) for row in rows], name in texts) for name in names}
    frame = pandas.DataFrame(values)
    return frame.set_index(index) if index else frame


def _flagged(row: Mapping[str, Any]) -> dict[str, Any]:
    flagged: dict[str, Any] = {}
    for key, value in row.items():
        flagged[key] = ";".join(value) if isinstance(value, list) else value
        if key.endswith(_UNSEEN):
            flagged[f"{key.removesuffix(_UNSEEN)}_error_too_small"] = bool(value)
    return flagged


def _filled(values: list[Any], is_text: bool) -> list[Any]:
    numbers = all(value is None or isinstance(value, int | float) for value in values)
    if is_text or not numbers or None not in values:
        return values
    return [math.nan if value is None else value for value in values]


def columns_reference(columns: Sequence[Column], printed: bool) -> Iterator[str]:
    """Yield the lines of a list in Markdown."""
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


def as_histogram(histograms: Histograms, name: str | None) -> Any:
    """Return a hist.Hist without flow bins: the histogram of a name, the only one, or all with a category
    axis."""
    import hist  # here, because the import takes a tenth of a second and is needed nowhere else

    axis = hist.axis.Variable(histograms.edges, flow=False, name="observable", label=histograms.label)
    single = "" if name is None and "" in histograms.of else name
    if single is not None:
        values, variances = part_of(single, "histogram", histograms.of)
        made = hist.Hist(axis, storage="Weight")
    else:
        values, variances = (np.stack(part) for part in zip(*histograms.of.values(), strict=True))
        names = hist.axis.StrCategory(list(histograms.of), flow=False, name="name")
        made = hist.Hist(names, axis, storage="Weight")
    view = made.view()
    view.value, view.variance = values, variances
    return made
