"""A value of a table as text: the same in a terminal, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trigemu.rates import Rate
from trigemu.results.numbers import marked, signed, unsigned
from trigemu.results.table import Column, Role


def text_of(column: Column, value: Any) -> str:
    """Format a value of a table.

    Parameters
    ----------
    column : Column
        Its column.
    value : object
        The value.

    Returns
    -------
    str
        Empty for None; a text stays as it is.
    """
    if value is None or isinstance(value, str):
        return value or ""
    return (column.text or _TEXTS[column.role])(value)


def _rate(value: Any) -> str:
    return marked(value) if isinstance(value, Rate) else unsigned(*value)


_TEXTS: Mapping[Role, Callable[[Any], str]] = {
    "key": str,
    "label": str,
    "rate": _rate,
    "difference": lambda value: signed(*value),
    "number": lambda value: f"{value:.6g}",
    "share": lambda value: f"{100 * value:.3g} %",
    "count": str,
    "flag": lambda value: "yes" if value else "",
    "note": str,
    "digest": str,
}
