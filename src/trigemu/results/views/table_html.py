"""The tables of the terminal as HTML, in the style of the report, for a notebook."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from markupsafe import Markup
from rich.console import Console, Group, RenderableType

from trigemu.results.text.terminal import Line, Page, Table, Widest, plain
from trigemu.support import printable

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
.trigemu pre { overflow-x: auto; }
.trigemu tr.group > * { color: color-mix(in srgb, #1f8fbf 75%, currentColor); }
.trigemu tr.wrong > * { color: #d03030; font-weight: 650; }
"""
#: The selectors of a rule that begins a line.
_SELECTORS = re.compile(r"^([^{}\n]+) \{", re.MULTILINE)
#: Width of what is shown as text, in columns.
_WIDTH = 120


def as_html(shown: RenderableType) -> str:
    """Return what a terminal shows as HTML; texts are escaped."""
    body = Markup().join(Markup("{}\n").format(part) for part in map(_part, _flat(shown)) if part)
    return str(Markup('<div class="trigemu">\n<style>\n{}</style>\n{}</div>').format(_style(), body))


def table_css() -> str:
    """Return the style sheet of tables.

    Returns
    -------
    str
        CSS.
    """
    return resources.files("trigemu.results").joinpath("tables.css").read_text(encoding="utf-8")


@cache
def _style() -> Markup:
    """Return the style of the report's tables, for those of a notebook alone."""
    return Markup(_SELECTORS.sub(_inside, table_css()) + _STYLE)


def _inside(rule: re.Match[str]) -> str:
    return ", ".join(f".trigemu {selector.strip()}" for selector in rule[1].split(",")) + " {"


def _flat(shown: RenderableType) -> Iterator[RenderableType]:
    """Yield tables, which have room for all their columns, and lines."""
    if isinstance(shown, Group):
        for part in shown.renderables:
            yield from _flat(part)
    elif isinstance(shown, Page):
        for part in shown.parts:
            yield from _flat(part)
        yield from (plain(note, "dim") for note in shown.notes)
    else:
        yield shown.tables[0] if isinstance(shown, Widest) else shown


def _part(shown: RenderableType) -> Markup:
    if isinstance(shown, Table):
        return _table(shown)
    if isinstance(shown, Line):
        return _line(shown.text, shown.style)
    if isinstance(shown, str):
        return _line(printable(shown), "")
    stream = io.StringIO()
    Console(file=stream, width=_WIDTH, color_system=None, force_jupyter=False).print(shown)
    return Markup("<pre>{}</pre>").format(stream.getvalue())


def _line(text: str, style: str) -> Markup:
    kind = "warning" if "Warning: " in text else "note" if style == "dim" else "text"
    return Markup('<p class="{}">{}</p>').format(kind, text) if text.strip() else Markup()


def _table(table: Table) -> Markup:
    """Return a table without columns that have no text."""
    kept = [i for i in range(len(table.heads)) if any(cells[i] for cells, _ in table.rows)]
    kept = kept or list(range(len(table.heads)))
    sides = ["r" if table.heads[i].kind == "number" else "l" for i in kept]
    head = Markup().join(
        Markup('<th scope="col" class="{}">{}</th>').format(side, table.heads[i].text)
        for side, i in zip(sides, kept, strict=True)
    )
    body = Markup().join(_row([cells[i] for i in kept], sides, style) for cells, style in table.rows)
    title = Markup('<p class="text">{}</p>\n').format(table.title) if table.title else Markup()
    return Markup(
        '{}<div class="table"><div class="scroll"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n'
        "</table></div></div>"
    ).format(title, head, body)


def _row(row: list[str], sides: list[str], style: str) -> Markup:
    """Return a row; one without text only separates others in a terminal."""
    if not any(row):
        return Markup()
    kind = {"bold": "strong", "cyan": "group", "bold red": "wrong"}.get(style, "plain")
    cells = Markup().join(
        Markup('<td class="{}">{}</td>').format(side, _aligned(cell))
        for side, cell in zip(sides, row, strict=True)
    )
    return Markup('<tr class="{}">{}</tr>\n').format(kind, cells)


def _aligned(cell: str) -> str:
    """Return a cell with a space of its width where another has a mark."""
    return f"{cell[:-1]}\u2002" if cell.endswith(" ") else cell
