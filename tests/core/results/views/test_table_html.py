"""Tables of the terminal as HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Group
from rich.panel import Panel

from trigemu.results.text.terminal import Page, Table, Widest
from trigemu.results.views import VIEWS
from trigemu.results.views.table_html import as_html

#: The only elements, and what they may say of themselves.
ELEMENTS = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "p"}
ATTRIBUTES = {"class", "scope"}


class Checked(HTMLParser):
    """Every element is known and is closed in its turn. rows: cells of each table row; texts: paragraphs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS
        assert {key for key, _ in attrs} <= ATTRIBUTES
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
        elif tag == "p":
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "p":
            self.texts[-1] += data


@pytest.mark.parametrize("kind", sorted(VIEWS))
def test_it_is_well_formed_and_escaped(results: dict[str, Any], kind: str) -> None:
    page = results[kind]._repr_html_()
    assert type(page) is str
    assert page.replace("\n", "").replace("\u2002", "").isprintable()
    found = Checked(page)
    assert len({len(row) for row in found.rows}) <= 2 * page.count("<table>")
    assert found.rows


def test_names_warnings_and_numbers_are_those_of_the_text(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # room for all columns
    rates = results["MenuRates"]
    found = Checked(rates._repr_html_())
    head, first, *_, menu = found.rows
    assert head == ["trigger", "prescale", "total", "unique", "share", "events (N_eff)"]
    assert first[0] == r'J<i>&"\x1b[2J$x$\u202e'
    assert menu[0] == r"menu m<b>\x1b[1m"
    words = " ".join(str(rates).split())
    for row in found.rows:
        assert " ".join(" ".join(row).split()) in words
    assert all(" ".join(text.split()) in words for text in found.texts)


def table_of(*rows: str) -> Table:
    made = Table("a <title>")
    made.add_column("x", "name")
    made.add_column("y", "label")
    made.add_column("z", gives_way=1)
    for row in rows:
        made.add_row(*row.split(","), style="bold" if "*" in row else "")
    return made


def test_lines_have_kinds_and_empty_columns_are_left_out() -> None:
    page = as_html(Page([table_of("1,,2 ", "", "3,,4*"), "", Page(["t<"], ["Warning: <x>.", "", "note"])]))
    found = Checked(page)
    assert found.rows == [["x", "z"], ["1", "2\u2002"], ["3", "4*"]]
    assert found.texts == ["a <title>", "t<", "Warning: <x>.", "note"]
    assert '<p class="warning">' in page
    assert '<p class="note">note' in page
    assert '<tr class="strong"><td class="l">3' in page
    assert '<th scope="col" class="r">z' in page


def test_the_widest_of_several_tables_has_room() -> None:
    page = as_html(Group(Widest(table_of("1,2,3"), table_of("only")), table_of()))
    assert Checked(page).rows == [["x", "y", "z"], ["1", "2", "3"], ["x", "y", "z"]]


def test_what_is_no_table_is_shown_as_text() -> None:
    page = as_html(Panel("<b>"))
    assert "<pre>" in page
    assert "&lt;b&gt;" in page


def test_the_style_is_for_its_own_tables_only(results: dict[str, Any]) -> None:
    style = results["MenuRates"]._repr_html_().partition("<style>\n")[2].partition("</style>")[0]
    selectors = [line.partition("{")[0] for line in style.splitlines() if "{" in line]
    assert len(selectors) > 15
    for line in selectors:
        assert all(part.strip().startswith(".trigemu") for part in line.split(","))
