"""Rows of numbers as a data frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trigemu.support import MissingExtraError

#: Columns of texts, also where they have none.
_TEXTS = frozenset({"group", "level", "trigger", "skipped", "description"})
_UNSEEN = "_unseen"


def as_frame(rows: Sequence[Mapping[str, Any]], index: Sequence[str]) -> Any:
    """Return rows as a pandas.DataFrame: names in a list are joined by semicolons, absent numbers are NaN.
    After a column of samples that are unseen, one says whether the error is too small."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise MissingExtraError("to_pandas()", "pandas", "pandas") from None
    flagged = [_flagged(row) for row in rows]
    names = dict.fromkeys(key for row in flagged for key in row) or dict.fromkeys(index)
    columns = {name: _column(name, [row.get(name) for row in flagged]) for name in names}
    made = pd.DataFrame(columns)
    return made.set_index(list(index)) if index else made


def _flagged(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        found[key] = ";".join(value) if isinstance(value, list) else value
        if key.endswith(_UNSEEN):
            found[f"{key.removesuffix(_UNSEEN)}_error_too_small"] = bool(value)
    return found


def _column(name: str, values: list[Any]) -> list[Any]:
    numbers = all(value is None or isinstance(value, int | float) for value in values)
    if name in _TEXTS or not numbers or None not in values:
        return values
    return [math.nan if value is None else value for value in values]
