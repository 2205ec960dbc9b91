"""One description of a table: text, HTML, JSON, CSV and data frames have the same numbers."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from hypothesis import given, strategies as st
from printing import text_of
from trigemu_exports.frames import as_frame
from trigemu_pages.html import table_html
from view_checks import Checked

from trigemu.api import Column, Page, Rate, Table
from trigemu.results.table import RATE_PARTS, csv_of, in_csv, in_json, records

COLUMNS = (
    Column("name", "key", "trigger", "The trigger."),
    Column("total", "rate", "total", "Its total rate."),
    Column("less", "difference", "less", "The difference."),
    Column("found", "count", "found", "A number of events."),
    Column("part", "share", "part", "A fraction.", parts=()),
    Column("on", "flag", "on", "Whether it is on."),
    Column("printed", "number", "printed", in_files=False),
    Column("hidden", "number", None, "In files only."),
)
POSITIVE = st.floats(1e-3, 1e9)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.text("abJ_0é", min_size=1, max_size=9),
            "total": st.builds(Rate, POSITIVE, POSITIVE, st.integers(1, 9), POSITIVE, st.none()),
            "less": st.tuples(st.floats(-1e6, 1e6), POSITIVE),
            "found": st.integers(0, 10**9),
            "part": st.floats(0, 1),
            "on": st.booleans(),
            "printed": POSITIVE,
            "hidden": POSITIVE,
        }
    ),
    min_size=1,
    max_size=4,
)


@given(ROWS)
def test_files_have_the_numbers_of_the_rows(rows: list[dict[str, Any]]) -> None:
    table = Table.of(COLUMNS, rows)
    written = records(table)
    read = [*csv.DictReader(io.StringIO(csv_of(table)))]
    frame = as_frame(table)
    assert list(frame.index) == [row["name"] for row in rows]
    for number, (row, record, line) in enumerate(zip(rows, written, read, strict=True)):
        expected = {f"total_{part}": getattr(row["total"], part) for part in RATE_PARTS}
        expected |= {"less_hz": row["less"][0], "less_error_hz": row["less"][1], "total_unseen": []}
        expected |= {key: row[key] for key in ("name", "found", "part", "on", "hidden")}
        assert record == expected
        assert list(line) == list(record)
        assert float(line["less_hz"]) == frame.less_hz.iloc[number] == row["less"][0]
        assert (line["total_upper_limit_hz"], line["total_unseen"]) == ("", "")


@given(ROWS)
def test_text_and_pages_have_the_same_cells(rows: list[dict[str, Any]]) -> None:
    table = Table.of(COLUMNS, rows)
    lines = text_of(Page([table]), 200).splitlines()
    head, *cells = Checked(str(table_html(table))).rows
    assert "hidden" not in head
    for line, row in zip(lines[1:], cells, strict=True):
        shown = "".join(row).replace("−", "-").replace(" ", "").replace("\u2002", "")
        assert line.replace(" ", "") == shown


def test_json_has_no_numbers_that_json_does_not_have() -> None:
    text = in_json({"a": [1.5, float("nan")], "b": {"c": float("inf")}, "d": (-float("inf"), "NaN")})
    assert json.loads(text) == {"a": [1.5, None], "b": {"c": None}, "d": [None, "NaN"]}
    assert "Infinity" not in text
    assert json.loads(in_json([0.1 + 0.2, 2**70])) == [0.1 + 0.2, 2**70]


def test_no_cell_of_csv_is_a_formula() -> None:
    names = ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "\na", "a=1", "", "'a"]
    rows = list(csv.reader(io.StringIO(in_csv([names, [-1.5, 2, None, float("-1e-9")]]), newline="")))
    assert rows[0] == ["'=1+1", "'+a", "'-a", "'@a", "\\ta", "\\ra", "\\na", "a=1", "", "'a"]
    assert rows[1] == ["-1.5", "2", "", "-1e-09"]
