"""A table as a data frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from trigemu.results.table import Table
from trigemu.results.writers.documents import file_columns, records
from trigemu.support import module_of_extra

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
