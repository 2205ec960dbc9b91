"""One description of a table: text, HTML, JSON, CSV and data frames have the same numbers; rates and
counts as short text; notes."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import pytest
from hypothesis import given, strategies as st
from printing import text_of
from project import ROOT
from toys import toy_events, write_root
from trigemu_exports.frames import as_frame
from trigemu_pages.html import table_html
from view_checks import Checked

from trigemu import run
from trigemu.api import Column, Page, Rate, Table
from trigemu.rates.results import TriggerRates
from trigemu.results.notes import Note, legend, notes, notes_of_several
from trigemu.results.numbers import format_rate, in_hz, in_unit, signed, with_error
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


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        # What rounds to zero has no sign.
        (with_error(-0.3, 55.0), "0 ± 55"),
        (with_error(-0.004, 0.12), "0.00 ± 0.12"),
        (with_error(-0.6, 55.0), "-1 ± 55"),
        (with_error(-0.0, 0.0), "0"),
        (in_unit(-0.3, 55.0), "0 ± 55 Hz"),
        (in_unit(-4.0, 550.0), "0 ± 550 Hz"),
        (signed(0.0001, 0.05, 1.0), "0.000±0.050 Hz"),
        # Differences above zero have one.
        (signed(0.659, 0.303, 1.0), "+0.66±0.30 Hz"),
        (signed(1290.0, 12.0, 1.0), "+1.290±0.012 kHz"),
        (signed(-0.659, 0.303, 1.0), "-0.66±0.30 Hz"),
        (signed(10.0, 0.0, 1.0), "+10 Hz"),
        (signed(0.0, 0.0, 1.0), "0"),
        (in_hz(0.5), "500 mHz"),
        (in_hz(1.0), "1 Hz"),
        (in_hz(999.9999999999), "1 kHz"),
        (in_hz(2.5e4), "25 kHz"),
        (in_hz(4e7), "40 MHz"),
    ],
)
def test_signs_and_units(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("hz", "error", "limit", "text"),
    [
        (18_700.0, 1400.0, None, "18.7 ± 1.4 kHz"),
        (18_743.0, 96.0, None, "18.743 ± 0.096 kHz"),
        (18_743.0, 99.7, None, "18.74 ± 0.10 kHz"),
        (912.0, 576.0, None, "910 ± 580 Hz"),
        (5.146e8, 2.1e8, None, "510 ± 210 MHz"),
        (0.0123, 0.0011, None, "12.3 ± 1.1 mHz"),
        (400.0, 1200.0, None, "0.4 ± 1.2 kHz"),
        (-1500.0, 200.0, None, "-1.50 ± 0.20 kHz"),
        (40e6, 0.0, None, "40 MHz"),
        (999.9, 0.0, None, "1 kHz"),
        (0.0, 0.0, None, "0 Hz"),
        (0.0, 0.0, 12.34, "< 12.3 Hz"),
        (0.0, 0.0, 999.7, "< 1 kHz"),
    ],
)
def test_rates_as_text(hz: float, error: float, limit: float | None, text: str) -> None:
    assert format_rate(Rate(hz, error, 10, 5.0, limit)) == text


@given(st.floats(1e-6, 1e8), st.floats(1e-4, 10.0))
def test_the_error_has_two_digits_and_the_value_as_many_decimals(hz: float, relative: float) -> None:
    error = hz * relative
    value, _, shown, unit = format_rate(Rate(hz, error, 10, 5.0, None)).split()
    scale = {"MHz": 1e6, "kHz": 1e3, "Hz": 1.0, "mHz": 1e-3}[unit]
    assert float(shown) * scale == pytest.approx(float(f"{error:.1e}"), rel=0.06)
    assert float(value) * scale == pytest.approx(hz, abs=0.06 * error)
    assert len(value.partition(".")[2]) == len(shown.partition(".")[2])
    assert not math.isclose(float(shown), 0.0)


RATE = Rate(10.0, 1.0, 100, 100.0, None)
ZERO = Rate(0.0, 0.0, 0, 0.0, None, contained_in=("J10",))


def trigger(name: str, unique: Rate = RATE, total: Rate = RATE, kind: str = "threshold") -> TriggerRates:
    return TriggerRates(
        name, kind, None, None, 1.0, None, None, {"total": total, "unique": unique, "share": RATE}
    )


def test_only_signs_that_are_shown_are_explained() -> None:
    assert list(legend([trigger("A")])) == []
    (line,) = legend([trigger("A", unique=replace(ZERO, upper_limit_hz=3.0, contained_in=()))])
    assert line.startswith("<: ")
    level = SimpleNamespace(rate=replace(RATE, unseen=("w", "hard"), unseen_hz=5.0))
    (line,) = legend([trigger("A")], [SimpleNamespace(rate=RATE, levels=(level,))])  # type: ignore[list-item]
    assert line.startswith("*: a sample may be missing by chance")
    missing = replace(RATE, unseen=("w", "hard"), unseen_hz=5.0)
    (line,) = legend([trigger("A", unique=missing)])
    assert line.endswith(" Marked: A (up to 5 Hz of w or hard).")
    (line,) = legend([trigger("A", total=replace(RATE, effective_events=4.9))])
    assert line.startswith("?: N_eff below 5: ")
    (line,) = legend([trigger("A", total=replace(RATE, budgeted=True))])
    assert line.startswith("=: a rate budget")


def test_what_triggers_are_contained_in_is_named_once() -> None:
    both = [trigger("J20", ZERO), trigger("J20", ZERO), trigger("jets", ZERO, kind="group")]
    (line,) = legend(both)
    assert line.endswith(": J20 (J10), group jets (J10).")


def test_of_many_contained_triggers_some_are_named() -> None:
    (line,) = legend([trigger(f"T{i}", ZERO) for i in range(30)])
    assert line.endswith("T7 (J10) and 22 more.")


def test_a_trigger_of_two_menus_is_marked_once_by_the_larger() -> None:
    both = [trigger("A", unique=replace(RATE, unseen=("w",), unseen_hz=hz)) for hz in (5.0, 7.0)]
    (line,) = legend(both)
    assert line.endswith(" Marked: A (up to 7 Hz of w).")


def test_notes_of_several_say_which_they_mean() -> None:
    shared, rejections = Note("Sample 'toy'."), [Note(f"Rejection: {n}.", "rejection") for n in (1, 2)]
    listed = {"a": [shared, rejections[0]], "b": [shared, rejections[1]], "c": [shared, rejections[1]]}
    assert list(notes_of_several(listed)) == ["Sample 'toy'.", "a: Rejection: 1.", "b, c: Rejection: 2."]


PRIMARY = ROOT / "menus" / "primary.toml"


def test_what_an_event_counts_as_is_said_of_files_and_arrays(tmp_path: Path) -> None:
    for n in range(2):
        write_root(tmp_path / f"{n}.root", toy_events(n, 20))
    array = ak.Array(toy_events(0, 20))

    def said(samples: Any) -> list[str]:
        rates = run(PRIMARY, samples)
        return [note for note in notes(rates) if note.about == "weights"]

    of_all = "taken as crossings of equal weight that make up the crossing rate."
    one, both = "2 MHz", "1 MHz"
    assert said(tmp_path / "0.root") == [
        f"Each of the 20 events of 0.root counts as {one}: a file given as --samples is {of_all}"
    ]
    assert said([tmp_path / "0.root", tmp_path / "1.root"]) == [
        f"Each of the 40 events of 2 files counts as {both}: files without a catalogue are {of_all}"
    ]
    assert said(array[["jet", "photon"]]) == [
        f"Each of the 20 events counts as {one}: events without weights are {of_all}"
    ]
    assert said(array) == []
