"""Tables and notes as HTML: for a notebook, and for the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from markupsafe import Markup

from trigemu.base.errors import printable
from trigemu.results.table import LEFT, Column, Page, RowStyle, Table
from trigemu.results.terminal import text_of

#: The colours are those of the notebook, whether light or dark.
_STYLE = """\
.trigemu {
  --card: transparent; --soft: color-mix(in srgb, currentColor 65%, transparent);
  --line: color-mix(in srgb, currentColor 22%, transparent);
  --band: color-mix(in srgb, currentColor 6%, transparent);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.trigemu table { margin: 0; border: 0; table-layout: auto; }
.trigemu tbody tr, .trigemu thead tr { background: none; }
.trigemu p { margin: 3px 0; max-width: 110ch; overflow-wrap: anywhere; }
.trigemu p.note { color: var(--soft); font-size: .82rem; }
.trigemu p.warning { border-left: 4px solid #e76300; padding-left: 8px; font-size: .88rem; }
"""
#: The selectors of a rule that begins a line.
_SELECTORS = re.compile(r"^([^{}\n]+) \{", re.MULTILINE)
_ERROR = re.compile(r" ?± ?")
_KINDS: Mapping[RowStyle, str] = {"plain": "plain", "group": "group", "summary": "strong", "wrong": "wrong"}


def as_html(page: Page) -> str:
    """Return a page as HTML with its style; texts are escaped."""
    body = Markup().join(Markup("{}\n").format(part) for part in _parts(page) if part)
    return str(Markup('<div class="trigemu">\n<style>\n{}</style>\n{}</div>').format(_style(), body))


def table_css() -> str:
    """Return the style sheet of tables."""
    return resources.files("trigemu.results").joinpath("tables.css").read_text(encoding="utf-8")


@cache
def _style() -> Markup:
    """Return the style of the report's tables, for those of a notebook alone."""
    return Markup(_SELECTORS.sub(_inside, table_css()) + _STYLE)


def _inside(rule: re.Match[str]) -> str:
    return ", ".join(f".trigemu {selector.strip()}" for selector in rule[1].split(",")) + " {"


def _parts(page: Page) -> Iterator[Markup]:
    for part in page.parts:
        if isinstance(part, Table):
            yield table_html(part)
        else:
            yield _line(part, "text")
    yield from (_line(note, "note") for note in page.notes)


def _line(text: str, kind: str) -> Markup:
    kind = "warning" if "Warning: " in text else kind
    return Markup('<p class="{}">{}</p>').format(kind, printable(text)) if text.strip() else Markup()


def table_html(table: Table, label: str = "") -> Markup:
    """Return a table as HTML, without columns that have no text."""
    headed = [column for column in table.columns if column.heading is not None]
    rows = [
        ([_text(c, row.values.get(c.name)) for c in headed], row.style) for row in table.rows if row.values
    ]
    filled = [i for i in range(len(headed)) if any(cells[i] for cells, _ in rows)] or range(len(headed))
    columns = [headed[i] for i in filled]
    head = Markup().join(
        Markup('<th scope="col" class="{}">{}</th>').format(_side(column), printable(column.heading or ""))
        for column in columns
    )
    body = Markup().join(_row(columns, [cells[i] for i in filled], style) for cells, style in rows)
    title = Markup("<p>{}</p>\n").format(printable(table.title)) if table.title else Markup()
    return Markup(
        '<div class="table">\n{}<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div></div>"
    ).format(title, printable(label or table.title), head, body)


def _row(columns: list[Column], cells: list[str], style: RowStyle) -> Markup:
    shown = Markup().join(
        Markup('<td class="{}" data-label="{}">{}</td>').format(
            "hash" if column.role == "digest" else _side(column), printable(column.heading or ""), cell
        )
        for column, cell in zip(columns, cells, strict=True)
    )
    return Markup('<tr class="{}">{}</tr>\n').format(_KINDS[style], shown)


def _side(column: Column) -> str:
    return "l" if column.role in LEFT else "r"


def _text(column: Column, value: object) -> str:
    """Return a cell; a number has room around ±, its minus, and a space of the width of a mark."""
    text = printable(text_of(column, value))
    if _side(column) == "l":
        return text
    text = f"{text[:-1]}\u2002" if text.endswith(" ") else text
    return _ERROR.sub(" ± ", f"−{text[1:]}" if text.startswith("-") else text)
