"""Tables and notes as HTML: for a notebook, and for the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, Template
from markupsafe import Markup

from trigemu.base.errors import printable
from trigemu.base.shown import Shown, view_of
from trigemu.results.table import LEFT, Column, Page, RowStyle, Table
from trigemu.results.terminal import text_of

_ERROR = re.compile(r" ?± ?")
_KINDS: Mapping[RowStyle, str] = {"plain": "plain", "group": "group", "summary": "strong", "wrong": "wrong"}


def of_result(result: Shown) -> str:
    """Return the page of a result as HTML, in the style of the report."""
    return as_html(view_of(result).page(result))


def as_html(page: Page) -> str:
    """Return a page as HTML with its style; texts are escaped."""
    return _template().render(parts=_parts(page), style=Markup(table_css()))


def table_html(table: Table, label: str = "") -> Markup:
    """Return a table as HTML, without columns that have no text."""
    html: Markup = _template().module.table_of(_cells(table, label))  # type: ignore[attr-defined]
    return html


def table_css() -> str:
    """Return the style sheet of tables."""
    return resources.files("trigemu_pages").joinpath("tables.css").read_text(encoding="utf-8")


@cache
def _template() -> Template:
    source = resources.files("trigemu_pages").joinpath("table.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(source)


def _parts(page: Page) -> Iterator[tuple[str, Any]]:
    """Yield the kinds of the parts of a page, and what they show."""
    for part, kind in (*((part, "text") for part in page.parts), *((note, "note") for note in page.notes)):
        if isinstance(part, Table):
            yield "table", _cells(part)
        elif part.strip():
            yield "warning" if "Warning: " in part else kind, printable(part)


def _cells(table: Table, label: str = "") -> dict[str, Any]:
    """Return the texts of a table, without columns that have none."""
    headed = [column for column in table.columns if column.heading is not None]
    rows = [(row, [_text(c, row.values.get(c.name)) for c in headed]) for row in table.rows if row.values]
    filled = [i for i in range(len(headed)) if any(cells[i] for _, cells in rows)] or range(len(headed))
    heads = ((printable(headed[i].heading or ""), headed[i]) for i in filled)
    return {
        "title": printable(table.title),
        "label": printable(label or table.title),
        "columns": [
            {"heading": head, "side": _side(c), "kind": "hash" if c.role == "digest" else _side(c)}
            for head, c in heads
        ],
        "rows": [(_KINDS[row.style], [cells[i] for i in filled]) for row, cells in rows],
    }


def _side(column: Column) -> str:
    return "l" if column.role in LEFT else "r"


def _text(column: Column, value: object) -> str:
    """Return a cell; a number has room around ±, its minus, and a space of the width of a mark."""
    text = printable(text_of(column, value))
    if _side(column) == "l":
        return text
    text = f"{text[:-1]}\u2002" if text.endswith(" ") else text
    return _ERROR.sub(" ± ", f"−{text[1:]}" if text.startswith("-") else text)
