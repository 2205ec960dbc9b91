"""Tables of the terminal as HTML."""

from __future__ import annotations

from typing import Any

import pytest
from trigemu_pages.html import as_html
from view_checks import Checked

from trigemu.api import Column, Page, Table


def test_names_warnings_and_numbers_are_those_of_the_text(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # room for all columns
    rates = results["MenuRates"]
    found = Checked(rates._repr_html_())
    head, first, *_, menu = found.rows
    wide = [head.index(name) for name in ("group", "threshold", "unique / total")]
    assert [name for i, name in enumerate(head) if i not in wide] == [
        "trigger", "prescale", "total", "unique", "share", "events (N_eff)"
    ]  # fmt: skip
    assert first[0] == r'J<i>&"\x1b[2J$x$\u202e'
    assert menu[0] == r"menu m<b>\x1b[1m"
    words = " ".join(str(rates).split())
    for row in found.rows:
        narrow = " ".join(cell for i, cell in enumerate(row) if i not in wide)
        assert " ".join(narrow.replace(" ± ", "±").split()) in words
    assert all(" ".join(text.split()) in words for text in found.texts)


def table_of(*rows: str) -> Table:
    columns = Column("x", "key", "x"), Column("y", "label", "y"), Column("z", "number", "z", gives_way=1)
    made = Table(columns, title="a <title>")
    for row in rows:
        made.add(*row.split(","), style="summary" if "*" in row else "plain")
    return made


def test_lines_have_kinds_and_empty_columns_are_left_out() -> None:
    page = as_html(Page([table_of("1,,2 ", "3,,4*"), "", "t<"], ["Warning: <x>.", "", "note"]))
    found = Checked(page)
    assert found.rows == [["x", "z"], ["1", "2\u2002"], ["3", "4*"]]
    assert found.texts == ["a <title>", "t<", "Warning: <x>.", "note"]
    assert '<p class="warning">' in page
    assert '<p class="note">note' in page
    assert '<tr class="strong"><td class="l" data-label="x">3' in page
    assert '<th scope="col" class="r">z' in page


def test_the_style_is_for_its_own_tables_only(results: dict[str, Any]) -> None:
    style = results["MenuRates"]._repr_html_().partition("<style>\n")[2].partition("</style>")[0]
    depth, rules = 0, 0
    for line in style.splitlines():
        assert depth or "{" not in line or line.startswith(".trigemu")
        depth, rules = depth + line.count("{") - line.count("}"), rules + line.count("{")
    assert (depth, rules > 15) == (0, True)
