"""Tables of results as data frames of pandas."""

from __future__ import annotations

import math
from typing import Any

from trigemu.base.errors import module_of_extra
from trigemu.base.shown import Shown, view_of
from trigemu.results.table import Table, file_columns, records


def frame(result: Shown) -> Any:
    """Return the table of a result as a pandas.DataFrame."""
    return as_frame(view_of(result).table(result))


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
